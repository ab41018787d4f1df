import Sotto
import Testing

/// The file with changes and cards.
@Suite struct GroupFileTests {
    private let heads = [GroupID([UInt8](repeating: 7, count: 32))]

    private func sealed(_ lines: String) throws -> (file: GroupFile, blob: [UInt8]) {
        try GroupFile.seal(
            Array(lines.utf8), heads: heads, key: [UInt8](repeating: 1, count: 32),
            nonce: [UInt8](repeating: 2, count: 16))
    }

    @Test func theRecordsComeBack() throws {
        let lines = """
            {"type":"group-change","n":1}
            not a record
            {"type":"group-change","n":2}
            {"type":"contact","n":3}

            """
        let (file, blob) = try sealed(lines)
        let read = try GroupFile(file.object)
        #expect(read == file)
        let records = try read.records(in: MemorySource(blob))
        #expect(records.changes.compactMap { $0["n"]?.integer } == [1, 2])
        #expect(records.cards.compactMap { $0["n"]?.integer } == [3])
    }

    /// A blob of several chunks.
    @Test func aLongFileComesBack() throws {
        let line = #"{"type":"contact","text":"\#(String(repeating: "x", count: 1_000))"}"# + "\n"
        let (file, blob) = try sealed(String(repeating: line, count: 300))
        #expect(try file.records(in: MemorySource(blob)).cards.count == 300)
    }

    @Test func anotherBlobIsRefused() throws {
        let (file, blob) = try sealed(#"{"type":"contact"}"#)
        for place in [0, 16, blob.count / 2, blob.count - 1] {
            var other = blob
            other[place] ^= 1
            #expect(throws: BlobError.authentication) {
                try file.records(in: MemorySource(other))
            }
        }
        #expect(throws: BlobError.authentication) {
            try file.records(in: MemorySource(Array(blob.dropLast())))
        }
        #expect(throws: BlobError.authentication) {
            try file.records(in: MemorySource(blob + [0]))
        }
    }

    @Test func malformedPointersAreRefused() throws {
        let (file, _) = try sealed(#"{"type":"contact"}"#)
        for (name, value) in [
            ("size", JSON.integer(0)), ("size", .integer(GroupFile.limit + 1)),
            ("size", .integer(file.size + 100_000)), ("heads", .string("00")),
            ("heads", .array([.string("00")])),
            ("blob", .object([:])), ("blob", .string("x")),
        ] as [(String, JSON)] {
            var object = file.object
            object[name] = value
            #expect(throws: GroupChangeError.self) { try GroupFile(object) }
        }
    }
}
