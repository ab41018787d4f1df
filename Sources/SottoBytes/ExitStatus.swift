/// The exit statuses of every tool, as in the table of each manual page.
public enum ExitStatus: Int32, Sendable, CaseIterable {
    /// Success.
    case done = 0
    /// A negative result without an error.
    case no = 1
    /// No key matches.
    case noKey = 10
    /// Authentication failed, or the input is truncated.
    case authentication = 11
    /// An untrusted or changed key, or not the required signer.
    case untrusted = 12
    /// A replay: an id that was seen with different content.
    case replay = 13
    /// A comparison that does not match.
    case mismatch = 14
    /// Some lines or recipients failed; the records list them.
    case partial = 15
    /// The command line is wrong.
    case usage = 64
    /// Malformed input.
    case malformed = 65
    /// No such input.
    case noInput = 66
    /// The relay cannot be reached, or closed the connection.
    case unavailable = 69
    /// A bug in the tool.
    case bug = 70
    /// The output cannot be created.
    case cannotCreate = 73
    /// Reading or writing failed.
    case ioError = 74
    /// Try again later; the input is stored.
    case tryAgain = 75
    /// Permission denied.
    case permission = 77
    /// A configuration error.
    case configuration = 78
    /// A closed pipe: the tool was ended by SIGPIPE.
    case closedPipe = 141
}
