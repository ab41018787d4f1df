public import Sotto

/// The location of a Whisper2 attachment, with its key in a box for one recipient.
public struct Whisper2AttachmentPointer: Sendable, Hashable {
    /// The blob's name in the server's store.
    public let objectKey: String
    /// The claimed type of the file, such as `image/jpeg`.
    public let contentType: String
    /// The length of the blob in bytes.
    public let ciphertextSize: Int64
    /// The claimed nonce of the blob, 24 bytes. Readers use the blob's own nonce: an iPhone writes another one here.
    public let fileNonce: [UInt8]
    /// The nonce of the key's box, 24 bytes.
    public let keyNonce: [UInt8]
    /// The key's box: 60 bytes in the clients' form, where the key is base64 text, or 48 bytes in the specification's
    /// form.
    public let keyBox: [UInt8]

    /// Creates a pointer to a blob, with its 32-byte key in a box for `contact`.
    ///
    /// The owner of the contact's X25519 key can open the box. The box does not prove its sender to them, because they
    /// could have made it themselves.
    public init(
        objectKey: String, contentType: String, ciphertextSize: Int64, fileNonce: [UInt8],
        fileKey: borrowing SecretBytes, with keys: Whisper2Keys, to contact: Whisper2Contact
    ) throws(Whisper2SealError) {
        guard isWhisper2Text(objectKey) else { throw .field("objectKey") }
        guard isWhisper2Text(contentType, limit: 100) else { throw .field("contentType") }
        guard Whisper2Frame.times.contains(ciphertextSize) else { throw .field("ciphertextSize") }
        guard fileNonce.count == 24 else { throw .field("fileNonce") }
        guard fileKey.count == 32 else { throw .field("fileKey") }
        guard let shared = keys.sharedKey(contact.encryptionKey) else { throw .recipientKey }
        self.objectKey = objectKey
        self.contentType = contentType
        self.ciphertextSize = ciphertextSize
        self.fileNonce = fileNonce
        var key = fileKey.withBytes { Array($0) }
        defer { wipe(&key) }
        var text = Base64.standard.encodeBytes(key)
        defer { wipe(&text) }
        keyNonce = randomBytes(24)
        keyBox = NaClBox.seal(text, nonce: keyNonce, key: shared)
    }

    /// Reads a pointer. Throws ``Whisper2RecordError``.
    public init(record: JSONObject) throws(Whisper2RecordError) {
        let fields = Whisper2Fields(record)
        objectKey = try fields["objectKey"].text(limit: 255)
        contentType = try fields["contentType"].text(limit: 100)
        ciphertextSize = try fields["ciphertextSize"].integer(in: Whisper2Frame.times)
        fileNonce = try fields["fileNonce"].bytes(count: 24)
        let box = try fields["fileKeyBox"].members()
        keyNonce = try box["nonce"].bytes(count: 24)
        keyBox = try box["ciphertext"].bytes { $0 == 16 + 44 || $0 == 16 + 32 }
    }

    /// The record.
    public var record: JSONObject {
        [
            "objectKey": .string(objectKey), "contentType": .string(contentType),
            "ciphertextSize": .integer(ciphertextSize),
            "fileNonce": .base64(fileNonce),
            "fileKeyBox": .object([
                "nonce": .base64(keyNonce),
                "ciphertext": .base64(keyBox),
            ]),
        ]
    }

    /// Returns the file's key, 32 bytes, from a box that `sender` made for the user, in either form.
    public func fileKey(
        with keys: Whisper2Keys, from sender: Whisper2Contact
    ) throws(Whisper2OpenError) -> SecretBytes {
        guard let shared = keys.sharedKey(sender.encryptionKey),
            var key = NaClBox.open(keyBox, nonce: keyNonce, key: shared)
        else { throw .authentication }
        defer { wipe(&key) }
        if key.count == 44 {
            guard var decoded = Base64.standard.decode(utf8: key[...]) else {
                throw .authentication
            }
            swap(&decoded, &key)
            wipe(&decoded)
        }
        guard key.count == 32 else { throw .authentication }
        return SecretBytes(copying: key)
    }
}
