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
    /// A receipt for a message that the owner sent.
    case receiptForOwn
    /// The sender of the message allowed no copy.
    case notForwardable
    /// The message is of a type that this version does not know.
    case unsupported
    /// The text is not one emoji.
    case notEmoji
}

extension TargetError: FailureError {
    /// The number of ids that an error lists.
    private static let listed = 8

    var failure: Failure {
        switch self {
        case .unknown(let text):
            Failure(
                .noInput, "the history has no message \(text)",
                hint: "list the messages with their ids: sotto history --limit 20")
        case .ambiguous(let text, let ids):
            Failure(
                .usage, "\(text) is the beginning of several ids: \(Self.listing(ids))",
                hint: "write more of the id")
        case .noConversation(let text):
            Failure(
                .usage, "\(text) counts back in a conversation",
                hint: "name the conversation: --with WHO")
        case .tooFar(let text, let name, let count):
            Failure(
                .noInput,
                "\(text) is not in the conversation with \(name): it has \(count) "
                    + (count == 1 ? "message" : "messages"))
        case .deleted(let text):
            Failure(.noInput, "the content of the message \(text) was deleted")
        case .notContent(let text, let type):
            Failure(
                .usage,
                "\(text) is not a message with content: its type is \(Self.shown(type))")
        case .inChat:
            Failure(
                .usage, "the messages of a chat have no authenticated authors to refer to",
                hint: "write a new message to the chat")
        case .unknownSender:
            Failure(.untrusted, "the sender of the message is not authenticated")
        case .foreignID:
            Failure(.usage, "the message is of another messenger and has no id to refer to")
        case .editOfAnother:
            Failure(.permission, "only the author of a message can edit it")
        case .deletionOfAnother(let id):
            Failure(
                .permission, "only the author of a message can delete it for both sides",
                hint: "delete it here only: sotto history delete \(shellWord(id))")
        case .receiptForOwn:
            Failure(.usage, "the message is your own: a receipt is for received messages")
        case .notForwardable:
            Failure(
                .permission, "the message has a time to live of 0 and cannot be forwarded")
        case .unsupported:
            Failure(.usage, "the type of the message is unknown and cannot be forwarded")
        case .notEmoji: Failure(.usage, "a reaction must be one emoji")
        }
    }

    private static func listing(_ ids: [String?]) -> String {
        let known = ids.compactMap(\.self)
        return known.prefix(listed).joined(separator: ", ") + (known.count > listed ? ", …" : "")
    }

    /// Returns the name of a type if it is short and on one line.
    private static func shown(_ type: String) -> String {
        (1...32).contains(type.utf8.count) && type.isPlainLine ? type : "unknown"
    }
}
