/// An unsuccessful end of a tool: a message for users and a status for scripts.
///
/// A message never contains input bytes, keys or plaintext.
public struct Failure: Error, Sendable {
    /// The status to exit with.
    public let status: ExitStatus
    /// The error message without the tool's name; empty for a negative result without a message.
    public let message: String
    /// The text of the hint.
    public let hint: String?

    /// Creates a failure. `message` begins in lower case and has no full stop.
    public init(_ status: ExitStatus, _ message: String, hint: String? = nil) {
        self.status = status
        self.message = message
        self.hint = hint
    }

    /// The output pipe was closed: the tool ends by SIGPIPE and prints nothing.
    static let closedPipe = Failure(.closedPipe, "")

    static let binaryOnTerminal = Failure(
        .usage, "refusing to write binary data to the terminal",
        hint: "redirect it, name a file with -o, or force it with -o -")
}

extension Failure {
    /// Creates the failure of a system call on the object `name`.
    public init(errno code: Int32, _ doing: String, _ name: String) {
        let (status, hint) = Self.meaning(of: code, isReading: doing.utf8.starts(with: "read".utf8))
        self.init(status, "cannot \(doing) \(name): \(Self.text(of: code))", hint: hint)
    }
}
