public import Sotto

/// A Whisper2 group message as its sender submits it: one frame with a box for each member.
///
/// The signatures cover the group's id, not the member's. The apps give all members one pointer to an attachment, with
/// the file's key in a box that only one of them can open. Here each recipient has their own pointer, in their element
/// of `recipients`. The apps' server does not accept unknown members there.
public struct Whisper2GroupMessage: Sendable, Hashable {
    /// The highest number of recipients: 50 members without the sender.
    public static let memberLimit = 49

    /// One message for each member, in order.
    public let messages: [Whisper2Message]

    /// Joins messages of one sender to members of a group. They must have the same id, time and group.
    init(joining messages: [Whisper2Message]) throws(Whisper2SealError) {
        guard (1...Self.memberLimit).contains(messages.count) else {
            throw .recipientCount(messages.count)
        }
        guard Set(messages.map(\.to)).count == messages.count else { throw .duplicateRecipient }
        let first = messages[0].frame
        guard
            messages.allSatisfy({
                let frame = $0.frame
                return frame.type == .groupSendMessage && frame.id == first.id
                    && frame.from == first.from && frame.to == first.to && frame.time == first.time
            })
        else { throw .field("groupId") }
        self.messages = messages
    }

    /// Reads a `group_send_message`.
    public init(record: JSONObject) throws(Whisper2RecordError) {
        let fields = Whisper2Fields(record)
        try fields.requireVersions()
        let group = try fields["groupId"].text(limit: 255)
        guard let recipients = record["recipients"]?.array else { throw .member("recipients") }
        guard (1...Self.memberLimit).contains(recipients.count) else {
            throw .recipientCount(recipients.count)
        }
        let hints = try Whisper2Hints(record: record)
        var messages: [Whisper2Message] = []
        for recipient in recipients {
            guard var own = recipient.object else { throw .member("recipients") }
            let attachment = try Whisper2Fields(own).attachment() ?? hints.attachment
            for name in ["messageId", "from", "timestamp"] { own[name] = record[name] }
            messages.append(
                Whisper2Message(
                    frame: try Whisper2Frame(
                        record: own, type: .groupSendMessage, idName: "messageId", to: group),
                    to: try Whisper2Fields(own)["to"].whisperID(),
                    untrusted: hints.with(attachment)))
        }
        guard Set(messages.map(\.to)).count == messages.count else { throw .duplicateRecipient }
        self.messages = messages
    }

    /// The record. A pointer that all members share is written once, outside `recipients`.
    public var record: JSONObject {
        let first = messages[0]
        let attachments = Set(messages.map(\.untrusted.attachment))
        let shared = attachments.count == 1 ? first.untrusted.attachment : nil
        let recipients = messages.map { message -> JSON in
            let own = message.untrusted.attachment
            return .object(
                JSONObject(
                    [("to", .string(message.to.description))]
                        + message.frame.members.filter { $0.0 != "timestamp" }
                        + [
                            ("attachment", shared == nil ? own.map { .object($0.record) } : nil)
                        ]))
        }
        return JSONObject(
            [
                ("protocolVersion", .integer(1)), ("cryptoVersion", .integer(1)),
                ("groupId", .string(first.frame.to)), ("messageId", .string(first.id)),
                ("from", .string(first.frame.from.description)),
                ("msgType", .string(first.untrusted.kind.rawValue)),
                ("timestamp", .integer(first.frame.time)), ("recipients", .array(recipients)),
            ] + first.untrusted.with(shared).members)
    }

    /// Returns the message for a member, or `nil` for any other account.
    public func message(to account: WhisperID) -> Whisper2Message? {
        messages.first { $0.to == account }
    }
}
