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
    /// Whether an earlier program of the pipe has printed the message.
    package var isTold = false

    /// Creates a failure. `message` begins in lower case and has no full stop. A bug has a hint in any case.
    public init(_ status: ExitStatus, _ message: String, hint: String? = nil) {
        self.status = status
        self.message = message
        self.hint = hint ?? (status == .bug ? Self.reportHint : nil)
    }

    private static let reportHint = "this is a bug; please report it with the command that you ran"
}

extension Failure {
    /// Creates the failure of a system call on the object `name`.
    public init(errno code: Int32, _ doing: String, _ name: String) {
        let (status, hint) = Self.meaning(of: code, isReading: doing.utf8.starts(with: "read".utf8))
        self.init(status, "cannot \(doing) \(name): \(Self.text(of: code))", hint: hint)
    }
}

extension Failure {
    /// The failure for a variable of the environment that is not UTF-8.
    public static func notUTF8(variable name: String) -> Failure {
        Failure(
            .configuration, "the environment variable \(name) is not UTF-8",
            hint: "set it to a path in UTF-8, for example a link to the directory")
    }
}

/// An error of a module that contains its own report, in one `switch` without `default`.
public protocol FailureError: Error {
    /// The report: the message, the hint and the exit status.
    var failure: Failure { get }
}
