public import Sotto

/// A reason why a text of SHAiny cannot be made or opened.
public enum ShainyError: Error, Sendable, Equatable {
    /// The phrase is wrong or the text is damaged. One error covers the form, the padding, the tag and the hash.
    case authentication
    /// The phrase of the channel is public, and the caller did not allow that.
    case publicChannel
}

/// A chat of SHAiny, which is defined by its phrase: the key is SHA-256 of the phrase's bytes as typed.
///
/// It is only for exchange with that messenger. Its chat id **is** the key, and is sent to its server; one fast hash
/// protects the phrase. CBC is not authenticated. The separate hash of the plaintext reveals equal texts and does not
/// authenticate either: an attacker who knows a text can forge its first block. Nothing proves who wrote a text, or
/// that it is not a replay. The key lasts as long as the phrase, and random nonces limit it to 2³² texts. ``PhraseKey``
/// is the form without these flaws.
public final class ShainyChat: Sendable {
    /// The phrase of the public channel, which all users can read and write.
    public static let globalPhrase = "AnnouncementsSHAinyChat"
    /// The id of the public channel.
    public static let globalID = "global-announcements"

    private let key: SecretBytes
    /// Whether this is the public channel, whose phrase is public. Its texts are not confidential.
    public let isPublic: Bool

    /// Creates the chat of a phrase: its bytes, neither trimmed nor normalised.
    public init(phrase: borrowing SecretBytes) {
        key = sha256(phrase)
        isPublic = phrase.withBytes { $0.elementsEqual(Self.globalPhrase.utf8) }
    }

    /// Restores the chat of a stored key, 32 bytes.
    init(key: consuming SecretBytes) {
        isPublic = key.withBytes { $0.elementsEqual(sha256(Array(Self.globalPhrase.utf8))) }
        self.key = key
    }

    /// The public channel, whose phrase is public.
    public static let global = ShainyChat(phrase: SecretBytes(copying: globalPhrase.utf8))

    /// Returns the key for storage.
    func keyBytes() -> [UInt8] { key.withBytes { Array($0) } }

    /// Returns the chat's id, 64 hexadecimal digits: **the key itself**, so keep it secret. The public channel's id is
    /// ``globalID``.
    public func id() -> String { isPublic ? Self.globalID : key.withBytes { hex($0) } }

    // MARK: Messages

    /// The hash that is sent with a text.
    public enum Hash: Sendable {
        /// SHA-256 of the plaintext. SHAiny requires it; it reveals to readers and to the server which texts are equal.
        case plaintext
        /// 32 zero bytes, for readers that do not verify the hash.
        case hidden
    }

    /// Encrypts a text, in the documented CBC form or in the GCM form that SHAiny writes.
    ///
    /// Throws ``ShainyError/publicChannel`` for the public channel unless `toPublic` is true.
    public func seal(
        _ plaintext: [UInt8], reply: ShainyMessage.Reply? = nil, hash: Hash = .plaintext,
        gcm: Bool = false, toPublic: Bool = false
    ) throws(ShainyError) -> ShainyMessage {
        guard !isPublic || toPublic else { throw .publicChannel }
        return ShainyMessage(
            chatID: id(), encryptedText: encrypt(plaintext, gcm: gcm),
            hash: hash == .plaintext ? sha256(plaintext) : Self.hiddenHash, reply: reply)
    }

    /// Returns the text of a message of this chat, after comparing its hash.
    ///
    /// A hidden hash is accepted only with `allowingHiddenHash`. A text in the CBC form with a hidden hash is not
    /// protected against changes. Throws ``ShainyError/authentication``.
    public func open(
        _ message: ShainyMessage, allowingHiddenHash: Bool = false
    ) throws(ShainyError) -> [UInt8] {
        guard constantTimeEqual(Array(message.chatID.utf8), Array(id().utf8)) else {
            throw .authentication
        }
        return try open(
            message.encryptedText, hash: message.hash, allowingHiddenHash: allowingHiddenHash)
    }

