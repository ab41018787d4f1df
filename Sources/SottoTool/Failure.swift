/// The end of a tool's work that is not success: what people read, and what scripts test.
///
/// A message never holds input bytes, keys or plaintext.
public struct Failure: Error, Sendable {
    /// The status to exit with.
    public let status: ExitStatus
    /// What went wrong, without the tool's name; empty for an honest no that needs no words.
    public let message: String
    /// What to do about it.
    public let hint: String?

    /// A failure; `message` begins in lower case and has no full stop.
    public init(_ status: ExitStatus, _ message: String, hint: String? = nil) {
        self.status = status
        self.message = message
        self.hint = hint
    }

    /// The reader has closed the pipe: the tool ends by SIGPIPE and prints nothing.
    static let closedPipe = Failure(.closedPipe, "")

    static let binaryOnTerminal = Failure(
        .usage, "refusing to write binary data to the terminal",
        hint: "redirect it, name a file with -o, or force it with -o -")
}

extension Failure {
    /// The failure of a system call on something that people know as `name`.
    public init(errno code: Int32, _ doing: String, _ name: String) {
        let (status, hint) = Self.meaning(of: code, isReading: doing.utf8.starts(with: "read".utf8))
        self.init(status, "cannot \(doing) \(name): \(Self.text(of: code))", hint: hint)
    }
}
