import Sotto

extension FuzzTarget {
    /// A message of SHAiny; the bytes as a text of its chat, and as a plaintext.
    static let shainy = FuzzTarget("shainy") { bytes in
        if let record = object(bytes), let message = ShainyMessage(record: record) {
            precondition(ShainyMessage(record: message.record)?.record == message.record)
            _ = try? chat.open(message)
            _ = try? chat.open(message, allowingHiddenHash: true)
        }
        _ = try? chat.unverifiedText(String(decoding: bytes, as: UTF8.self))
        guard let message = try? chat.seal(bytes, gcm: bytes.count.isMultiple(of: 2)),
            (try? chat.open(message)) == bytes
        else { preconditionFailure("a message is not read as it was written") }
    }

    /// The chat of the inputs.
    private static let chat = ShainyChat(phrase: SecretBytes(copying: "fuzz".utf8))
}