    /// Opens a text and its hash (32 bytes) as ``open(_:allowingHiddenHash:)`` does.
    public func open(
        _ text: String, hash: [UInt8], allowingHiddenHash: Bool = false
    ) throws(ShainyError) -> [UInt8] {
        guard let form = TextForm(text) else { throw .authentication }
        // Both checks always run and give one answer.
        let opened = decrypt(form)
        let isTrue = constantTimeEqual(sha256(opened.message), hash)
        let isHidden = constantTimeEqual(hash, Self.hiddenHash)
        let checks = [opened.isValid, isTrue || (isHidden && allowingHiddenHash)]
        guard !checks.contains(false) else { throw .authentication }
        return opened.message
    }

    private static let hiddenHash = [UInt8](repeating: 0, count: 32)

    // MARK: Texts without a hash

    /// Encrypts a text that has no hash: a quotation, or the name of a chat.
    public func encrypt(_ plaintext: [UInt8], gcm: Bool = false) -> String {
        encrypt(plaintext, gcm: gcm, nonce: randomBytes(gcm ? 12 : 16))
    }

    func encrypt(_ plaintext: [UInt8], gcm: Bool, nonce: [UInt8]) -> String {
        if gcm {
            let box = AESGCM.seal(plaintext, nonce: nonce, key: key)
            return [
                hex(nonce), hex(box[AESGCM.nonceSize..<(box.count - AESGCM.tagSize)]),
                hex(box.suffix(AESGCM.tagSize)),
            ].joined(separator: ":")
        }
        return hex(nonce) + ":" + hex(AESCBC.encrypt(plaintext, iv: nonce, key: key))
    }

    /// Returns a text that has no hash. In the CBC form only the padding is checked: **an attacker may have written
    /// it**.
    ///
    /// Throws ``ShainyError/authentication``, also for text that is not UTF-8.
    public func unverifiedText(_ text: String) throws(ShainyError) -> String {
        guard let form = TextForm(text) else { throw .authentication }
        let opened = decrypt(form)
        guard opened.isValid, let text = String(validating: opened.message, as: UTF8.self) else {
            throw .authentication
        }
        return text
    }

    private func decrypt(_ form: TextForm) -> (message: [UInt8], isValid: Bool) {
        switch form {
        case .cbc(let iv, let ciphertext):
            guard let opened = AESCBC.open(ciphertext, iv: iv, key: key) else { return ([], false) }
            return (opened.message, opened.isPadded)
        case .gcm(let combined):
            guard let message = AESGCM.open(combined, key: key) else {
                return ([], false)
            }
            return (message, true)
        }
    }

    /// The written form of a text: `hex(iv):hex(ciphertext)`, or `hex(nonce):hex(ciphertext):hex(tag)`.
    private enum TextForm {
        case cbc(iv: [UInt8], ciphertext: [UInt8])
        case gcm([UInt8])

        init?(_ text: String) {
            let parts = text.utf8.split(
                separator: UInt8(ascii: ":"), maxSplits: 3, omittingEmptySubsequences: false
            ).compactMap { bytes(hex: Substring($0)) }
            let marks = text.utf8.count { $0 == UInt8(ascii: ":") }
            guard parts.count == marks + 1 else { return nil }
            switch (parts.count, parts[0].count, parts.last!.count) {
            case (2, AESCBC.blockSize, let count)
            where count > 0 && count.isMultiple(of: AESCBC.blockSize):
                self = .cbc(iv: parts[0], ciphertext: parts[1])
            case (3, AESGCM.nonceSize, AESGCM.tagSize):
                self = .gcm(parts[0] + parts[1] + parts[2])
            default: return nil
            }
        }
    }
}

/// A message as SHAiny's server accepts it. Its chat id is the chat's key, so the record is secret.
public struct ShainyMessage: Sendable {
    /// The chat's id: 64 hexadecimal digits in lower case, or ``ShainyChat/globalID``.
    public let chatID: String
    /// The encrypted text.
    public let encryptedText: String
    /// The claimed SHA-256 of the plaintext, 32 bytes.
    public let hash: [UInt8]
    /// The quotation, if the message has one.
    public let reply: Reply?
    /// What the server's event `new_message` says of the message; nothing proves it.
    public let claims: Claims

