import SottoPadding
import TestSupport
import Testing

@testable import Sotto
@testable import SottoMessengers

/// Tests/Vectors/self_encryption.json, and invalid input.
struct SelfEncryptionTests {
    struct Known: Decodable {
        let ed25519Seed: Hex
        let key: Hex
        let padded: Hex
        let combined: Hex
    }

    let known = TestSupport.Vectors.load("self_encryption", as: Known.self)
    var key: SecretBytes {
        SelfEncryption.key(
            of: SigningKey(seed: SecretBytes(copying: known.ed25519Seed.bytes)))
    }

    @Test func theKeyIsTheKnownOne() {
        #expect(key.withBytes { Array($0) } == known.key.bytes)
    }

    @Test func theKnownCopyIsWritten() throws {
        let nonce = Array(known.combined.bytes[..<12])
        #expect(
            AESGCM.seal(known.padded.bytes, nonce: nonce, key: key)
                == known.combined.bytes)
    }

    @Test func theKnownCopyIsRead() throws {
        #expect(
            try SelfEncryption.open(known.combined.bytes, with: key) == Array("my own copy".utf8))
    }

    @Test(arguments: [0, 1, 59, 60, 1000, SelfEncryption.limit])
    func sealedTextIsOpened(_ count: Int) throws {
        let plaintext = randomBytes(count)
        let copy = try SelfEncryption.seal(plaintext, for: People.alice)
        #expect(Padding.buckets.contains(copy.count - 28))
        #expect(try SelfEncryption.open(copy, with: People.alice) == plaintext)
        #expect(throws: SelfEncryptionError.authentication) {
            try SelfEncryption.open(copy, with: People.bob)
        }
    }

    @Test func aTextThatIsTooLongIsRefused() {
        let limit = SelfEncryption.limit
        #expect(throws: SelfEncryptionError.tooLong(limit: limit)) {
            try SelfEncryption.seal([UInt8](repeating: 0, count: limit + 1), for: People.alice)
        }
    }

    @Test func eachChangedBitIsRefused() {
        for index in known.combined.bytes.indices {
            var copy = known.combined.bytes
            copy[index] ^= 1 << UInt8(index % 8)
            #expect(throws: SelfEncryptionError.authentication) {
                try SelfEncryption.open(copy, with: key)
            }
        }
    }

    @Test func truncatedAndExtendedBytesAreRefused() {
        for count in 0..<known.combined.bytes.count {
            #expect(throws: SelfEncryptionError.authentication) {
                try SelfEncryption.open(Array(known.combined.bytes[..<count]), with: key)
            }
        }
        #expect(throws: SelfEncryptionError.authentication) {
            try SelfEncryption.open(known.combined.bytes + [0], with: key)
        }
    }

    @Test func anAuthenticCopyWithoutAFrameIsRefused() {
        var version = known.padded.bytes
        version[0] = 2
        var padLength = known.padded.bytes
        padLength[63] = 60
        for frame in [[], Array("my own copy".utf8), version, padLength] {
            let copy = AESGCM.seal(frame, key: key)
            #expect(throws: SelfEncryptionError.padding) {
                try SelfEncryption.open(copy, with: key)
            }
        }
    }

    /// The default for copies of sent messages: a sealed envelope to the sender.
    @Test func anEnvelopeToTheSenderIsPostQuantum() throws {
        let card = People.alice.card()
        let envelope = try Sealed.seal(
            body: Message.textBody("my own copy"), from: People.alice, to: card,
            time: Timestamp(seconds: 0))
        let message = try Sealed.open(envelope, with: People.alice)
        #expect(message.from == People.alice.id && message.body["text"]?.string == "my own copy")
    }
}
