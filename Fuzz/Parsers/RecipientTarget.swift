import Sotto

extension FuzzTarget {
    /// The text forms of age keys, and other short texts: ids, times, hexadecimal, base64.
    static let recipient = FuzzTarget("recipient") { bytes in
        let text = String(decoding: bytes, as: UTF8.self)
        if let recipient = AgeRecipient(text) {
            precondition(AgeRecipient(recipient.text) == recipient)
        }
        _ = AgeIdentity(text)
        if let id = KeyID(text) { precondition(KeyID(id.description) == id) }
        if let time = Timestamp(text) { precondition(Timestamp(time.description) == time) }
        for base64 in [Base64.standard, .raw, .url] {
            if let value = base64.decode(text) { precondition(base64.encode(value) == text) }
        }
        if let value = Sotto.bytes(hex: text) { precondition(hex(value) == text.lowercased()) }
    }
}
