/// The encrypted backup of a Whisper2 account's contacts: a `secretbox` under a key that the words give.
public struct Whisper2ContactsBackup: Sendable, Hashable {
    /// The nonce, 24 bytes.
    public let nonce: [UInt8]
    /// The box: tag (16 bytes) ‖ ciphertext.
    public let box: [UInt8]

    /// Seals the contacts, which are JSON, under a fresh nonce.
    public init(sealing contacts: [UInt8], with keys: Whisper2Keys) {
        let nonce = randomBytes(24)
        self.nonce = nonce
        box = keys.withContactsKey { NaClBox.seal(contacts, nonce: nonce, key: $0) }
    }

    /// Reads the form of the HTTP interface, `{"nonce","ciphertext"}` in base64.
    public init(record: JSONObject) throws(Whisper2RecordError) {
        let members = Whisper2Members(record: record)
        nonce = try members.bytes("nonce") { $0 == 24 }
        box = try members.bytes("ciphertext") { $0 >= 16 }
    }

    /// Reads the form of a file, nonce ‖ box; `nil` when it is too short to be one.
    public init?(file: [UInt8]) {
        guard file.count >= 24 + 16 else { return nil }
        nonce = Array(file[..<24])
        box = Array(file[24...])
    }

    /// The form of the HTTP interface.
    public var record: JSONObject {
        [
            "nonce": .string(Base64.standard.encode(nonce)),
            "ciphertext": .string(Base64.standard.encode(box)),
        ]
    }

    /// The form of a file.
    public var file: [UInt8] { nonce + box }

    /// The contacts; `nil` when the box is not one of these words.
    public func open(with keys: Whisper2Keys) -> [UInt8]? {
        keys.withContactsKey { NaClBox.open(box, nonce: nonce, key: $0) }
    }
}
