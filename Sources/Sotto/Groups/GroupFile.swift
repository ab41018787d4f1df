/// The pointer to changes and cards of a group that are too long for a message: `{"blob":{…},"size","heads":[…]}`.
///
/// The file has one record a line, first the changes, each after its parents, then the cards. It is a blob, so that one
/// upload serves many members. sotto-formats(5), GROUPS.
package struct GroupFile: Sendable, Hashable {
    /// The pointer to the blob. It has no place until the file is encrypted for a person.
    package var pointer: BlobPointer
    /// The length of the file in bytes, 1 to ``limit``.
    package let size: Int64
    /// The changes in the file that no other one there has as a parent, at most ``mostHeads``: those that were stored last.
    package let heads: [GroupID]

    /// The longest file in bytes. A log has at most 16 MiB.
    package static let limit: Int64 = 32 << 20
    /// The most heads.
    package static let mostHeads = 64

    /// Encrypts the lines of a file. Returns the blob too.
    ///
    /// `key` (32 bytes) and `nonce` (16 bytes) must differ for each file: use keyed hashes of it.
    package static func seal(
        _ lines: [UInt8], heads: [GroupID], key: [UInt8], nonce: [UInt8]
    ) throws -> (file: GroupFile, blob: [UInt8]) {
        let sink = MemorySink()
        let writer = try BlobWriter(key: key, nonce: nonce, cipher: nil, to: sink)
        try lines.withUnsafeBytes { try writer.write($0) }
        try writer.finish()
        let file = GroupFile(
            pointer: writer.pointer, size: Int64(lines.count),
            heads: Array(heads.suffix(mostHeads)))
        return (file, sink.bytes)
    }

    private init(pointer: BlobPointer, size: Int64, heads: [GroupID]) {
        (self.pointer, self.size, self.heads) = (pointer, size, heads)
    }

    /// Reads ``object``. Throws ``GroupChangeError/member(_:)``.
    package init(_ object: JSONObject) throws(GroupChangeError) {
        let fields = Fields<GroupChangeError>(object)
        size = try fields["size"].integer(in: 1...Self.limit)
        heads = try fields["heads"].list(most: Self.mostHeads) { $0.string.flatMap { GroupID($0) } }
        var reader = BodyReader(try fields["blob"].object())
        do throws(BodyError) {
            pointer = try BlobPointer(&reader)
        } catch {
            throw .member("blob")
        }
        guard pointer.size == Blob.size(ofFile: size) else { throw .member("size") }
    }

    /// `{"blob":{…},"size","heads":[…]}`.
    package var object: JSONObject {
        [
            "blob": .object(pointer.object), "size": .integer(size),
            "heads": .array(heads.map { .string($0.description) }),
        ]
    }

    /// Decrypts a blob, and returns the changes and cards of its lines, whose signatures are verified. Other lines, and lines
    /// longer than ``RecordForm/change`` can be, are left out; a long line is not kept in memory.
    ///
    /// Throws ``BlobError/authentication`` if it is not the blob of the pointer.
    package func records(in blob: any ByteSource) throws -> (
        changes: [GroupChange], cards: [Card]
    ) {
        var changes: [GroupChange] = []
        var cards: [Card] = []
        var lines = BoundedLines(limit: RecordForm.change.bytes) { line in
            guard let record = try? JSON.object(parsing: line, depth: RecordForm.change.depth)
            else { return }
            if record["type"]?.string == GroupChange.type {
                if let change = try? GroupChange(record) { changes.append(change) }
            } else if let card = try? Card(record: record) {
                cards.append(card)
            }
        }
        let reader = try BlobReader(pointer, fileSize: size, from: blob)
        var buffer = [UInt8](repeating: 0, count: Chunks.size)
        while true {
            // Reading the end verifies the digest.
            let count = try buffer.withUnsafeMutableBytes { try reader.read(into: $0) }
            if count == 0 { break }
            lines.add(buffer[..<count])
        }
        lines.finish()
        return (changes, cards)
    }
}

/// Splits bytes into lines. A line longer than `limit` bytes is left out, and is not kept in memory.
private struct BoundedLines {
    private let limit: Int
    private let take: ([UInt8]) -> Void
    private var line: [UInt8] = []
    private var isTooLong = false

    init(limit: Int, _ take: @escaping ([UInt8]) -> Void) {
        (self.limit, self.take) = (limit, take)
    }

    mutating func add(_ bytes: ArraySlice<UInt8>) {
        var rest = bytes
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            keep(rest[..<end])
            finish()
            rest = rest[(end + 1)...]
        }
        keep(rest)
    }

    private mutating func keep(_ part: ArraySlice<UInt8>) {
        guard !isTooLong else { return }
        isTooLong = line.count + part.count > limit
        if isTooLong { line = [] } else { line += part }
    }

    /// Ends the line.
    mutating func finish() {
        if !line.isEmpty { take(line) }
        (line, isTooLong) = ([], false)
    }
}
