import Sotto
import TestSupport
import Testing

/// Tests/Vectors/modern.json, `keys`: BIP 39 words to every key of an identity, and their texts.
struct KeyDerivationTests {
    struct Vectors: Decodable {
        let keys: [Keys]
    }

    struct Keys: Decodable, Sendable, CustomTestStringConvertible {
        let name: String
        let mnemonic: String
        let passphrase: String
        let bip39_seed: Hex
        let age_pq_identity: String
        let age_pq_recipient: String
        let x25519_secret: Hex
        let age_identity: String
        let age_recipient: String
        let sign_seed: Hex
        let sign_public: Hex
        var testDescription: String { name }
    }

    static let keys = try! TestSupport.Vectors.load("modern", as: Vectors.self).keys

    @Test(arguments: keys)
    func wordsGiveTheKnownSeedAndKeys(_ keys: Keys) throws {
        let mnemonic = try Mnemonic(parsing: keys.mnemonic)
        let seed = mnemonic.seed(passphrase: keys.passphrase)
        #expect(seed.withBytes { Array($0) } == keys.bip39_seed.bytes)
        let identity = Identity(mnemonic: mnemonic, name: "", passphrase: keys.passphrase)
        #expect(identity.signingKey.publicKey == keys.sign_public.bytes)
        #expect(identity.signingKey.withSeed { Array($0) } == keys.sign_seed.bytes)
        #expect(identity.id.description == "05" + hex(keys.sign_public.bytes))
        #expect(identity.ageKey.text() == keys.age_identity)
        #expect(identity.ageKey.recipient.text == keys.age_recipient)
        #expect(identity.hybridKey.text() == keys.age_pq_identity)
        #expect(identity.hybridKey.recipient.text == keys.age_pq_recipient)
        let x25519 = SecretBytes(copying: keys.x25519_secret.bytes)
        #expect(X25519.publicKey(of: x25519) == identity.ageKey.recipient.publicKey)
    }

    @Test(arguments: keys)
    func keyTextsAreReadBack(_ keys: Keys) throws {
        let classic = try #require(AgeIdentity(keys.age_identity))
        #expect(classic.recipient.text == keys.age_recipient)
        #expect(!classic.recipient.isPostQuantum)
        let hybrid = try #require(AgeIdentity(keys.age_pq_identity))
        #expect(hybrid.recipient.text == keys.age_pq_recipient)
        #expect(hybrid.recipient.isPostQuantum)
        #expect(AgeRecipient(keys.age_recipient) == classic.recipient)
        #expect(AgeRecipient(keys.age_pq_recipient) == hybrid.recipient)
        #expect(AgeRecipient(keys.age_recipient.uppercased()) == classic.recipient)
    }

    @Test(arguments: keys)
    func aChangedCharacterInAKeyTextIsRefused(_ keys: Keys) throws {
        for text in [
            keys.age_identity, keys.age_pq_identity, keys.age_recipient, keys.age_pq_recipient,
        ] {
            for place in stride(from: 5, to: text.utf8.count, by: max(1, text.utf8.count / 40)) {
                var characters = Array(text.utf8)
                characters[place] = characters[place] == 0x71 ? 0x70 : 0x71
                let changed = String(decoding: characters, as: UTF8.self)
                #expect(AgeIdentity(changed) == nil && AgeRecipient(changed) == nil)
            }
            #expect(AgeIdentity(text.dropLast()) == nil && AgeRecipient(text.dropLast()) == nil)
        }
        #expect(AgeIdentity(keys.age_identity.lowercased()) == nil)
        #expect(AgeRecipient(keys.age_identity) == nil)
        #expect(AgeIdentity(keys.age_recipient) == nil)
    }

    @Test func derivedKeysDifferByPurposeAndIdentity() throws {
        let mnemonic = try Mnemonic(parsing: Self.keys[0].mnemonic)
        let (a, b) = (
            Identity(mnemonic: mnemonic, name: ""),
            Identity(mnemonic: Mnemonic(randomWordCount: 12), name: "")
        )
        func key(_ identity: Identity, _ info: String) -> [UInt8] {
            identity.derivedKey(info: info).withBytes { Array($0) }
        }
        #expect(key(a, "state/v1") == key(a, "state/v1"))
        #expect(key(a, "state/v1") != key(a, "state/v2"))
        #expect(key(a, "state/v1") != key(b, "state/v1"))
    }
}