    /// The members of a message in the server's event `new_message` that its ciphertext does not have. Malformed ones are left out.
    public struct Claims: Sendable {
        /// The message's id at the server, which quotations name.
        public let messageID: String?
        /// The nickname of the sender.
        public let senderName: String?
        /// When it was sent, as a text or a number.
        public let timestamp: JSON?

        fileprivate init(_ message: JSONObject) {
            func text(_ value: JSON?) -> String? {
                value?.string.flatMap { (1...255).contains($0.utf8.count) ? $0 : nil }
            }
            messageID = text(message["id"])
            senderName = text(message["senderName"])
            let time = message["timestamp"]
            timestamp = time?.integer == nil ? text(time).map { .string($0) } : time
        }

        /// The members for the details of a message.
        var members: [(String, JSON?)] {
            [
                ("messageId", messageID.map { .string($0) }),
                ("senderName", senderName.map { .string($0) }), ("timestamp", timestamp),
            ]
        }
    }

    /// The id of the message in Sotto, from its ciphertext, because the messenger's texts have no id.
    var id: String { Envelope.id(of: Array(encryptedText.utf8)) }

    /// A quotation in a message. The sender of the message chose all of it, so it proves nothing about the quoted
    /// message.
    public struct Reply: Sendable {
        /// The quoted message's id.
        public let messageID: String
        /// The quoted text, encrypted; see ``ShainyChat/unverifiedText(_:)``.
        public let encryptedText: String
        /// The name of the claimed author.
        public let senderName: String
        /// The claimed time of the quoted message, in milliseconds since 1970-01-01T00:00:00Z.
        public let milliseconds: Int64

        /// Creates a quotation.
        public init(
            messageID: String, encryptedText: String, senderName: String, milliseconds: Int64
        ) {
            self.messageID = messageID
            self.encryptedText = encryptedText
            self.senderName = senderName
            self.milliseconds = milliseconds
        }

        init(_ fields: Fields<FieldError>) throws(FieldError) {
            messageID = try fields["messageId"].text()
            encryptedText = try fields["text"].text()
            senderName = try fields["senderName"].text()
            milliseconds = try fields["timestamp"].integer()
        }

        fileprivate var object: JSONObject {
            [
                "messageId": .string(messageID), "text": .string(encryptedText),
                "senderName": .string(senderName), "timestamp": .integer(milliseconds),
            ]
        }
    }

    /// The record: `{"type":"send_message","chatId","encryptedText","shaHash","replyTo"}`.
    public var record: JSONObject {
        JSONObject([
            ("type", .string("send_message")), ("chatId", .string(chatID)),
            ("encryptedText", .string(encryptedText)), ("shaHash", .string(hex(hash))),
            ("replyTo", (reply?.object).map { .object($0) }),
        ])
    }

    init(chatID: String, encryptedText: String, hash: [UInt8], reply: Reply?) {
        self.chatID = chatID
        self.encryptedText = encryptedText
        self.hash = hash
        self.reply = reply
        claims = Claims([:])
    }

    /// Reads a record: `send_message`, as the app writes it, or one of the documented events `sendMessage` and
    /// `new_message`. Their members other than `type` may be in a member `payload`. Those of `new_message` are `chatId` and
    /// `message`. Returns `nil` if it is malformed.
    public init?(record: JSONObject) {
        guard let type = record["type"]?.string else { return nil }
        var members = record
        if let payload = record["payload"] {
            guard let object = payload.object, record["encryptedText"] == nil,
                record["message"] == nil
            else { return nil }
            members = object
        }
        switch type {
        case "send_message", "sendMessage": claims = Claims([:])
        case "new_message":
            guard var message = members["message"]?.object else { return nil }
            message["chatId"] = members["chatId"]
            claims = Claims(message)
            members = message
        default: return nil
        }
        let fields = Fields<FieldError>(members)
        do throws(FieldError) {
            let isGlobal = try fields["chatId"].text().isSameBytes(as: ShainyChat.globalID)
            chatID =
                isGlobal ? ShainyChat.globalID : hex(try fields["chatId"].hexBytes(count: 32))
            encryptedText = try fields["encryptedText"].text()
            hash = try fields["shaHash"].hexBytes(count: 32)
            reply = try fields["replyTo"].nullable?.object(Reply.init)
        } catch {
            return nil
        }
    }
}
