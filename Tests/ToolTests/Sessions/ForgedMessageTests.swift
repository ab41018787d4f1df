@testable import Sotto
import SottoDatabase
import SottoState
import TestSupport
import Testing

/// Tests of changed, moved or repeated messages of a session: each is refused and leaves the sessions unchanged byte
/// for byte, and the genuine message can still be opened.
struct ForgedMessageTests {
    let two: Couple
    var alice: Party { two.alice }
    var bob: Party { two.bob }
    init() throws { two = try Couple() }

    private func expectRefused(
        _ line: String, _ status: Int32, _ what: String = "",
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let before = try bob.sessions()
        let run = try bob.read([line])
        #expect(
            run.status == status, "\(what): \(run.stderr)", sourceLocation: sourceLocation)
        #expect(try run.messages.isEmpty, "\(what)", sourceLocation: sourceLocation)
        #expect(try bob.sessions() == before, "\(what)", sourceLocation: sourceLocation)
    }

    private func encoded(_ bytes: [UInt8]) -> JSON { .string(Base64.standard.encode(bytes)) }

    @Test func headers() throws {
        try two.begin()
        let sent = try alice.write(["one", "two"], to: bob)
        let header = try payload(sent[0])
        let length = try #require(header["chainLength"]?.integer)
        let previous = try #require(header["previousChainLength"]?.integer)
        let low: [[UInt8]] = [
            [UInt8](repeating: 0, count: 32), [1] + [UInt8](repeating: 0, count: 31),
        ]
        var forgeries: [(name: String, value: JSON, statuses: [Int32])] = []
        for number in [1, 255, 256, 257, 1000].map({ length + $0 }) {
            forgeries.append(("chainLength", .integer(number), [11]))
        }
        forgeries.append(("chainLength", .integer(1 << 31), [11]))
        for number in [1 << 31 + 1, 1 << 32, Int64.max, 0, -1] as [Int64] {
            forgeries.append(("chainLength", .integer(number), [65]))
        }
        for number in [previous + 1, previous + 300, 1 << 31 - 1] as [Int64] {
            forgeries.append(("previousChainLength", .integer(number), [11]))
        }
        for number in [1 << 31, -1] as [Int64] {
            forgeries.append(("previousChainLength", .integer(number), [65]))
        }
        forgeries.append(("ratchetPublicKey", encoded(RatchetKeyPair().publicKey), [11]))
        for key in low { forgeries.append(("ratchetPublicKey", encoded(key), [11])) }
        forgeries.append(("ratchetPublicKey", .string("AAAA"), [65]))
        forgeries.append(("preKey", .object([:]), [65]))
        forgeries.append(("preKey", .integer(1), [65]))
        for forgery in forgeries {
            let line = try changing(payload: sent[0]) { $0[forgery.name] = forgery.value }
            let before = try bob.sessions()
            let run = try bob.read([line])
            #expect(
                forgery.statuses.contains(run.status),
                "\(forgery.name) \(forgery.value): \(run.status) \(run.stderr)")
            #expect(try run.messages.isEmpty && bob.sessions() == before)
        }
        #expect(try bob.texts(sent) == ["one", "two"])
    }

    @Test func bitsOfTheCiphertext() throws {
        try two.begin()
        let sent = try alice.write(["genuine"], to: bob)
        let text = try #require(payload(sent[0])["ciphertext"]?.string)
        let bytes = try #require(Base64.standard.decode(text))
        for bit in [0, 95, 96, bytes.count * 4, bytes.count * 8 - 128, bytes.count * 8 - 1] {
            try expectRefused(
                try changing(payload: sent[0]) {
                    $0["ciphertext"] = encoded(bytes.flipping(bit: bit))
                },
                11, "bit \(bit)")
        }
        for count in [0, 27] {
            try expectRefused(
                try changing(payload: sent[0]) {
                    $0["ciphertext"] = encoded(Array(bytes[..<count]))
                },
                65)
        }
        for count in [28, bytes.count - 1] {
            try expectRefused(
                try changing(payload: sent[0]) {
                    $0["ciphertext"] = encoded(Array(bytes[..<count]))
                },
                11)
        }
        #expect(try bob.texts(sent) == ["genuine"])
    }

    @Test func outerMembers() throws {
        try two.begin()
        let carol = try Party("carol", in: two.home)
        let sent = try alice.write(["genuine", "other"], to: bob)
        let id = JSON.string(Envelope.newID())
        try expectRefused(try changing(sent[0]) { $0["id"] = id }, 11, "another id")
        let other = try JSON.object(parsing: Array(sent[1].utf8))["id"]
        try expectRefused(try changing(sent[0]) { $0["id"] = other }, 11, "a neighbour's id")
        try expectRefused(
            try changing(sent[0]) { $0["time"] = .string("2020-01-01T00:00:00Z") }, 11, "time")
        try expectRefused(try changing(sent[0]) { $0["from"] = nil }, 65, "no sender")
        try expectRefused(
            try changing(sent[0]) { $0["from"] = .string(carol.identity.id.description) }, 10,
            "as carol's, who is unknown")
        try expectRefused(
            try changing(sent[0]) { $0["from"] = .string(bob.identity.id.description) }, 10,
            "as the reader's own")
        try expectRefused(
            try changing(sent[0]) { $0["to"] = .string(carol.identity.id.description) }, 10,
            "to carol")
        try expectRefused(try changing(sent[0]) { $0["suite"] = .string("sealed") }, 65, "sealed")
        try expectRefused(
            try changing(sent[0]) { $0["suite"] = .string("ratchet2") }, 65, "another suite")
        // The same if Carol has a session too.
        _ = try bob.texts(carol.write(["hello"], to: bob, "--bundle", bob.bundle()))
        try expectRefused(
            try changing(sent[0]) { $0["from"] = .string(carol.identity.id.description) }, 11,
            "as carol's")
        // Unknown members belong to the carrier.
        #expect(
            try bob.texts([
                changing(sent[0]) { $0["seq"] = .integer(7) },
                changing(payload: sent[1]) { $0["more"] = .null },
            ]) == ["genuine", "other"])
    }

    @Test func at256SkippedItIsOpenedAndAt257Refused() throws {
        try two.begin()
        let sent = try alice.write((0..<259).map { "\($0)" }, to: bob)
        #expect(try bob.texts([sent[0]]) == ["0"])
        try expectRefused(sent[258], 11, "257 skipped")
        #expect(try bob.texts([sent[257]]) == ["257"])
        #expect(try bob.texts([sent[258], sent[256], sent[1]]) == ["258", "256", "1"])
        #expect(try bob.texts(Array(sent[2..<256])).count == 254)
    }

    @Test func aPreKeyMessageWithUnknownPreKeys() throws {
        let sent = try alice.write(["genuine"], to: bob, "--bundle", bob.bundle())
        for (name, status) in [
            ("signedPreKeyId", Int32(10)), ("oneTimePreKeyId", 10), ("pqPreKeyId", 10),
        ] {
            let forged = try changing(payload: sent[0]) { payload in
                var opening = try #require(payload["preKey"]?.object)
                opening[name] = .integer(12345)
                payload["preKey"] = .object(opening)
            }
            try expectRefused(forged, status, name)
        }
        // Without prekeys or with other keys, the key agreement differs.
        let changes: [(String, JSON)] = [
            ("oneTimePreKeyId", .null), ("ephemeralKey", encoded(RatchetKeyPair().publicKey)),
            ("ephemeralKey", encoded([UInt8](repeating: 0, count: 32))),
            ("identityKey", encoded(bob.identity.signingKey.publicKey)),
            ("kemCiphertext", encoded([UInt8](repeating: 7, count: 1568))),
        ]
        for (name, value) in changes {
            let forged = try changing(payload: sent[0]) { payload in
                var opening = try #require(payload["preKey"]?.object)
                opening[name] = value
                payload["preKey"] = .object(opening)
            }
            try expectRefused(forged, 11, name)
        }
        try expectRefused(
            try changing(payload: sent[0]) { payload in
                var opening = try #require(payload["preKey"]?.object)
                opening["kemCiphertext"] = nil
                opening["pqPreKeyId"] = nil
                opening["ratchet"] = nil
                payload["preKey"] = .object(opening)
            }, 11, "without the post-quantum part")
        try expectRefused(
            try changing(payload: sent[0]) { $0["preKey"] = nil }, 10, "without the opening")
        #expect(try bob.texts(sent) == ["genuine"])
        // The one-time prekey was deleted, so it begins no second session.
        try bob.state { connection throws(StateError) in
            try connection.run("DELETE FROM session")
            try connection.run("DELETE FROM message")
            try connection.run("DELETE FROM begun")
        }
        try expectRefused(sent[0], 10, "a second time")
    }

    @Test func aFirstMessageWithoutAOneTimePreKeyIsOpenedOnce() throws {
        let bundle = try bob.bundle { $0["oneTimePreKey"] = .null }
        let sent = try alice.write(["genuine"], to: bob, "--bundle", bundle)
        #expect(try bob.texts(sent) == ["genuine"])
        // Neither the session nor the opened messages are stored any more; only that it began is.
        try bob.state { connection throws(StateError) in
            try connection.run("DELETE FROM session")
            try connection.run("DELETE FROM message")
        }
        try expectRefused(sent[0], 13, "repeated")
        let next = try alice.write(["next"], to: bob)
        try expectRefused(next[0], 13, "the next one")
        let anew = try alice.write(["anew"], to: bob, "--new-session", "--bundle", bob.bundle())
        #expect(try bob.texts(anew) == ["anew"])
    }

    @Test func anOldMessageUnderANewId() throws {
        try two.begin()
        let sent = try alice.write(["old"], to: bob)
        #expect(try bob.texts(sent) == ["old"])
        let repeated = try changing(sent[0]) { $0["id"] = .string(Envelope.newID()) }
        try expectRefused(repeated, 13)
        // After a DH ratchet step its chain is an old one.
        #expect(try alice.texts(bob.write(["turn"], to: alice)) == ["turn"])
        #expect(try bob.texts(alice.write(["next"], to: bob)) == ["next"])
        try expectRefused(repeated, 11)
        #expect(try bob.texts(alice.write(["and next"], to: bob)) == ["and next"])
    }

    @Test func aKnownIdWithOtherContent() throws {
        try two.begin()
        let sent = try alice.write(["one", "two"], to: bob)
        #expect(try bob.texts([sent[0]]) == ["one"])
        let id = try JSON.object(parsing: Array(sent[0].utf8))["id"]
        try expectRefused(try changing(sent[1]) { $0["id"] = id }, 11)
        #expect(try bob.texts([sent[1]]) == ["two"])
    }

    @Test func oneBadLineAmongGoodOnes() throws {
        try two.begin()
        let sent = try alice.write(["one", "two", "three"], to: bob)
        let bad = try changing(payload: sent[1]) { $0["chainLength"] = .integer(77) }
        let run = try bob.read([sent[0], bad, "{}", sent[2], sent[1]])
        #expect(run.status == 15)
        #expect(try run.messages.map(\.text) == ["one", "three", "two"])
    }
}

