import CSodium

/// Why a text of SHAiny is not made or opened.
public enum ShainyError: Error, Sendable, Equatable {
    /// Another phrase, or damaged: shape, padding, tag and hash are one answer.
    case authentication
    /// The channel's phrase is known to everybody, and that was not asked for.
    case publicChannel
}

/// A chat of SHAiny, which is its phrase: the key is SHA-256 of the phrase's bytes as they were typed.
///
/// For exchange with that messenger alone. Its chat id **is** the key, and goes to its server; one fast hash guards
/// the phrase; CBC is not authenticated, and the hash of the plaintext beside it, which tells equal texts, is
/// no authentication either: who knows a text can forge its first block. Nothing says who wrote a text, or
/// that it is not an old one. One key lasts as long as the phrase, and random nonces limit it to 2³² texts.
/// ``PhraseKey`` is the form without these flaws.
public final class ShainyChat: Sendable {
    /// The phrase of the channel that everybody reads and writes.
    public static let globalPhrase = "AnnouncementsSHAinyChat"
    /// Its id.
    public static let globalID = "global-announcements"

    private let key: SecretBytes
    /// Whether this is the channel whose phrase everybody knows: what is written there is not confidential.
    public let isPublic: Bool

    /// The chat of a phrase: its bytes, neither trimmed nor normalised.
    public init(phrase: borrowing SecretBytes) {
        Sodium.start()
        key = SecretBytes(count: 32) { memory in
            _ = phrase.withPointer {
                crypto_hash_sha256(
                    memory.baseAddress!.assumingMemoryBound(to: UInt8.self), $0,
                    UInt64(phrase.count))
            }
        }
        isPublic = phrase.withBytes { $0.elementsEqual(Self.globalPhrase.utf8) }
    }

    /// The chat of a key, 32 bytes, that was kept.
    init(key: consuming SecretBytes) {
        isPublic = key.withBytes { $0.elementsEqual(sha256(Array(Self.globalPhrase.utf8))) }
        self.key = key
    }

    /// The channel whose phrase everybody knows.
    public static let global = ShainyChat(phrase: SecretBytes(copying: globalPhrase.utf8))

    /// The key, to be kept.
    func keyBytes() -> [UInt8] { key.withBytes { Array($0) } }

    /// The chat's id, 64 hexadecimal digits: **the key itself**, to be treated as such. The public channel's is
    /// ``globalID``.
    public func id() -> String { isPublic ? Self.globalID : key.withBytes { hex($0) } }

    // MARK: Messages

    /// What goes beside a text.
    public enum Hash: Sendable {
        /// SHA-256 of the plaintext: its readers want it, and it tells them, and the server, which texts are equal.
        case plaintext
        /// 32 zero bytes, for readers that do not check.
        case hidden
    }

    /// Encrypts a text: in the CBC form that is documented, or in the GCM form that the program writes.
    ///
    /// Throws ``ShainyError/publicChannel`` for the public channel, unless `toPublic`.
    public func seal(
        _ plaintext: [UInt8], reply: ShainyMessage.Reply? = nil, hash: Hash = .plaintext,
        gcm: Bool = false, toPublic: Bool = false
    ) throws(ShainyError) -> ShainyMessage {
        guard !isPublic || toPublic else { throw .publicChannel }
        return ShainyMessage(
            chatID: id(), encryptedText: encrypt(plaintext, gcm: gcm),
            hash: hash == .plaintext ? sha256(plaintext) : Self.hiddenHash, reply: reply)
    }

    /// The text of a message of this chat. Nothing is given out before the hash was compared.
    ///
    /// A hidden hash is taken only where `allowingHiddenHash`: with it a text in the CBC form is not protected
    /// against changes at all. Throws ``ShainyError/authentication``.
    public func open(
        _ message: ShainyMessage, allowingHiddenHash: Bool = false
    ) throws(ShainyError) -> [UInt8] {
        guard constantTimeEqual(Array(message.chatID.utf8), Array(id().utf8)) else {
            throw .authentication
        }
        return try open(
            message.encryptedText, hash: message.hash, allowingHiddenHash: allowingHiddenHash)
    }

