import TestSupport
import Testing

@testable import Sotto
@testable import SottoMessengers

/// Tests/Vectors/hybrid.json.
enum MercurioVectors {
    struct File: Decodable {
        let rsaPrivatePkcs8Pem: String
        let rsaPrivatePkcs1DerHex: Hex
        let rsaPublicForms: Forms
        let messages: [Message]
        let mustFail: [Bad]
        let recovery: [Recovery]
        let conversationId: Conversation
    }
    struct Forms: Decodable {
        let ios: Numbers
        let webJwk: Numbers
        let flutter: Numbers
        let spkiPem: String
    }
    struct Numbers: Decodable, Sendable {
        let modulus: String
        let exponent: String
    }
    struct Envelope: Decodable, Sendable {
        let encryptedContent: String
        let encryptedAesKey: String
        let nonce: String
        let mac: String

        func record(camelCase: Bool = false) -> JSONObject {
            JSONObject([
                (camelCase ? "encryptedContent" : "encrypted_content", .string(encryptedContent)),
                (camelCase ? "encryptedAesKey" : "encrypted_aes_key", .string(encryptedAesKey)),
                ("nonce", .string(nonce)), ("mac", .string(mac)),
            ])
        }
    }
    struct Message: Decodable, Sendable {
        let plaintext: String
        let envelope: Envelope
    }
    struct Bad: Decodable, Sendable, CustomTestStringConvertible {
        let why: String
        let envelope: Envelope
        var testDescription: String { why }
    }
    struct Recovery: Decodable, Sendable {
        let mnemonic: String
        let iosSessionId: String
        let flutterSessionId: String
    }
    struct Conversation: Decodable {
        let a: String
        let b: String
        let id: String
    }

    static let file = Vectors.load("hybrid", as: File.self)
    static let key = Result { try MercurioPrivateKey(pem: file.rsaPrivatePkcs8Pem) }
}

/// Two accounts that write to each other. Bob's RSA key is that of the vectors.
struct MercurioPair {
    static let words = (Mnemonic(randomWordCount: 12), Mnemonic(randomWordCount: 12))
    let alice = MercurioIdentity(mnemonic: MercurioPair.words.0)
    let bob = MercurioIdentity(mnemonic: MercurioPair.words.1)
    let key: MercurioPrivateKey
    var bundle: MercurioKeyBundle { MercurioKeyBundle(key: key.publicKey, by: bob) }

    init() throws { key = try MercurioVectors.key.get() }

    /// A message from Alice to Bob.
    func message(_ text: String = "ciao") throws -> MercurioMessage {
        try MercurioMessage.seal(Array(text.utf8), from: alice, to: bundle)
    }

    /// Returns the error when Bob opens the message or the record is read, or `nil`.
    func failure(
        _ record: JSONObject, padding: MercurioPrivateKey.Padding = .sha256,
        allowUnproven: Bool = false
    ) -> (any Error)? {
        do {
            _ = try MercurioMessage(record: record).open(
                with: key, as: bob.id, padding: padding, allowUnproven: allowUnproven)
            return nil
        } catch {
            return error
        }
    }
}

/// Returns the bytes of a key's PEM.
func text(_ pem: borrowing SecretBytes) -> String {
    pem.withBytes { String(decoding: $0, as: UTF8.self) }
}

extension MercurioPublicKey {
    /// Wraps bytes that are not secret, as `wrap` does.
    func wrap(bytes: [UInt8]) -> [UInt8]? { wrap(SecretBytes(copying: bytes)) }
}