/// A state or an outbox of a later version, or of a build before the first release, is not changed.
struct OtherVersionTests {
    /// A file that is not of this version.
    enum Version: CaseIterable {
        case later, unreleased, counted, changed

        var pragmas: String {
            switch self {
            case .later: "PRAGMA user_version = \(99 << 24)"
            // Builds before the first release counted to 12 and did not mark the kind of the file.
            case .unreleased: "PRAGMA user_version = 12; PRAGMA application_id = 0"
            // Later ones counted from 1 again.
            case .counted: "PRAGMA user_version = 1"
            // The tables of another script.
            case .changed: "PRAGMA user_version = \(1 << 24 | 7)"
            }
        }

        var reason: String { self == .later ? "newer sotto" : "no released sotto wrote" }
    }

    @Test(arguments: Version.allCases) func theOutboxIsLeftAlone(_ version: Version) throws {
        let two = try Couple()
        try two.begin()
        let line = lines(try two.bob.write(["for alice"], to: two.alice))
        func send() throws -> Run {
            var run = two.bob.command("send", ["--relay", "tcp://127.0.0.1:9"])
            run.environment["SOTTO_RELAY"] = nil
            return try run.run(stdin: .whole(line))
        }
        _ = try send()
        let path = two.bob.stateDirectory + "/outbox.db"
        let database = try DurableDatabase(
            path: two.home.files(path), migrations: [""], lockTimeout: 20)
        try database.use { connection throws(StateError) in
            try connection.script(version.pragmas)
        }
        try database.close()
        let before = try two.home.files.read(path)
        let run = try send()
        #expect(run.status == 78 && run.stdout.isEmpty, "\(run.status) \(run.stderr)")
        #expect(run.stderr.contains(version.reason), "\(run.stderr)")
        #expect(try two.home.files.read(path) == before)
    }

