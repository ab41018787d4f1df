import Sotto
import TestSupport
import Testing

struct CardTests {
    let card = People.alice.card(relay: "tcp://relay.example.org:7667")

    func failure(_ record: JSONObject) -> CardError? {
        do throws(CardError) {
            _ = try Card(record: record)
            return nil
        } catch {
            return error
        }
    }

    @Test func aCardIsReadBackFromItsRecord() throws {
        let record = try #require(card.record)
        let read = try Card(record: JSON.object(parsing: record.serialized()))
        #expect(read == card)
        #expect(read.id == People.alice.id && read.name == "alice")
        #expect(read.recipient().isPostQuantum && !read.recipient(classic: true).isPostQuantum)
        #expect(record.members.prefix(2).map(\.name) == ["v", "type"])
    }

    /// Everybody can put any id on a card. One that is a public key counts only with a proof of that key for this card.
    @Test func aDirectoryFindsACardByTheIDsOfItsAccounts() throws {
        let key = SigningKey(seed: SecretBytes(randomCount: 32))
        let account = KeyID(publicKey: key.publicKey).description
        func accounts(_ proof: [UInt8]?) -> JSONObject {
            var object: JSONObject = ["other_id": .string(account), "k": .string("x")]
            object["proof"] = proof.map { .base64($0) }
            return ["keyed": .object(object), "named": .object(["userId": .string("alice-1")])]
        }
        func statement(_ id: KeyID, _ name: String = "keyed") -> [UInt8] {
            AccountStatement.bytes(
                ["other_id": .string(account), "k": .string("x")], named: name, of: id)
        }
        func names(_ proof: [UInt8]?, of identity: Identity = People.alice) throws -> [String] {
            let card = identity.card(accounts: accounts(proof))
            return try Card(record: #require(card.record)).accountNames
        }
        let proof = key.sign(statement(People.alice.id))
        #expect(try names(proof) == [account, "alice-1"])
        #expect(Card.accountName(account.uppercased()) == account)
        #expect(Card.accountName("Alice-1") == "Alice-1")
        // No proof, another account's, another card's, and that of another key.
        #expect(try names(nil) == ["alice-1"])
        #expect(try names(key.sign(statement(People.alice.id, "named"))) == ["alice-1"])
        #expect(try names(proof, of: People.bob) == ["alice-1"])
        #expect(
            try names(
                SigningKey(seed: SecretBytes(randomCount: 32)).sign(statement(People.alice.id)))
                == ["alice-1"])
        #expect(card.accountNames == [])
    }

    @Test func aCardHasAtMostFourAccountNames() {
        func card(_ members: [(String, JSON?)]) -> Card {
            People.alice.card(accounts: ["m": .object(JSONObject(members))])
        }
        let many = (0..<9).map { ("a\($0)Id", JSON.string("\($0)")) }
        #expect(card(many).accountNames == ["0", "1", "2", "3"])
        let bad: [(String, JSON?)] = [
            ("id", .string("")), ("xid", .string(String(repeating: "a", count: 256))),
            ("yid", .integer(1)), ("name", .string("x")),
        ]
        #expect(card(bad).accountNames == [])
        #expect(card([("id", .string("x")), ("otherid", .string("x"))]).accountNames == ["x"])
    }

    @Test func aCardContainsNoSecret() throws {
        let text = String(decoding: try #require(card.record).serialized(), as: UTF8.self)
        for name in ["words", "sign", "age", "pq"] {
            let secret = try #require(People.alice.record[name]?.string)
            #expect(!text.contains(secret))
        }
    }

    @Test func everyChangedMemberIsRefused() throws {
        let record = try #require(card.record)
        for (name, _) in record.members {
            var changed = record
            changed[name] = nil
            #expect(failure(changed) != nil, "without \(name)")
            changed = record
            changed[name] = .string((record[name]?.string ?? "") + "x")
            #expect(failure(changed) != nil, "another \(name)")
        }
        for (name, value) in try #require(People.bob.card().record).members
        where record[name] != value {
            var changed = record
            changed[name] = value
            #expect(failure(changed) == .signature, "bob's \(name)")
        }
        var renamed = record
        renamed["name"] = .string("mallory")
        #expect(failure(renamed) == .signature)
    }

    @Test func unknownMembersAreCoveredByTheSignatureAndKept() throws {
        var record = try #require(card.record)
        record["pronouns"] = .string("she")
        #expect(failure(record) == .signature)
        SignedRecord.sign(&record, with: People.alice.signingKey)
        let read = try Card(record: JSON.object(parsing: record.serialized()))
        #expect(read.record?["pronouns"] == .string("she"))
        record["pronouns"] = .string("he")
        #expect(failure(record) == .signature)
    }

    @Test func theOrderAndWhiteSpaceOfMembersDoNotMatter() throws {
        let record = try #require(card.record)
        let reversed = JSONObject(record.members.reversed().map { ($0.name, Optional($0.value)) })
        #expect(try Card(record: reversed).id == card.id)
    }

    @Test func anotherTypeOrVersionIsRefused() throws {
        var record = try #require(card.record)
        record["v"] = .integer(2)
        #expect(failure(record) == .version(2))
        record["v"] = .string("1")
        #expect(failure(record) == .member("v"))
        #expect(failure(People.alice.record) == .member("type"))
        #expect(failure([:]) == .member("type"))
    }

    @Test func aSignatureForAnotherRecordTypeIsRefused() {
        var record: JSONObject = ["type": .string("a"), "x": .integer(1)]
        SignedRecord.sign(&record, with: People.alice.signingKey)
        #expect(SignedRecord.verify(record, by: People.alice.signingKey.publicKey))
        record["type"] = .string("b")
        #expect(!SignedRecord.verify(record, by: People.alice.signingKey.publicKey))
    }

    @Test func anInvalidKeyIsRefusedDespiteItsSignature() throws {
        for (name, value) in [
            ("age", "age1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq"),
            ("pq", "age1pq1x"),
            ("age", Bech32.encode(prefix: "age", [UInt8](repeating: 0, count: 32))),
            // Of small order, and not on the curve.
            ("address", "05" + String(repeating: "0", count: 64)),
            ("address", "0501" + String(repeating: "0", count: 62)),
            ("address", "0502" + String(repeating: "0", count: 62)),
        ] {
            var record = try #require(card.record)
            record[name] = .string(value)
            SignedRecord.sign(&record, with: People.alice.signingKey)
            #expect(failure(record) == .member(name))
        }
    }
}

struct ContactURITests {
    let id = People.alice.id
    let key = People.alice.ageKey.recipient.publicKey

