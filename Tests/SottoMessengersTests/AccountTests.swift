import Sotto
import SottoMessengers
import TestSupport
import Testing

/// Tests of accounts in other messengers: the core keeps them unchanged, and only proven ones are returned.
struct AccountTests {
    private static let whisperID = WhisperID("WSP-YS3T-HJGR-KQBZ")

    private func profiles(of identity: Identity) throws -> Profiles {
        Profiles(whisper2: try identity.whisper2Keys().contact(try #require(Self.whisperID)))
    }

    @Test func theCoreKeepsTheMembersOfTheIdentityRecord() throws {
        var record = People.alice.record
        record["whisper2"] = .string("WSP-YS3T-HJGR-KQBZ")
        record["later"] = .object(["a": .array([.integer(1), .null]), "é": .string("\u{1F600}")])
        let read = try Identity(record: record)
        #expect(read.record == record)
        #expect(read.record.serialized() == record.serialized())
        #expect(try read.whisperID() == Self.whisperID)
        #expect(try People.alice.whisperID() == nil && People.alice.rsaKey() == nil)
    }

    @Test(arguments: ["whisper2", "rsa"])
    func aMalformedMemberIsReportedWhenItIsUsed(_ name: String) throws {
        for value in [JSON.string("x"), .integer(1), .null] {
            var record = People.alice.record
            record[name] = value
            let read = try Identity(record: record)
            #expect(throws: IdentityError.member(name)) {
                if name == "rsa" { _ = try read.rsaKey() } else { _ = try read.whisperID() }
            }
        }
    }

    /// The core reads the card, because its owner signed it. It has no account, because the account's key did not sign.
    @Test func aCardWithAnUnprovenAccountGivesNoAccount() throws {
        let genuine = try People.alice.card(profiles: profiles(of: People.alice))
        #expect(try genuine.profiles().whisper2?.id == Self.whisperID)
        // Bob signs a card with Alice's account, with and without her proof for her own id.
        let account = try #require(genuine.accounts["whisper2"]?.object)
        var bare = account
        bare["proof"] = nil
        for object in [account, bare] {
            let forged = People.bob.card(accounts: ["whisper2": .object(object)])
            let read = try Card(record: try #require(forged.record))
            #expect(read.accounts == forged.accounts)
            #expect(throws: ProfileError.unproven) { try read.profiles() }
        }
        // One unproven account makes the others unusable, too.
        let mixed = try People.bob.card(profiles: profiles(of: People.bob))
        var accounts = mixed.accounts
        accounts["kecalek"] = .object(["userId": .string("bob")])
        #expect(try People.bob.card(accounts: accounts).profiles().kecalek == "bob")
        accounts["whisper2"] = .object(account)
        #expect(throws: ProfileError.unproven) {
            try People.bob.card(accounts: accounts).profiles()
        }
    }

    @Test func unknownMessengersAreKeptOnACard() throws {
        let accounts: JSONObject = ["later": .object(["id": .string("x")])]
        let card = People.alice.card(accounts: accounts)
        let read = try Card(record: try #require(card.record))
        #expect(read.accounts == accounts && read.record == card.record)
        #expect(try read.profiles().isEmpty)
        let malformed = People.alice.card(accounts: ["whisper2": .string("x")])
        #expect(throws: ProfileError.malformed) { try malformed.profiles() }
    }
}
