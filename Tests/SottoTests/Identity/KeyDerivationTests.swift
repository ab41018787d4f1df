import Sotto
import TestSupport
import Testing

/// Tests/Vectors/modern.json, `keys`: from BIP 39 words to all keys of an identity and their texts.
struct KeyDerivationTests {
    struct Vectors: Decodable {
        let keys: [Keys]
    }

    struct Keys: Decodable, Sendable, CustomTestStringConvertible {
        let name: String
        let mnemonic: String
        let passphrase: String
        let bip39Seed: Hex
        let agePqIdentity: String
        let agePqRecipient: String
        let x25519Secret: Hex
        let ageIdentity: String
        let ageRecipient: String
        let signSeed: Hex
        let signPublic: Hex
        var testDescription: String { name }
    }

    static let keys = TestSupport.Vectors.load("modern", as: Vectors.self).keys

    @Test(arguments: keys)
    func wordsGiveTheKnownSeedAndKeys(_ keys: Keys) throws {
        let mnemonic = try Mnemonic(parsing: keys.mnemonic)
        let seed = mnemonic.seed(passphrase: keys.passphrase)
        #expect(seed.withBytes { Array($0) } == keys.bip39Seed.bytes)
        let identity = Identity(mnemonic: mnemonic, name: "", passphrase: keys.passphrase)
        #expect(identity.signingKey.publicKey == keys.signPublic.bytes)
        #expect(identity.signingKey.withSeed { Array($0) } == keys.signSeed.bytes)
        #expect(identity.id.description == "05" + hex(keys.signPublic.bytes))
        #expect(identity.ageKey.text() == keys.ageIdentity)
        #expect(identity.ageKey.recipient.text == keys.ageRecipient)
        #expect(identity.hybridKey.text() == keys.agePqIdentity)
        #expect(identity.hybridKey.recipient.text == keys.agePqRecipient)
        let x25519 = SecretBytes(copying: keys.x25519Secret.bytes)
        #expect(X25519.publicKey(of: x25519) == identity.ageKey.recipient.publicKey)
    }

    @Test(arguments: keys)
    func keyTextsAreReadBack(_ keys: Keys) throws {
        let classic = try #require(AgeIdentity(keys.ageIdentity))
        #expect(classic.recipient.text == keys.ageRecipient)
        #expect(!classic.recipient.isPostQuantum)
        let hybrid = try #require(AgeIdentity(keys.agePqIdentity))
        #expect(hybrid.recipient.text == keys.agePqRecipient)
        #expect(hybrid.recipient.isPostQuantum)
        #expect(AgeRecipient(keys.ageRecipient) == classic.recipient)
        #expect(AgeRecipient(keys.agePqRecipient) == hybrid.recipient)
        #expect(AgeRecipient(keys.ageRecipient.uppercased()) == classic.recipient)
    }

    @Test(arguments: keys)
    func aChangedCharacterInAKeyTextIsRefused(_ keys: Keys) throws {
        for text in [
            keys.ageIdentity, keys.agePqIdentity, keys.ageRecipient, keys.agePqRecipient,
        ] {
            for place in stride(from: 5, to: text.utf8.count, by: max(1, text.utf8.count / 40)) {
                var characters = Array(text.utf8)
                characters[place] = characters[place] == 0x71 ? 0x70 : 0x71
                let changed = String(decoding: characters, as: UTF8.self)
                #expect(AgeIdentity(changed) == nil && AgeRecipient(changed) == nil)
            }
            #expect(AgeIdentity(text.dropLast()) == nil && AgeRecipient(text.dropLast()) == nil)
        }
        #expect(AgeIdentity(keys.ageIdentity.lowercased()) == nil)
        #expect(AgeRecipient(keys.ageIdentity) == nil)
        #expect(AgeIdentity(keys.ageRecipient) == nil)
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