    /// As ``open(_:allowingHiddenHash:)``, from a text and the hash (32 bytes) beside it.
    public func open(
        _ text: String, hash: [UInt8], allowingHiddenHash: Bool = false
    ) throws(ShainyError) -> [UInt8] {
        guard let form = TextForm(text) else { throw .authentication }
        // Both are done in any case, and answered together.
        let opened = decrypt(form)
        let isTrue = constantTimeEqual(sha256(opened.message), hash)
        let isHidden = constantTimeEqual(hash, Self.hiddenHash)
        let checks = [opened.isValid, isTrue || (isHidden && allowingHiddenHash)]
        guard !checks.contains(false) else { throw .authentication }
        return opened.message
    }

    private static let hiddenHash = [UInt8](repeating: 0, count: 32)

    // MARK: Texts without a hash

    /// Encrypts a text that has no hash beside it: a quotation, or the name of a chat.
    public func encrypt(_ plaintext: [UInt8], gcm: Bool = false) -> String {
        encrypt(plaintext, gcm: gcm, nonce: randomBytes(gcm ? 12 : 16))
    }

    func encrypt(_ plaintext: [UInt8], gcm: Bool, nonce: [UInt8]) -> String {
        if gcm {
            let box = AESGCM.seal(plaintext, nonce: nonce, key: key.symmetricKey())
            return [
                hex(nonce), hex(box[AESGCM.nonceSize..<(box.count - AESGCM.tagSize)]),
                hex(box.suffix(AESGCM.tagSize)),
            ].joined(separator: ":")
        }
        return hex(nonce) + ":" + hex(AESCBC.encrypt(plaintext, iv: nonce, key: key))
    }

    /// A text that has no hash beside it. In the CBC form only its padding could be checked: **it may be anybody's**.
    ///
    /// Throws ``ShainyError/authentication``, also for what is not UTF-8.
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
            guard let message = AESGCM.open(combined, key: key.symmetricKey()) else {
                return ([], false)
            }
            return (message, true)
        }
    }

    /// A text as it is written: `hex(iv):hex(ciphertext)`, or `hex(nonce):hex(ciphertext):hex(tag)`.
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

/// A message as SHAiny's server takes it. Its chat id is the chat's key, so the record is as secret as that.
public struct ShainyMessage: Sendable {
    /// The chat's id: 64 hexadecimal digits in lower case, or ``ShainyChat/globalID``.
    public let chatID: String
    /// The encrypted text.
    public let encryptedText: String
    /// What is said to be SHA-256 of the plaintext, 32 bytes.
    public let hash: [UInt8]
    /// What is quoted.
    public let reply: Reply?

    /// What a message quotes. The writer of the message chose all of it: it proves nothing about what was quoted.
    public struct Reply: Sendable {
        /// The quoted message's id.
        public let messageID: String
        /// The quoted text, encrypted; see ``ShainyChat/unverifiedText(_:)``.
        public let encryptedText: String
        /// The name of who is said to have written it.
        public let senderName: String
        /// When it was said, in milliseconds since 1970.
        public let milliseconds: Int64

        /// A quotation of these parts.
        public init(
            messageID: String, encryptedText: String, senderName: String, milliseconds: Int64
        ) {
            self.messageID = messageID
            self.encryptedText = encryptedText
            self.senderName = senderName
            self.milliseconds = milliseconds
        }

        fileprivate init?(_ object: JSONObject) {
            guard let id = object["messageId"]?.string, let text = object["text"]?.string,
                let name = object["senderName"]?.string, let time = object["timestamp"]?.integer
            else { return nil }
            self.init(messageID: id, encryptedText: text, senderName: name, milliseconds: time)
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
    }

    /// Reads a record, also in the documented form, which has all but `type` in a member `payload`; `nil` for one
    /// that is not of its form.
    public init?(record: JSONObject) {
        guard record["type"]?.string == "send_message" else { return nil }
        var members = record
        if let payload = record["payload"] {
            guard let object = payload.object, record["encryptedText"] == nil else { return nil }
            members = object
        }
        guard let id = members["chatId"]?.string, let text = members["encryptedText"]?.string,
            let hash = members["shaHash"]?.string.flatMap({ bytes(hex: $0) }), hash.count == 32
        else { return nil }
        if id.isSameBytes(as: ShainyChat.globalID) {
            chatID = id
        } else {
            guard let bytes = bytes(hex: id), bytes.count == 32 else { return nil }
            chatID = hex(bytes)
        }
        switch members["replyTo"] {
        case nil, .null: reply = nil
        case .object(let object):
            guard let reply = Reply(object) else { return nil }
            self.reply = reply
        default: return nil
        }
        encryptedText = text
        self.hash = hash
    }
}
