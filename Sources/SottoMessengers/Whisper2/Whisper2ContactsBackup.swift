public import Sotto

/// The encrypted backup of a Whisper2 account's contacts: a `secretbox` under a key that is derived from the words.
public struct Whisper2ContactsBackup: Sendable, Hashable {
    /// The nonce, 24 bytes.
    public let nonce: [UInt8]
    /// The box: tag (16 bytes) ‖ ciphertext.
    public let box: [UInt8]

    /// Encrypts the contacts, which are JSON, under a fresh nonce.
    public init(sealing contacts: [UInt8], with keys: Whisper2Keys) {
        let nonce = randomBytes(24)
        self.nonce = nonce
        box = keys.withContactsKey { NaClBox.seal(contacts, nonce: nonce, key: $0) }
    }

    /// Reads the HTTP form, `{"nonce","ciphertext"}` in base64.
    public init(record: JSONObject) throws(Whisper2RecordError) {
        let fields = Whisper2Fields(record)
        nonce = try fields["nonce"].bytes(count: 24)
        box = try fields["ciphertext"].bytes { $0 >= 16 }
    }

    /// Reads the file form, nonce ‖ box, or returns `nil` if it is too short.
    public init?(file: [UInt8]) {
        guard file.count >= 24 + 16 else { return nil }
        nonce = Array(file[..<24])
        box = Array(file[24...])
    }

    /// The HTTP form.
    public var record: JSONObject {
        [
            "nonce": .base64(nonce),
            "ciphertext": .base64(box),
        ]
    }

    /// The file form.
    public var file: [UInt8] { nonce + box }

    /// Returns the contacts, or `nil` if the box was made with other words.
    public func open(with keys: Whisper2Keys) -> [UInt8]? {
        keys.withContactsKey { NaClBox.open(box, nonce: nonce, key: $0) }
    }
}
