import Sotto
import TestSupport
import Testing

/// The file with changes and cards.
@Suite struct GroupFileTests {
    private let heads = [GroupID([UInt8](repeating: 7, count: 32))]

    private func sealed(_ lines: String) throws -> (file: GroupFile, blob: [UInt8]) {
        try GroupFile.seal(
            Array(lines.utf8), heads: heads, key: [UInt8](repeating: 1, count: 32),
            nonce: [UInt8](repeating: 2, count: 16))
    }

    private func change(_ members: [(String, JSON)] = []) throws -> JSONObject {
        let key = People.alice.signingKey
        let change = try GroupChange(
            .create(nonce: randomBytes(32), GroupPolicy()), in: nil, by: key, seq: 1, parents: [])
        var record = try JSON.object(parsing: change.bytes)
        for (name, value) in members { record[name] = value }
        SignedRecord.sign(&record, with: key)
        return record
    }

    private func line(_ record: JSONObject) -> String {
        String(decoding: record.serialized(), as: UTF8.self) + "\n"
    }

    @Test func theRecordsComeBack() throws {
        let changes = [try change(), try change()]
        let card = try #require(People.bob.card().record)
        var forged = changes[0]
        forged["seq"] = .integer(2)
        let (file, blob) = try sealed(
            line(changes[0]) + "not a record\n" + line(changes[1]) + line(forged) + line(card))
        let read = try GroupFile(file.object)
        #expect(read == file)
        let records = try read.records(in: MemorySource(blob))
        #expect(records.changes.map(\.id) == (try changes.map { try GroupChange($0).id }))
        #expect(records.cards.map(\.record) == [card])
    }

    /// A blob of several chunks.
    @Test func aLongFileComesBack() throws {
        let text = try line(#require(People.bob.card().record))
        let (file, blob) = try sealed(String(repeating: text, count: 100))
        #expect(try file.records(in: MemorySource(blob)).cards.count == 100)
    }

    /// A removed member cannot hide a removal behind a change that travels in a file and in no body.
    @Test func aDeepChangeIsNotTakenFromAFile() throws {
        func nested(_ depth: Int) -> JSON {
            (1..<depth).reduce(.array([])) { value, _ in .array([value]) }
        }
        let good = try change([("x", nested(5))])
        let (file, blob) = try sealed(
            [5, 6, 9, 14, 15].map { try! line(change([("x", nested($0))])) }.joined() + line(good))
        let changes = try file.records(in: MemorySource(blob)).changes
        #expect(changes.count == 2)
        #expect(changes.last?.id == (try GroupChange(good).id))
    }

    /// A line over the limit is left out without a copy of it, and the lines beside it are read.
    @Test func aLongLineIsLeftOut() throws {
        let good = line(try change())
        let long =
            #"{"type":"group-change","x":""# + String(repeating: "x", count: 4 << 20) + #""}"#
        let (file, blob) = try sealed(good + long + "\n" + good + long)
        #expect(try file.records(in: MemorySource(blob)).changes.count == 2)
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
