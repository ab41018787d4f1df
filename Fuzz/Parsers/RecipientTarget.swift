import Sotto

extension FuzzTarget {
    /// The text forms of age keys, and other short texts: ids, times, hexadecimal.
    static let recipient = FuzzTarget("recipient") { bytes in
        let text = String(decoding: bytes, as: UTF8.self)
        if let recipient = AgeRecipient(text) {
            precondition(AgeRecipient(recipient.text) == recipient)
        }
        _ = AgeIdentity(text)
        if let id = SessionID(text) { precondition(SessionID(id.description) == id) }
        if let time = Timestamp(text) { precondition(Timestamp(time.description) == time) }
        if let value = Sotto.bytes(hex: text) { precondition(hex(value) == text.lowercased()) }
    }
}
