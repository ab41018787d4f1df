import Sotto
import SottoTool

/// A reason to refuse a target.
enum TargetError: Error, Equatable {
    /// No message has this id.
    case unknown(String)
    /// The beginning of several ids.
    case ambiguous(String, [String?])
    /// A negative number without `--with`.
    case noConversation(String)
    /// The conversation has only this many messages.
    case tooFar(String, String, Int)
    /// The content is gone.
    case deleted(String)
    /// The message has this type, which is not content.
    case notContent(String, String)
    /// The messages of a chat have no authenticated authors.
    case inChat
    /// The sender of the message is not authenticated.
    case unknownSender
    /// The message is of another messenger.
    case foreignID
    /// Only the author of a message can edit it.
    case editOfAnother
    /// Only the author of a message can delete it on both sides.
    case deletionOfAnother(String)
    /// A receipt for a message of one's own.
    case receiptForOwn
    /// The sender of the message allowed no copy.
    case notForwardable
    /// The message is of a type that this version does not know.
    case unsupported
    /// The text is not one emoji.
    case notEmoji
}

extension TargetError: ReportableError {
    /// The number of ids that an error lists.
    private static let listed = 8

    var message: String {
        switch self {
        case .unknown(let text): return "the history has no message \(text)"
        case .ambiguous(let text, let ids):
            let known = ids.compactMap(\.self)
            let shown = known.prefix(Self.listed).joined(separator: ", ")
            return "\(text) is the beginning of several ids: \(shown)"
                + (known.count > Self.listed ? ", …" : "")
        case .noConversation(let text): return "\(text) counts back in a conversation"
        case .tooFar(let text, let name, let count):
            return "\(text) is not in the conversation with \(name): it has \(count) "
                + (count == 1 ? "message" : "messages")
        case .deleted(let text): return "the content of the message \(text) was deleted"
        case .notContent(let text, let type):
            return "\(text) is not a message with content: its type is \(Self.shown(type))"
        case .inChat: return "the messages of a chat have no authenticated authors to refer to"
        case .unknownSender: return "the sender of the message is not authenticated"
        case .foreignID: return "the message is of another messenger and has no id to refer to"
        case .editOfAnother: return "only the author of a message can edit it"
        case .deletionOfAnother: return "only the author of a message can delete it for both sides"
        case .receiptForOwn: return "the message is your own: a receipt is for received messages"
        case .notForwardable: return "the message has a time to live of 0 and cannot be forwarded"
        case .unsupported: return "the type of the message is unknown and cannot be forwarded"
        case .notEmoji: return "a reaction must be one emoji"
        }
    }

    var hint: String? {
        switch self {
        case .unknown: "list the messages with their ids: sotto history --limit 20"
        case .ambiguous: "write more of the id"
        case .noConversation: "name the conversation: --with WHO"
        case .deletionOfAnother(let id):
            "delete it here only: sotto history delete \(shellWord(id))"
        case .inChat: "write a new message to the chat"
        case .tooFar, .deleted, .notContent, .unknownSender, .foreignID, .editOfAnother,
            .receiptForOwn, .notForwardable, .unsupported, .notEmoji:
            nil
        }
    }

    var status: Int32 {
        let status: ExitStatus =
            switch self {
            case .unknown, .tooFar, .deleted: .noInput
            case .unknownSender: .untrusted
            case .editOfAnother, .deletionOfAnother, .notForwardable: .permission
            case .ambiguous, .noConversation, .notContent, .inChat, .foreignID, .receiptForOwn,
                .unsupported, .notEmoji:
                .usage
            }
        return status.rawValue
    }

    /// Returns the name of a type if it is short and on one line.
    private static func shown(_ type: String) -> String {
        (1...32).contains(type.utf8.count) && type.isPlainLine ? type : "unknown"
    }
}
