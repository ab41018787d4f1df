import Crypto
import TestSupport
import Testing

@testable import Sotto
@testable import SottoMessengers

/// The known flaws of the format, with one test for each fix.
struct MercurioFlawTests {
    /// Anyone with the public key can write messages in any name.
    @Test func h1AMessageWithoutASignatureHasNoSender() throws {
        let pair = try MercurioPair()
        var record = try pair.message().record
        record["sig"] = nil
        #expect(pair.failure(record).isError(MercurioOpenError.unproven))
        let opened = try MercurioMessage(record: record).open(
            with: pair.key, as: pair.bob.id, allowUnproven: true)
        #expect(opened.sender == nil)
        // A wrong signature is refused even if a missing one is allowed.
        record["sig"] = .string(Base64.standard.encode(randomBytes(64)))
        for allow in [false, true] {
            #expect(
                pair.failure(record, allowUnproven: allow)
                    .isError(MercurioOpenError.authentication))
        }
        // Another sender's signature under Alice's id.
        let mallory = MercurioIdentity(mnemonic: Mnemonic(randomWordCount: 12))
        var forged = try MercurioMessage.seal([], from: mallory, to: pair.bundle).record
        forged["senderMercurioId"] = .string(pair.alice.id.description)
        #expect(pair.failure(forged).isError(MercurioOpenError.authentication))
    }

    /// The RSA key is not bound to the account.
    @Test func h2ABundleIsSignedByTheSessionID() throws {
        let pair = try MercurioPair()
        let mallory = MercurioIdentity(mnemonic: Mnemonic(randomWordCount: 12))
        var record = MercurioKeyBundle(key: pair.key.publicKey, by: mallory).record
        record["mercurio_id"] = .string(pair.bob.id.description)
        #expect(throws: MercurioKeyBundleError.signature) { try MercurioKeyBundle(record: record) }
    }

    /// 2048-bit RSA has a strength of 112 bits.
    @Test func h3KeysOf3072BitsAreMadeUnlessAskedOtherwise() throws {
        #expect(try MercurioPrivateKey().publicKey.modulus.count == 384)
        #expect(try MercurioPrivateKey(bits: 2048).publicKey.modulus.count == 256)
    }

    /// An error that distinguishes the padding from the tag is an oracle.
    @Test func h4EveryFailureIsOneError() throws {
        let pair = try MercurioPair()
        /// Returns a message whose wrapped key is `secret` and whose text was encrypted under `key`.
        func record(wrapping secret: [UInt8], text: [UInt8], under key: [UInt8]) throws
            -> JSONObject
        {
            let box = try AES.GCM.seal(
                text, using: SymmetricKey(data: key),
                nonce: .init(data: [UInt8](repeating: 0, count: 12)))
            let wrapped = try #require(pair.key.publicKey.wrap(bytes: secret))
            return JSONObject(
                MercurioEnvelope(
                    content: Array(box.ciphertext), wrappedKey: wrapped,
                    nonce: [UInt8](repeating: 0, count: 12), tag: Array(box.tag)
                ).members())
        }
        let key = randomBytes(32)
        let good = try record(wrapping: key, text: Array("x".utf8), under: key)
        #expect(pair.failure(good, allowUnproven: true) == nil)
        let long = try #require(
            good["encryptedAesKey"]?.string.flatMap { Base64.standard.decode($0) })
        var bad: [(String, JSONObject)] = [
            (
                "key of 16",
                try record(wrapping: Array(key[..<16]), text: [65], under: Array(key[..<16]))
            ),
            (
                "key of 24",
                try record(wrapping: Array(key[..<24]), text: [65], under: Array(key[..<24]))
            ),
            ("key of 33", try record(wrapping: key + [0], text: [65], under: key)),
            ("no key", try record(wrapping: [], text: [65], under: key)),
            ("another key", try record(wrapping: randomBytes(32), text: [65], under: key)),
            ("not UTF-8", try record(wrapping: key, text: [0xFF, 0xFE], under: key)),
        ]
        for (name, wrapped) in [
            ("zeros", [UInt8](repeating: 0, count: 256)),
            ("above the modulus", [UInt8](repeating: 0xFF, count: 256)),
            ("a bit", long.flipping(bit: 5)), ("one", [UInt8](repeating: 0, count: 255) + [1]),
            // The length of another key size.
            ("384 bytes", [UInt8](repeating: 1, count: 384)),
        ] {
            var changed = good
            changed["encryptedAesKey"] = .string(Base64.standard.encode(wrapped))
            bad.append((name, changed))
        }
        var tag = good
        tag["mac"] = .string(Base64.standard.encode(randomBytes(16)))
        bad.append(("tag", tag))
        for (name, record) in bad {
            #expect(
                pair.failure(record, allowUnproven: true).isError(MercurioOpenError.authentication),
                "\(name)")
        }
    }

    /// The row outside the ciphertext is not authenticated.
    @Test func h5TheSignatureCoversTheRow() throws {
        let pair = try MercurioPair()
        let (message, other) = (try pair.message("yes"), try pair.message("no"))
        #expect(pair.failure(message.record) == nil)
        for name in [
            "conversationId", "senderMercurioId", "encryptedContent", "encryptedAesKey",
            "nonce", "mac", "sig",
        ] {
            var record = message.record
            record[name] =
                switch name {
                case "conversationId": .string("elsewhere")
                case "senderMercurioId": .string(pair.bob.id.description)
                default: other.record[name]
                }
            #expect(pair.failure(record).isError(MercurioOpenError.authentication), "\(name)")
            record[name] = nil
            #expect(pair.failure(record) != nil)
        }
        // Moved to another recipient, whose key can decrypt it.
        var moved = message.record
        moved["recipientMercurioId"] = .string(pair.alice.id.description)
        #expect(throws: MercurioOpenError.authentication) {
            try MercurioMessage(record: moved).open(with: pair.key, as: pair.alice.id)
        }
        moved["recipientMercurioId"] = nil
        #expect(pair.failure(moved).isError(MercurioOpenError.authentication))
    }

    /// The app's words restore no key.
    @Test func h6TheWordsRestoreTheSessionID() throws {
        let mnemonic = Mnemonic(randomWordCount: 12)
        let first = MercurioIdentity(mnemonic: mnemonic)
        let restored = MercurioIdentity(mnemonic: try Mnemonic(parsing: mnemonic.sentenceText()))
        #expect(restored.id == first.id)
        // The RSA key is restored from its file.
        let key = try MercurioVectors.key.get()
        #expect(try MercurioPrivateKey(pem: text(key.pem())).publicKey == key.publicKey)
    }

    /// A key has three encodings, and the padding has two.
    @Test func h7SHA1IsReadOnlyOnRequest() throws {
        let pair = try MercurioPair()
        let flutter = try #require(
            MercurioVectors.file.mustFail.first { $0.why.hasPrefix("OAEP SHA-1/SHA-1") })
        let record = flutter.envelope.record()
        #expect(
            pair.failure(record, allowUnproven: true).isError(MercurioOpenError.authentication))
        #expect(pair.failure(record, padding: .sha1, allowUnproven: true) == nil)
        // It is never written: it cannot open new messages.
        #expect(
            pair.failure(try pair.message().record, padding: .sha1)
                .isError(MercurioOpenError.authentication))
    }

    /// The Flutter client's safety number is a sum of character codes.
    @Test func h8FingerprintsAreOfTheEd25519Keys() throws {
        let pair = try MercurioPair()
        #expect(pair.alice.id.publicKey == pair.alice.signing.publicKey)
        let (a, b) = (
            try #require(Fingerprint(pair.alice.id)), try #require(Fingerprint(pair.bob.id))
        )
        #expect(a.key == pair.alice.id.publicKey && a.digits.count == 30 && a.digits != b.digits)
    }

    /// The seed is clamped as if it were a scalar.
    @Test func h9ClampingIsKeptForTheID() throws {
        let mnemonic = Mnemonic(randomWordCount: 12)
        var seed = mnemonic.seed().withBytes { Array($0[..<32]) }
        let plain = SigningKey(seed: SecretBytes(copying: seed))
        seed[0] &= 248
        seed[31] = seed[31] & 127 | 64
        let clamped = SigningKey(seed: SecretBytes(copying: seed))
        #expect(MercurioIdentity(mnemonic: mnemonic).id.publicKey == clamped.publicKey)
        #expect(
            MercurioIdentity(mnemonic: mnemonic, rule: .flutter).id.publicKey == plain.publicKey)
    }
}
