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
