import TestSupport
import Testing

@testable import Sotto
@testable import SottoMessengers

/// Tests/Vectors/box.json, made with PyNaCl and pyca/cryptography. Its first identity is that of the server's own
/// vectors.
struct Whisper2KnownAnswerTests {
    static let vectors = Whisper2Vectors.file

    @Test(arguments: vectors.identities)
    func wordsGiveTheKeys(_ known: Whisper2Vectors.Person) throws {
        let keys = try known.keys()
        #expect(keys.encryptionKey == known.encPublicApp.bytes)
        #expect(keys.signingKey == known.signPublic.bytes)
        let server = try known.keys(.serverVector)
        #expect(server.encryptionKey == known.encPublicServerVector.bytes)
        #expect(server.signingKey == known.signPublic.bytes)
        // The contacts key is not accessible, so its box is compared.
        let nonce = [UInt8](repeating: 7, count: 24)
        let box = NaClBox.seal(
            [1, 2, 3], nonce: nonce, key: SecretBytes(copying: known.contactsKey.bytes))
        #expect(Whisper2ContactsBackup(file: nonce + box)?.open(with: keys) == [1, 2, 3])
    }

    @Test(arguments: vectors.whisperIds)
    func idsAreReadAsKnown(_ known: Whisper2Vectors.ID) {
        let id = WhisperID(known.id)
        #expect((id != nil) == known.regexOk)
        guard let id else { return }
        #expect(id.isChecksumValid == known.checksumOk)
        #expect(id.description == known.id)
        if let symbols = known.indices { #expect(WhisperID(symbols: symbols) == id) }
    }

    /// Returns the record of a known frame for its recipient.
    static func record(_ known: Whisper2Vectors.Message) -> JSONObject {
        let isGroup = known.messageType == "group_send_message"
        let isCall = known.messageType.hasPrefix("call_")
        return JSONObject([
            ("protocolVersion", .integer(1)), ("cryptoVersion", .integer(1)),
            (isCall ? "callId" : "messageId", .string(known.messageId)),
            ("groupId", isGroup ? .string(known.toOrGroupId) : nil), ("from", .string(known.from)),
            ("to", .string(isGroup ? "WSP-WI7U-4VDX-HXY2" : known.toOrGroupId)),
            ("msgType", isCall ? nil : .string("text")), ("timestamp", .integer(known.timestamp)),
            ("nonce", .string(known.nonce)), ("ciphertext", .string(known.ciphertext)),
            ("sig", .string(known.sig)),
        ])
    }

    @Test(arguments: vectors.messages)
    func framesAreVerifiedAndOpened(_ known: Whisper2Vectors.Message) throws {
        let sender = Whisper2Vectors.person(known.sender)
        let contact = try sender.keys().contact(#require(WhisperID(known.from)))
        let keys = try Whisper2Vectors.person(known.recipient).keys()
        let record = Self.record(known)
        let frame: Whisper2Frame
        let opened: Whisper2Message.Opened
        if known.messageType.hasPrefix("call_") {
            let call = try Whisper2Call(
                record: ["type": .string(known.messageType), "payload": .object(record)])
            (frame, opened) = (call.frame, try call.open(with: keys, as: call.to, from: contact))
        } else {
            let message = try Whisper2Message(record: record)
            (frame, opened) = (
                message.frame, try message.open(with: keys, as: message.to, from: contact)
            )
            #expect(message.record == record)
        }
        #expect(opened.plaintext == Array(known.plaintext.utf8) && opened.isVerified)
        #expect(frame.canonical == Array(known.canonical.utf8))
        #expect(sha256(frame.canonical) == known.canonicalSha256.bytes)
    }

    @Test(arguments: vectors.messages)
    func everySignedFieldIsSigned(_ known: Whisper2Vectors.Message) throws {
        guard known.messageType == "send_message" else { return }
        let pair = try Whisper2Pair()
        let record = Self.record(known)
        #expect(pair.failure(record) == nil)
        let changes: [(String, JSON)] = [
            ("messageId", .string("00000000-0000-4000-8000-0000000000ff")),
            ("timestamp", .integer(known.timestamp + 1)),
            ("groupId", .string(Whisper2Vectors.group)),
            ("nonce", .string(Base64.standard.encode(randomBytes(24)))),
            ("ciphertext", .string(Base64.standard.encode(randomBytes(40)))),
            ("sig", .string(Base64.standard.encode(randomBytes(64)))),
        ]
        for (name, value) in changes {
            var changed = record
            changed[name] = value
            #expect(pair.failure(changed).isError(Whisper2OpenError.authentication), "\(name)")
        }
    }

    @Test(arguments: vectors.challenges)
    func challengesAreAnsweredAsKnown(_ known: Whisper2Vectors.Challenge) throws {
        let keys = try Whisper2Vectors.person(known.signer).keys()
        let challenge = try #require(Base64.standard.decode(known.challenge))
        let signature = try #require(Base64.standard.decode(known.signature))
        let isRight = known.mustFail == nil
        #expect((try keys.answer(challenge: challenge) == signature) == isRight)
        #expect(
            Whisper2Keys.isAnswer(signature, to: challenge, by: keys.signingKey) == isRight)
    }

    @Test(arguments: vectors.attachments)
    func attachmentsAreSealedAndOpenedAsKnown(_ known: Whisper2Vectors.Attachment) throws {
        let plaintext = bytes(ofRule: known.plaintextRule)
        #expect(sha256(plaintext) == known.plaintextSha256.bytes)
        let key = SecretBytes(copying: known.fileKey.bytes)
        let nonce = try #require(Base64.standard.decode(known.fileNonce))
        let sealed = release {
            try Whisper2AttachmentWriter(SeekableMemory(plaintext), key: key, nonce: nonce)
        }
        #expect(sealed.error == nil)
        let box = sealed.bytes
        #expect(sha256(box) == known.blobSha256.bytes && box.count == known.blobLength)
        if let blob = known.blob { #expect(blob.bytes == box) }
        let file = release { try Whisper2AttachmentReader(SeekableMemory(box), key: key) }
        #expect(file.error == nil && file.bytes == plaintext)

        // Both forms of the key box, from one account to the other.
        let pair = try Whisper2Pair()
        for box in [known.filekeyboxApp, known.filekeyboxSpec] {
            let pointer = try Whisper2AttachmentPointer(record: [
                "objectKey": .string("a/b"), "contentType": .string("image/png"),
                "ciphertextSize": .integer(known.ciphertextSize),
                "fileNonce": .string(known.fileNonce),
                "fileKeyBox": .object([
                    "nonce": .string(box.nonce), "ciphertext": .string(box.ciphertext),
                ]),
            ])
            let opened = try pointer.fileKey(with: pair.bob, from: pair.aliceContact)
            #expect(opened.withBytes { Array($0) } == known.fileKey.bytes)
        }
    }

    @Test func theContactsBackupIsOpenedInBothForms() throws {
        let known = Self.vectors.contactsBackup
        let keys = try Whisper2Vectors.person(known.owner).keys()
        let record: JSONObject = [
            "nonce": .string(known.nonce), "ciphertext": .string(known.ciphertext),
        ]
        let backup = try Whisper2ContactsBackup(record: record)
        #expect(backup.open(with: keys) == Array(known.plaintext.utf8))
        #expect(backup.file == known.fileFormHex.bytes && backup.record == record)
        #expect(Whisper2ContactsBackup(file: known.fileFormHex.bytes) == backup)
        #expect(backup.open(with: try Whisper2Vectors.bob.get()) == nil)
        #expect(Whisper2ContactsBackup(file: Array(backup.file.prefix(39))) == nil)
        for bit in [0, 24 * 8, backup.file.count * 8 - 1] {
            let changed = Whisper2ContactsBackup(file: backup.file.flipping(bit: bit))
            #expect(changed?.open(with: keys) == nil)
        }
    }

    @Test(arguments: vectors.qrUrls)
    func urlsAreReadAsKnown(_ known: Whisper2Vectors.URL) throws {
        guard known.accept else {
            #expect(throws: Whisper2AddURLError.self) { try Whisper2AddURL.contact(known.url) }
            return
        }
        let contact = try Whisper2AddURL.contact(known.url)
        #expect(contact.id.description == known.id)
        #expect(contact.encryptionKey == known.key?.bytes)
        #expect(contact.signingKey == known.skey?.bytes)
        let text = Whisper2AddURL.text(contact)
        #expect(try Whisper2AddURL.contact(text) == contact)
        #expect(!text.dropFirst("whisper2://add?".count).contains { "+/ ".contains($0) })
    }
}
