import TestSupport
import Testing

@testable import Sotto

/// Successions and revocations of identities.
@Suite struct SuccessionTests {
    private let old = People.alice
    private let new = Identity(mnemonic: Mnemonic(randomWordCount: 12), name: "alice")
    private let time = Timestamp(seconds: 1_764_331_200)

    struct Vector: Decodable {
        let old: String
        let new: String
        let time: String
    }

    private func known() throws -> (succession: JSONObject, revocation: JSONObject, Vector) {
        let record = try JSON.object(parsing: Vectors.file("succession.json"))
        return (
            try #require(record["succession"]?.object), try #require(record["revocation"]?.object),
            Vectors.load("succession", as: Vector.self)
        )
    }

    /// Tests/Vectors/succession.py.
    @Test func theKnownRecordsAreReadAndMadeAgain() throws {
        let (succession, revocation, vector) = try known()
        let issued = try #require(Timestamp(vector.time))
        let old = Identity(
            mnemonic: try Mnemonic(parsing: vector.old), name: "alice",
            relay: "tcp://relay.example.org:7667")
        let new = Identity(
            mnemonic: try Mnemonic(parsing: vector.new), name: "alice",
            relay: "tcp://new.example.org:7667")
        let read = try Succession(record: succession)
        #expect(read.former == old.id && read.next == new.id && read.issued == issued)
        #expect(read.relay == old.relay && read.card.relay == new.relay)
        #expect(Succession(of: old, by: new, issued: issued).record.sorted() == succession.sorted())
        #expect(read.graceEnd.seconds - issued.seconds == 30 * 86_400)

        let ended = try Revocation(record: revocation)
        #expect(ended.id == old.id && ended.issued == issued && ended.relay == old.relay)
        #expect(Revocation(of: old, issued: issued).record.sorted() == revocation.sorted())
    }

    /// Every member is signed by both keys, except that `accept` does not cover `sig`.
    @Test func aChangedMemberIsRefused() throws {
        let record = Succession(of: old, by: new, issued: time).record
        _ = try Succession(record: record)
        for member in record.members.map(\.name) {
            var changed = record
            changed[member] = nil
            #expect(throws: Succession.Invalid.self, "\(member)") {
                try Succession(record: changed)
            }
        }
        var later = record
        later["issued"] = .string("2030-01-01T00:00:00Z")
        #expect(throws: Succession.Invalid.signature) { try Succession(record: later) }
        // The old key alone signs again.
        SignedRecord.sign(&later, with: old.signingKey)
        #expect(throws: Succession.Invalid.signature) { try Succession(record: later) }
        // So does the new key.
        SignedRecord.sign(&later, with: new.signingKey)
        #expect(throws: Succession.Invalid.signature) { try Succession(record: later) }

        var revocation = Revocation(of: old, issued: time).record
        revocation["id"] = .string(new.id.description)
        #expect(throws: Revocation.Invalid.signature) { try Revocation(record: revocation) }
    }

    /// The signature of one record is none of another: each has another label.
    @Test func aSignatureBelongsToOneStatement() throws {
        let other = Identity(mnemonic: Mnemonic(randomWordCount: 12), name: "other")
        var moved = Succession(of: old, by: new, issued: time).record
        moved["id"] = .string(other.id.description)
        SignedRecord.sign(&moved, with: other.signingKey)
        #expect(throws: Succession.Invalid.signature) { try Succession(record: moved) }
        // A card is no acceptance.
        var forged = Succession(of: old, by: new, issued: time).record
        forged["accept"] = forged["card"]?.object?["sig"]
        SignedRecord.sign(&forged, with: old.signingKey)
        #expect(throws: Succession.Invalid.signature) { try Succession(record: forged) }
    }

    @Test func aSuccessionToOneselfAndAnUnfitCardAreRefused() throws {
        func signed(_ card: Card) -> JSONObject {
            var record = Succession(of: old, by: new, issued: time).record
            record["card"] = card.record.map { .object($0) }
            Succession.sign(&record, old: old.signingKey, new: new.signingKey)
            return record
        }
        let address = SendAddress()
        for card in [
            old.card(issued: time), new.card(), new.card(address: address, issued: time),
            new.card(accounts: ["m": .object(["userId": .string("a")])], issued: time),
        ] {
            #expect(throws: Succession.Invalid.member("card")) {
                try Succession(record: signed(card))
            }
        }
    }

    @Test func anIdentityFileNamesItsSuccession() throws {
        let succession = Succession(of: old, by: new, issued: time)
        for identity in [old, new] {
            var record = identity.record
            record["succession"] = .object(succession.record)
            record["former"] = .object(["file": .string("/old.key")])
            let read = try Identity(record: record)
            #expect(read.succession == succession && read.formerFile == "/old.key")
            #expect(read.record["succession"] == .object(succession.record))
        }
        var record = People.bob.record
        record["succession"] = .object(succession.record)
        #expect(try Identity(record: record).succession == nil)
        #expect(old.succession == nil && old.formerFile == nil)
    }
}
