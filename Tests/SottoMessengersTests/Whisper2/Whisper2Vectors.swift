import Foundation
import Sotto
import TestSupport

@testable import SottoMessengers

/// Tests/Vectors/box.json.
enum Whisper2Vectors {
    struct File: Decodable {
        let identities: [Person]
        let whisperIds: [ID]
        let messages: [Message]
        let challenges: [Challenge]
        let attachments: [Attachment]
        let contactsBackup: Backup
        let qrUrls: [URL]
    }
    struct Person: Decodable, Sendable {
        let name: String
        let mnemonic: String
        let passphrase: String
        let contactsKey: Hex
        let encPublicApp: Hex
        let encPublicServerVector: Hex
        let signPublic: Hex

        /// Returns the keys, by default under the clients' rule.
        func keys(_ rule: Whisper2Keys.SecretRule = .clients) throws -> Whisper2Keys {
            Whisper2Keys(
                mnemonic: try Mnemonic(parsing: mnemonic),
                passphrase: passphrase.decomposedStringWithCompatibilityMapping, rule: rule)
        }
    }
    struct ID: Decodable, Sendable {
        let id: String
        let indices: [UInt8]?
        let regexOk: Bool
        let checksumOk: Bool?
    }
    struct Message: Decodable, Sendable {
        let messageType: String
        let messageId: String
        let from: String
        let toOrGroupId: String
        let recipient: String
        let timestamp: Int64
        let plaintext: String
        let nonce: String
        let ciphertext: String
        let canonical: String
        let canonicalSha256: Hex
        let sig: String
        let sender: String
    }
    struct Challenge: Decodable, Sendable {
        let challenge: String
        let signature: String
        let signer: String
        let mustFail: String?
    }
    struct Attachment: Decodable, Sendable {
        let plaintextRule: String
        let plaintextSha256: Hex
        let fileKey: Hex
        let fileNonce: String
        let blobSha256: Hex
        let blob: Hex?
        let blobLength: Int
        let ciphertextSize: Int64
        let filekeyboxApp: Box
        let filekeyboxSpec: Box
    }
    struct Box: Decodable, Sendable {
        let nonce: String
        let ciphertext: String
    }
    struct Backup: Decodable, Sendable {
        let owner: String
        let plaintext: String
        let nonce: String
        let ciphertext: String
        let fileFormHex: Hex
    }
    struct URL: Decodable, Sendable {
        let url: String
        let accept: Bool
        let id: String?
        let key: Hex?
        let skey: Hex?
        let why: String?
    }

    static let file = Vectors.load("box", as: File.self)

    static func person(_ name: String) -> Person { file.identities.first { $0.name == name }! }

    static let aliceID = WhisperID("WSP-YS3T-HJGR-KQBZ")!
    static let bobID = WhisperID("WSP-WI7U-4VDX-HXY2")!
    static let group = "6f1c0c52-6a2e-4f0a-9d52-0c6a3d1f1b11"
    static let alice = Result { try person("alice").keys() }
    static let bob = Result { try person("bob").keys() }
}

/// Two accounts that write to each other.
struct Whisper2Pair {
    let alice: Whisper2Keys
    let bob: Whisper2Keys
    var aliceContact: Whisper2Contact { alice.contact(Whisper2Vectors.aliceID) }
    var bobContact: Whisper2Contact { bob.contact(Whisper2Vectors.bobID) }

    init() throws {
        alice = try Whisper2Vectors.alice.get()
        bob = try Whisper2Vectors.bob.get()
    }

    /// Returns a message from Alice to Bob.
    func message(
        _ text: String = "hello", hints: Whisper2Hints = Whisper2Hints(), group: String? = nil
    ) throws -> Whisper2Message {
        try Whisper2Message.seal(
            Array(text.utf8), hints: hints, with: alice, from: Whisper2Vectors.aliceID,
            to: bobContact, group: group, time: 1_730_000_000_000)
    }

    /// Returns the error when Bob opens the message or the record is read, or `nil`.
    func failure(
        _ record: JSONObject, from sender: Whisper2Contact? = nil, allowUnverified: Bool = false
    ) -> (any Error)? {
        do {
            _ = try Whisper2Message(record: record).open(
                with: bob, as: Whisper2Vectors.bobID, from: sender ?? aliceContact,
                allowUnverified: allowUnverified)
            return nil
        } catch {
            return error
        }
    }

    /// The same contact without its signing key.
    var unknownSigner: Whisper2Contact {
        Whisper2Contact(
            id: Whisper2Vectors.aliceID, encryptionKey: alice.encryptionKey, signingKey: nil)
    }
}

extension Optional where Wrapped == any Error {
    /// Whether it is this error.
    func isError<E: Error & Equatable>(_ error: E) -> Bool { (self as? E) == error }
}

extension WhisperID {
    /// Returns a random id, as the server makes them.
    static func random() -> WhisperID {
        WhisperID(symbols: randomBytes(10).map { $0 & 31 })
    }
}

extension Whisper2Keys {
    /// Whether `answer` is the answer of `publicKey` (32 bytes) to this challenge, as the server verifies it.
    static func isAnswer(_ answer: [UInt8], to challenge: [UInt8], by publicKey: [UInt8]) -> Bool {
        challenge.count == challengeSize
            && verifySignature(answer, of: sha256(challenge), by: publicKey)
    }
}

extension Whisper2GroupMessage {
    /// A recipient of a message, with their own pointer to an attachment.
    struct Recipient {
        let contact: Whisper2Contact
        var attachment: Whisper2AttachmentPointer?

        init(_ contact: Whisper2Contact, attachment: Whisper2AttachmentPointer? = nil) {
            self.contact = contact
            self.attachment = attachment
        }
    }

    /// Encrypts `plaintext` to members of a group, and joins the messages.
    static func seal(
        _ plaintext: [UInt8], hints: Whisper2Hints = Whisper2Hints(), with keys: Whisper2Keys,
        from: WhisperID, to recipients: [Recipient], group: String, time: Int64
    ) throws(Whisper2SealError) -> Whisper2GroupMessage {
        let id = Envelope.newID()
        var messages: [Whisper2Message] = []
        for recipient in recipients {
            messages.append(
                try Whisper2Message.seal(
                    plaintext, hints: hints.with(recipient.attachment ?? hints.attachment),
                    with: keys, from: from, to: recipient.contact, group: group, id: id, time: time)
            )
        }
        return try Whisper2GroupMessage(joining: messages)
    }
}
