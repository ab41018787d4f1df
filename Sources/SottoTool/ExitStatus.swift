/// The exit statuses of every tool; the table in each manual page is this one.
public enum ExitStatus: Int32, Sendable, CaseIterable {
    /// Done.
    case done = 0
    /// An honest no: nothing received, no code in the picture.
    case no = 1
    /// No key fits.
    case noKey = 10
    /// Authentication failed, or the input ends early.
    case authentication = 11
    /// An untrusted or changed key, or not the demanded signer.
    case untrusted = 12
    /// A replay: an id that was seen with other content.
    case replay = 13
    /// A comparison that does not match.
    case mismatch = 14
    /// Some lines or recipients failed; the records tell which.
    case partial = 15
    /// The command line is wrong.
    case usage = 64
    /// Malformed input.
    case malformed = 65
    /// No such input.
    case noInput = 66
    /// The relay cannot be reached, or ended the conversation.
    case unavailable = 69
    /// A bug in the tool.
    case bug = 70
    /// The output cannot be created.
    case cannotCreate = 73
    /// Reading or writing failed.
    case ioError = 74
    /// Try again later; what was given is kept.
    case tryAgain = 75
    /// Permission denied.
    case permission = 77
    /// Something is set up wrongly.
    case configuration = 78
    /// A closed pipe: ended by SIGPIPE.
    case closedPipe = 141
}
