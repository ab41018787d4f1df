import Foundation
import TestSupport
import Testing

@testable import Sotto
@testable import SottoMessengers

/// The intermediate values in the messengers' vectors: seeds, derived keys, other spellings. The tests of each format
/// check the inputs and outputs.
struct KnownAnswerTests {
    private static func base64(_ text: String) throws -> [UInt8] {
        try #require(Base64.standard.decode(text))
    }

    // MARK: qr.json

    struct KeyIDs: Decodable {
        let sessionIds: [Known]
        let sessionIdMustFail: [Bad]
        let sessionIdUpper: Upper
        struct Known: Decodable {
            let ed25519Public: Hex
            let sessionId: String
        }
        struct Bad: Decodable {
            let why: String
            let id: String
        }
        struct Upper: Decodable {
            let id: String
            let accept: Bool
            let canonical: String
        }
    }

    @Test func sessionIdsAreReadAsKnown() throws {
        let known = TestSupport.Vectors.load("qr", as: KeyIDs.self)
        for known in known.sessionIds {
            #expect(KeyID(known.sessionId)?.publicKey == known.ed25519Public.bytes)
            #expect(KeyID(publicKey: known.ed25519Public.bytes).description == known.sessionId)
        }
        for bad in known.sessionIdMustFail { #expect(KeyID(bad.id) == nil, "\(bad.why)") }
        let upper = known.sessionIdUpper
        #expect((KeyID(upper.id) != nil) == upper.accept)
        #expect(KeyID(upper.id)?.description == upper.canonical)
    }

    // MARK: box.json

    struct Box: Decodable {
        let identities: [Person]
        let challenges: [Challenge]
        let attachments: [Attachment]
        struct Person: Decodable {
            let mnemonic: String
            let passphrase: String
            let bip39Seed: Hex
            let encSeed: Hex
            let signSeed: Hex
            let contactsKey: Hex
            let encPublicApp: Hex
            let encPublicAppB64: String
            let encSecretServerVector: Hex
            let encPublicServerVector: Hex
            let signPublicB64: String
        }
        struct Challenge: Decodable {
            let challenge: String
            let sha256: Hex?
            let signature: String
        }
        struct Attachment: Decodable {
            let plaintext: Hex?
            let plaintextRule: String
            let length: Int
        }
    }

    @Test func anAccountsKeysComeFromTheirSeedsStepByStep() throws {
        for known in TestSupport.Vectors.load("box", as: Box.self).identities {
            let mnemonic = try Mnemonic(parsing: known.mnemonic)
            let passphrase = known.passphrase.decomposedStringWithCompatibilityMapping
            let seed = mnemonic.seed(passphrase: passphrase)
            #expect(seed.withBytes { Array($0) } == known.bip39Seed.bytes)
            for (info, key) in [
                ("whisper/enc", known.encSeed), ("whisper/sign", known.signSeed),
                ("whisper/contacts", known.contactsKey),
            ] {
                let derived = hkdfSHA256(seed, salt: Array("whisper".utf8), info: info)
                #expect(derived.withBytes { Array($0) } == key.bytes, "\(info)")
            }
            let app = X25519.publicKey(of: SecretBytes(copying: known.encSeed.bytes))
            #expect(app == known.encPublicApp.bytes)
            #expect(Base64.standard.encode(app) == known.encPublicAppB64)
            #expect(Array(sha512(known.encSeed.bytes)[..<32]) == known.encSecretServerVector.bytes)
            let server = SecretBytes(copying: known.encSecretServerVector.bytes)
            #expect(X25519.publicKey(of: server) == known.encPublicServerVector.bytes)
            let signing = SigningKey(seed: SecretBytes(copying: known.signSeed.bytes))
            #expect(Base64.standard.encode(signing.publicKey) == known.signPublicB64)
            let keys = Whisper2Keys(mnemonic: mnemonic, passphrase: passphrase)
            #expect(keys.withContactsKey { $0.withBytes { Array($0) } } == known.contactsKey.bytes)
        }
    }

    @Test func challengesAndAttachmentsHaveTheKnownIntermediateValues() throws {
        let known = TestSupport.Vectors.load("box", as: Box.self)
        let alice = try Whisper2Vectors.alice.get()
        for known in known.challenges {
            guard let hash = known.sha256?.bytes else { continue }
            #expect(try sha256(Self.base64(known.challenge)) == hash)
            let signature = try Self.base64(known.signature)
            #expect(verifySignature(signature, of: hash, by: alice.signingKey))
        }
        for known in known.attachments {
            let plaintext = bytes(ofRule: known.plaintextRule)
            #expect(plaintext.count == known.length)
            if let inline = known.plaintext { #expect(inline.bytes == plaintext) }
        }
    }

    // MARK: hybrid.json

    struct Hybrid: Decodable {
        let messages: [Message]
        let recovery: [Recovery]
        struct Message: Decodable {
            let plaintext: String
            let aesKey: Hex
            let envelope: MercurioVectors.Envelope
        }
        struct Recovery: Decodable {
            let mnemonic: String
            let iosSeed: Hex
            let flutterSeed: Hex
        }
    }

    @Test func wrappedKeysAndSeedsMatchTheVectors() throws {
        let known = TestSupport.Vectors.load("hybrid", as: Hybrid.self)
        let key = try MercurioVectors.key.get()
        for known in known.messages {
            let wrapped = try Self.base64(known.envelope.encryptedAesKey)
            if let unwrapped = key.unwrap(wrapped, padding: .sha256) {
                #expect(unwrapped.withBytes { Array($0) } == known.aesKey.bytes)
            } else {
                Issue.record("cannot unwrap the known key")
            }
            let combined =
                try Self.base64(known.envelope.nonce)
                + Self.base64(known.envelope.encryptedContent) + Self.base64(known.envelope.mac)
            let secret = SecretBytes(copying: known.aesKey.bytes)
            #expect(
                AESGCM.open(combined, key: secret) == Array(known.plaintext.utf8))
        }
        for known in known.recovery {
            let mnemonic = try Mnemonic(parsing: known.mnemonic)
            for (rule, seed) in [
                (MercurioIdentity.SeedRule.ios, known.iosSeed), (.flutter, known.flutterSeed),
            ] {
                let identity = MercurioIdentity(mnemonic: mnemonic, rule: rule)
                #expect(identity.signing.withSeed { Array($0) } == seed.bytes)
            }
        }
    }

    // MARK: ecp1.json, phrase.json

    struct ECP1: Decodable {
        let pbkdf2: [Derived]
        let files: [Known]
        struct Derived: Decodable {
            let length: Int
            let output: Hex
        }
        struct Known: Decodable {
            let password: String
            let salt: Hex
            let nonce: Hex
            let key: Hex
            let plaintext: Hex
            let file: Hex
        }
    }

    @Test func aKeyFileUsesTheKnownKey() {
        let known = TestSupport.Vectors.load("ecp1", as: ECP1.self)
        for known in known.pbkdf2 { #expect(known.output.bytes.count == known.length) }
        for known in known.files {
            let key = pbkdf2SHA256(
                password: SecretBytes(copying: known.password.utf8), salt: known.salt.bytes,
                rounds: ECP1File.rounds)
            #expect(key.withBytes { Array($0) } == known.key.bytes)
            let sealed = AESGCM.seal(
                known.plaintext.bytes, nonce: known.nonce.bytes, key: key)
            #expect(Array("ECP1".utf8) + known.salt.bytes + sealed == known.file.bytes)
        }
    }

    struct Phrases: Decodable {
        let compat: [Known]
        struct Known: Decodable {
            let phrase: String
            let phraseUtf8: Hex
            let plaintext: String
            let key: Hex
            let iv: Hex
            let cbcCiphertext: Hex
        }
    }

    @Test func aTextInCBCHasTheKnownCiphertext() {
        for known in TestSupport.Vectors.load("phrase", as: Phrases.self).compat {
            #expect(Array(known.phrase.utf8) == known.phraseUtf8.bytes)
            let key = sha256(known.phraseUtf8.bytes)
            #expect(key == known.key.bytes)
            let ciphertext = AESCBC.encrypt(
                Array(known.plaintext.utf8), iv: known.iv.bytes, key: SecretBytes(copying: key))
            #expect(ciphertext == known.cbcCiphertext.bytes)
        }
    }
}
