import Sotto
import SottoMessengers

extension FuzzTarget {
    /// A message of SHAiny. The bytes are also read as a text of its chat, and encrypted as a plaintext.
    static let shainy = FuzzTarget("shainy") { bytes in
        if let record = object(bytes), let message = ShainyMessage(record: record) {
            precondition(ShainyMessage(record: message.record)?.record == message.record)
            _ = try? shainyChat.open(message)
            _ = try? shainyChat.open(message, allowingHiddenHash: true)
        }
        _ = try? shainyChat.unverifiedText(String(decoding: bytes, as: UTF8.self))
        guard let message = try? shainyChat.seal(bytes, gcm: bytes.count.isMultiple(of: 2)),
            (try? shainyChat.open(message)) == bytes
        else { preconditionFailure("cannot open a message that was sealed") }
    }

    /// The chat of the inputs.
    private static let shainyChat = ShainyChat(phrase: SecretBytes(copying: "fuzz".utf8))
}
