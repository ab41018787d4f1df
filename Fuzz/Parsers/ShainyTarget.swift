import Sotto

extension FuzzTarget {
    /// A message of SHAiny; the bytes as a text of its chat, and as a plaintext.
    static let shainy = FuzzTarget("shainy") { bytes in
        if let record = object(bytes), let message = ShainyMessage(record: record) {
            precondition(ShainyMessage(record: message.record)?.record == message.record)
            _ = try? shainyChat.open(message)
            _ = try? shainyChat.open(message, allowingHiddenHash: true)
        }
        _ = try? shainyChat.unverifiedText(String(decoding: bytes, as: UTF8.self))
        guard let message = try? shainyChat.seal(bytes, gcm: bytes.count.isMultiple(of: 2)),
            (try? shainyChat.open(message)) == bytes
        else { preconditionFailure("a message is not read as it was written") }
    }

    /// The chat of the inputs.
    private static let shainyChat = ShainyChat(phrase: SecretBytes(copying: "fuzz".utf8))
}
