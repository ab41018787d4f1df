import Sotto
import SottoState
import TestSupport
import Testing

@testable import SottoMessengers

/// Tests of the ids of accounts whose signing keys are not known.
struct AccountIDTests {
    /// Made with Python: hashlib, and the arithmetic of RFC 8032 §5.1.3. The counter of the last one is 1.
    @Test(arguments: [
        (
            "WSP-YS3T-HJGR-KQBZ",
            "05d5dbd3ca57b3c6d7631baf599c938939e04d47ce61a72a8c2e4c9167fb1a8044"
        ),
        (
            "WSP-WI7U-4VDX-HXY2",
            "05551b0b2a0d241df2e44e3ab9b9ebb3237318f3d85d994514bd0ed976b3c47542"
        ),
        (
            "WSP-AAAA-AAAA-AAAC",
            "05e0eba5a572be56d52692e49cfdb580a5c19faffb52edd19cc42b43d5588500c7"
        ),
    ])
    func anAccountHasAKnownID(_ account: String, _ id: String) throws {
        let known = try #require(WhisperID(account))
        #expect(known.accountID.description == id)
        #expect(KeyID(account: account, of: "whisper2") == known.accountID)
        // The name of the messenger belongs to the id.
        #expect(KeyID(account: account, of: "another") != known.accountID)
    }

    @Test func noIDOfAnAccountIsAKey() {
        #expect(People.alice.id.isKey)
        var ids: Set<KeyID> = []
        for _ in 0..<500 {
            let id = WhisperID.random().accountID
            #expect(!id.isKey)
            ids.insert(id)
        }
        #expect(ids.count == 500)
    }

    @Test func theIDOfAContactIsTheSigningKeyIfItIsKnown() throws {
        let id = WhisperID.random()
        let keys = try People.alice.whisper2Keys().contact(id)
        let keyless = Whisper2Contact(
            id: id, encryptionKey: keys.encryptionKey, signingKey: nil)
        #expect(keys.contactID.publicKey == keys.signingKey)
        #expect(keyless.contactID == id.accountID)
        #expect(Account.whisper2(keyless).id == id.accountID)
        var contact = Contact(
            name: "x", id: keyless.contactID, card: nil, trust: .unverified)
        contact.learned = Profiles(whisper2: keyless)
        #expect(contact.isKeyless && contact.signs(with: keyless) && !contact.signs(with: keys))
        #expect(
            contact.binding(of: keyless) == .firstUse && contact.binding(of: keys) == .introduced)
        #expect(contact.waitingIDs == [id.accountID])
        // Nothing covers it, whatever the record says.
        contact.trust = .verified
        #expect(contact.verifiedKeys == ["id"])
    }

    @Test func onlyAnAddressBookHasAnAccountWithoutKeys() throws {
        let id = WhisperID.random()
        let object = Profiles(whisperID: id).object
        #expect(object == ["whisper2": .object(["id": .string(id.description)])])
        let read = try #require(Profiles(object))
        #expect(read.whisperID == id && read.whisper2 == nil && !read.isEmpty)
        // A card cannot prove it.
        let card = People.alice.card(accounts: object)
        #expect(throws: ProfileError.unproven) { try card.profiles() }
        for malformed in [
            ["id": .string(id.description), "skey": .string("x")],
            ["id": .string(id.description), "key": .null], ["id": .string("WSP-1")], [:],
        ] as [JSONObject] {
            #expect(Profiles(["whisper2": .object(malformed)]) == nil, "\(malformed)")
        }
    }
}
