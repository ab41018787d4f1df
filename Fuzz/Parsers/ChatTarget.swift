import Sotto
import SottoMessengers

extension FuzzTarget {
    /// The record of a chat, or the record of a chat's name.
    static let chat = FuzzTarget("chat") { bytes in
        guard let record = object(bytes) else { return }
        if let chat = try? Chat(record: record) {
            precondition((try? Chat(record: chat.record))?.record == chat.record)
        }
        if let chat = try? MessengerChat(record: record) {
            precondition((try? MessengerChat(record: chat.record))?.record == chat.record)
            for name in [chat.chat.nameRecord, try? chat.shainyNameRecord()].compactMap(\.self) {
                precondition((try? chat.name(in: name))?.text == chat.chat.name)
            }
        }
        _ = try? ownChat?.name(in: record)
    }

    /// The chat of the inputs. Its phrase is "fuzz fuzz fuzz".
    private static let ownChat = try? MessengerChat(record: [
        "v": .integer(1), "type": .string("chat"), "name": .string("fuzz"),
        "id": .string("eb777d62c819eec406dc3c1c2edb19a0c9fc569a191247ed8a48e4c34121721c"),
        "root": .string("ZuFdgp0u7oiYFsjg4CcXnD+ZEFYximwgvazCdVM5LEo="),
        "shainy": .string("Ql5oh9L8XRwM1i85b93kjWnhol3dLS7S4Q3LVP1bSw0="),
        "strength": .integer(9),
    ])
}
