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

    /// Decrypts a blob, and returns the records of its lines. Lines that are not records are left out.
    ///
    /// Throws ``BlobError/authentication`` if it is not the blob of the pointer.
    package func records(in blob: any ByteSource) throws -> (
        changes: [JSONObject], cards: [JSONObject]
    ) {
        let reader = try BlobReader(pointer, fileSize: size, from: blob)
        var bytes = [UInt8](repeating: 0, count: Int(size))
        try bytes.withUnsafeMutableBytes { buffer in
            var rest = buffer[...]
            while !rest.isEmpty {
                rest = rest.dropFirst(try reader.read(into: .init(rebasing: rest)))
            }
            // Reading the end verifies the digest.
            _ = try withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) {
                try reader.read(into: $0)
            }
        }
        var changes: [JSONObject] = []
        var cards: [JSONObject] = []
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            guard let record = try? JSON.object(parsing: Array(line)) else { continue }
            if record["type"]?.string == GroupChange.type {
                changes.append(record)
            } else {
                cards.append(record)
            }
        }
        return (changes, cards)
    }
}