    @Test(
        arguments: [
            ["encrypt", "--to", "bob.card"], ["encrypt", "--to", "bob.card", "--suite", "ratchet"],
            ["decrypt"], ["recv"], ["recv", "--again"], ["recv", "--bundle", "bob.card"],
            ["keygen", "prekeys"], ["history"],
        ], Version.allCases)
    func theStateIsLeftAlone(_ command: [String], _ version: Version) throws {
        let two = try Couple()
        try two.begin()
        let line = try two.bob.write(["for alice"], to: two.alice)
        try two.alice.state { connection throws(StateError) in
            try connection.script(version.pragmas)
        }
        let before = try two.home.files.read(two.alice.database)
        var run = two.alice.command(command[0], Array(command[1...]))
        run.environment["SOTTO_RELAY"] = "tcp://127.0.0.1:9"
        let stdin = command[0] == "decrypt" ? lines(line) : Array("text".utf8)
        let result = try run.run(stdin: .whole(stdin))
        // recv tells the reader of the pipe.
        let hasRecord = command[0] == "recv" && !command.contains("--bundle")
        #expect(
            result.status == 78 && result.lines.count == (hasRecord ? 1 : 0)
                && result.lines.allSatisfy { $0.contains(#""type":"error""#) },
            "\(result.status) \(result.stderr)")
        #expect(result.stderr.contains(version.reason), "\(result.stderr)")
        #expect(try two.home.files.read(two.alice.database) == before)
    }
}
