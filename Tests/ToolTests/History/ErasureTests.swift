import Foundation
import Glibc
import Sotto
import SottoDatabase
import TestSupport
import Testing

@testable import SottoState

/// Ciphertext does not stay: delivered and decrypted envelopes are overwritten, and fetched files of deleted messages
/// are removed.
@Suite struct ErasureTests {
    let scratch = TemporaryDirectory()
    let me = Sample.identity()
    let bob = Sample.identity()

    func directory() throws -> StateDirectory { try StateDirectory(path: scratch.path) }

    /// Returns the bytes of a database and its log.
    func files(_ path: String) throws -> Data {
        let log = FileManager.default.contents(atPath: path + "-wal") ?? Data()
        return try Data(contentsOf: URL(fileURLWithPath: path)) + log
    }

    func files(_ name: String, in state: TemporaryDirectory) throws -> Data {
        try files(state(name))
    }

    /// Returns random content of several lengths. Long items have their own pages; short ones share pages.
    func contents() -> [[UInt8]] { [60, 300, 5_000, 60_000].map { randomBytes($0) } }

    /// Returns a part of each content that is on one page.
    func pieces(_ contents: [[UInt8]]) -> [Data] { contents.map { Data($0.suffix(32)) } }

    // MARK: The outbox

    @Test func deliveredEnvelopesAreOverwritten() throws {
        let contents = contents()
        let pieces = pieces(contents)
        let outbox = try Outbox(directory: directory(), lockTimeout: 5)
        let items = contents.map {
            Outbox.Item(id: Envelope.newID(), to: bob.id.description, envelope: $0)
        }
        let numbers = try outbox.append(items, relay: "tcp://relay")
        let before = try files("outbox.db", in: scratch)
        #expect(pieces.allSatisfy { before.range(of: $0) != nil })
        // While this process has the file open, the log is emptied after the last item.
        try outbox.settle(numbers.map { (number: $0, outcome: "stored") })
        let after = try files("outbox.db", in: scratch)
        #expect(pieces.allSatisfy { after.range(of: $0) == nil })
        #expect(try outbox.outcomes().count == items.count)
    }

    /// A process that ends leaves no log, also if other items still wait.
    @Test func deliveredEnvelopesAreOverwrittenBesideWaitingOnes() throws {
        let contents = contents()
        let pieces = pieces(contents)
        do {
            let outbox = try Outbox(directory: directory(), lockTimeout: 5)
            let numbers = try outbox.append(
                contents.map {
                    Outbox.Item(id: Envelope.newID(), to: bob.id.description, envelope: $0)
                }, relay: "tcp://relay")
            try outbox.settle(numbers.dropLast().map { (number: $0, outcome: "stored") })
        }
        let after = try files("outbox.db", in: scratch)
        #expect(pieces.dropLast().allSatisfy { after.range(of: $0) == nil })
        #expect(after.range(of: try #require(pieces.last)) != nil)
    }

    // MARK: The inbox

    @Test func decryptedEnvelopesAreOverwritten() throws {
        let contents = contents()
        let pieces = pieces(contents)
        let store = try IdentityStore(directory: directory(), identity: me, lockTimeout: 5)
        let items = contents.map { (id: Envelope.newID(), envelope: $0) }
        _ = try store.receive(items, to: .print)
        try store.markPrinted(items.map(\.id))
        let before = try files("\(me.id).db", in: scratch)
        #expect(pieces.allSatisfy { before.range(of: $0) != nil })
        for item in items {
            _ = try store.transaction {
                try $0.markOpened(id: item.id, envelope: item.envelope)
            }
        }
        try store.finish(items.map(\.id))
        try store.checkpoint()
        let after = try files("\(me.id).db", in: scratch)
        #expect(pieces.allSatisfy { after.range(of: $0) == nil })
    }

    /// The whole way: neither side keeps the ciphertext after the programs have ended.
    @Test func nothingOfAnEnvelopeIsLeftOnEitherSide() throws {
        let they = try Conversing()
        let stage = try ChatStage(they.home)
        // A text that shares pages, and one with its own pages.
        for size in [40, 20_000] {
            let text = String(repeating: "x", count: size)
            try stage.must(
                they.alice, "printf %s \"$0\" | encrypt -q --to bob | tee sealed | send -q", text)
            let sealed = try they.home.files.read("sealed")
            try stage.must(they.bob, "recv -q | tee arrived | decrypt -q > opened")
            #expect(try they.home.files.read("opened").count > size)
            for line in try [sealed, they.home.files.read("arrived")] {
                let record = try JSON.object(parsing: line.filter { $0 != 0x0A })
                let payload = try #require(record["payload"]?.object?["age"]?.string)
                let piece = Data(payload.utf8.suffix(32))
                for party in [they.alice, they.bob] {
                    let folder = they.home.files(party.stateDirectory)
                    for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
                        let content = FileManager.default.contents(atPath: "\(folder)/\(name)")
                        #expect(content?.range(of: piece) == nil, "\(party.name) \(name)")
                    }
                }
            }
        }
    }

    // MARK: Fetched files

    /// A way in which a message with a file goes.
    enum Way: CaseIterable { case deletion, conversation, expiry }

    @Test(arguments: Way.allCases) func theFetchedFileOfAnErasedMessageIsRemoved(_ way: Way) throws
    {
        let store = try IdentityStore(directory: directory(), identity: me, lockTimeout: 5)
        let blobs = try BlobFolder(directory: directory())
        // The last message names the blob of the first one, and keeps its own copy.
        let first = randomBytes(32)
        let ids = [first, randomBytes(32), first]
        var files: [String] = []
        let now = Timestamp.now()
        let with = Conversation.peer(bob.id)
        var numbers: [Int64] = []
        try store.transaction { transaction in
            for (place, id) in ids.enumerated() {
                let name = Envelope.newID()
                var body: JSONObject = [
                    "type": .string("file"), "name": .string("x"),
                    "contentType": .string("text/plain"), "size": .integer(1),
                    "blob": .object([
                        "id": .base64(id), "key": .base64(randomBytes(32)),
                        "digest": .base64(randomBytes(32)), "size": .integer(100),
                    ]),
                ]
                if way == .expiry, place < 2 {
                    body["expires"] = .object([
                        "after": .integer(60), "from": .string("sent"),
                    ])
                }
                numbers.append(
                    try transaction.recordOpened(
                        id: name, digest: sha256(Array(name.utf8)),
                        Message(
                            id: name, from: bob.id, to: me.id, time: now, suite: .ratchet,
                            authenticated: true, trust: .trusted, body: body), at: now))
                let record: JSONObject = [
                    "id": .string(name), "from": .string(bob.id.description),
                ]
                files.append(blobs.incoming(id, of: record))
                #expect(FileManager.default.createFile(atPath: files[place], contents: nil))
            }
        }
        let entry = try #require(try store.historyEntry(number: numbers[0]))
        #expect(entry.body?.kind != nil)
        switch way {
        case .deletion:
            try store.transaction { transaction in
                for number in numbers.prefix(2) {
                    let entry = try #require(try transaction.storedEntry(number: number))
                    try transaction.delete(entry)
                }
            }
        case .conversation: _ = try store.transaction { try $0.deleteAll(of: with) }
        case .expiry: try store.expire(at: Timestamp(seconds: now.seconds + 61))
        }
        let there = files.map { access($0, F_OK) == 0 }
        #expect(there == [false, false, way != .conversation])
    }
}
