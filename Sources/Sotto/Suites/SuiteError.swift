/// A reason why a suite without a session cannot make or open a message.
public enum SuiteError: Error, Sendable, Equatable {
    /// The message cannot be opened. All of these suites hide the cause, because an attacker who can submit messages
    /// and learns why they are refused can learn keys and texts.
    case refused
    /// The format carries only text.
    case textOnly
    /// The message is longer than the suite's limit, in bytes.
    case tooLong(limit: Int)
    /// No chat was named.
    case noChat
    /// More than one chat was named, but a message goes to only one.
    case severalChats
}

extension SuiteError: ReportableError {
    /// The message for the user.
    public var message: String {
        switch self {
        case .refused: "the message cannot be opened"
        case .textOnly: "the format carries only text"
        case .tooLong(let limit): "the message is longer than the suite's limit (\(limit) bytes)"
        case .noChat: "the suite needs a chat"
        case .severalChats: "a message can go to only one chat"
        }
    }

    /// The hint for the user, or `nil`.
    public var hint: String? {
        switch self {
        case .refused:
            "it was changed, or the key, the chat or the sender's keys are wrong"
        case .textOnly, .severalChats: nil
        case .tooLong: "split it, or write a file with -r in place of --to"
        case .noChat: "name its file with --chat; to make one: keygen chat -o family.chat"
        }
    }

    /// The exit status.
    public var status: Int32 {
        switch self {
        case .refused: 11
        case .textOnly, .tooLong: 65
        case .noChat, .severalChats: 64
        }
    }
}