    func failure(_ text: String) -> ContactURIError? {
        do throws(ContactURIError) {
            _ = try ContactURI(text)
            return nil
        } catch {
            return error
        }
    }

    @Test(
        arguments: [
            nil, "", "alice", "Alice & Bob?", "a=b&x=c#d%20", "Žofie 😀", "+1 234", "e\u{301}",
            "a\u{0}b",
        ] as [String?])
    func anyNameRoundTrips(_ name: String?) throws {
        let uri = ContactURI(
            id: id, x25519: key, name: name, relay: name.map { "tcp://\($0):7667/?&=" })
        let read = try ContactURI(uri.text)
        #expect(read == uri)
        if let name { #expect(read.name?.isSameBytes(as: name) == true) }
        #expect(
            uri.text.utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x41...0x5A).contains($0)
                    || (0x61...0x7A).contains($0) || ":?=&%-._~".utf8.contains($0)
            })
    }

    @Test func aURIWithoutARelayIsBelow200Characters() {
        let uri = ContactURI(id: id, x25519: key, name: String(repeating: "n", count: 70))
        #expect(uri.text.utf8.count < 200)
        #expect(People.alice.card().uri.text.utf8.count < 130)
    }

    @Test func aCardFromAURIHasTheShortKeysAndNoSignature() throws {
        let card = Card(uri: try ContactURI(People.alice.card().uri.text))
        #expect(card.id == id && card.name == "alice" && card.record == nil && card.hybrid == nil)
        #expect(card.recipient() == .x25519(People.alice.ageKey.recipient))
    }

    @Test func unknownParametersAreIgnored() throws {
        let text = ContactURI(id: id, x25519: key, name: "a").text
        let read = try ContactURI(text + "&future=1&x2=%F0%9F%98%80&flag")
        #expect(read.name == "a" && read.x25519 == key)
    }

    @Test func anIdInUpperCaseIsTheSame() throws {
        let text = "sotto:05" + hex(id.publicKey).uppercased() + "?x=" + Base64.url.encode(key)
        #expect(try ContactURI(text).id == id)
    }

    @Test func duplicatesAreRefusedInAnySpelling() {
        let text = ContactURI(id: id, x25519: key, name: "a").text
        #expect(failure(text + "&name=b") == .duplicate("name"))
        #expect(failure(text + "&x=" + Base64.url.encode(key)) == .duplicate("x"))
        #expect(failure(text + "&q=1&q=1") == .duplicate("q"))
    }

    @Test func malformedPartsAreRefused() {
        let x = "?x=" + Base64.url.encode(key)
        for scheme in ["", "sotto", " sotto:", "https://", "whisper2://add"] {
            #expect(failure(scheme + id.description + x) == .scheme, "\(scheme)")
        }
        #expect(failure("SOTTO:" + id.description + x) == nil)
        for id in [
            "", "05", id.description + "00", String(id.description.dropLast()),
            "06" + hex(id.publicKey), "05" + String(repeating: "0", count: 64),
            "05" + String(repeating: "f", count: 64), "05" + String(repeating: "g", count: 64),
        ] {
            #expect(failure("sotto:" + id + x) == .id, "\(id)")
        }
        for x in [
            "", "?", "?x", "?x=", "?x=AAAA", x + "=", "?X=" + Base64.url.encode(key),
            "?x=" + Base64.standard.encode(key),
            "?x=" + Base64.url.encode([UInt8](repeating: 0, count: 32)),
            "?x=" + Base64.url.encode([1] + [UInt8](repeating: 0, count: 31)),
        ] {
            #expect(failure("sotto:\(id)" + x) == .x25519, "\(x)")
        }
        for name in ["%", "%4", "%G0", "%FF", "%C0%AF", "%ED%A0%80", "a%"] {
            #expect(failure("sotto:\(id)\(x)&name=\(name)") == .encoding("name"), "\(name)")
        }
    }
}
