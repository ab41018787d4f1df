import Glibc
public import Sotto

/// The terminal policy, in one place:
///
/// - stdout carries data, stderr carries words for people.
/// - Binary data does not go to a terminal unless `-o -` says so; a decrypted file that is text does.
/// - Text that came from elsewhere has its control characters and invisible ones escaped on a terminal, and never in a
///   pipe; its further lines are indented and marked there.
/// - Questions go to `/dev/tty`, so that stdin and stdout stay free for data.
public enum Terminal {
    /// Whether a descriptor is a terminal.
    public static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// The columns of a terminal; `nil` for anything else, and where the terminal does not know.
    public static func width(of descriptor: Int32) -> Int? {
        var size = winsize()
        guard isTerminal(descriptor), ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 else {
            return nil
        }
        // A terminal that does not tell its width mostly has 80 columns.
        return size.ws_col > 0 ? Int(size.ws_col) : 80
    }

    /// Writes a line to stderr; a file's name or a relay's reason in it cannot make a second one.
    public static func say(_ line: String) {
        try? tell(line)
    }

    /// As ``say(_:)``, for what must not be lost: throws a failure with status 74 when it cannot be written.
    public static func tell(_ line: String) throws(Failure) {
        let bytes = Array((escapingControls(line).replacingAll("\n", with: "\\u{a}") + "\n").utf8)
        var failure: Failure?
        bytes.withUnsafeBytes { bytes in
            do throws(Failure) {
                try Output.writeAll(bytes, to: 2, name: "standard error")
            } catch { failure = error }
        }
        guard let failure else { return }
        // A closed pipe is a quiet end for data only.
        throw failure.status == .closedPipe
            ? Failure(errno: EPIPE, "write", "standard error") : failure
    }

    /// `text` with the characters escaped that a terminal obeys or a reader cannot see, as `\u{1b}`; line feed and tab
    /// stay, and so does the character `besides`. See ``TerminalEscapes``.
    public static func escapingControls(
        _ text: String, besides allowed: Unicode.Scalar? = nil
    ) -> String {
        TerminalEscapes.escaping(text, as: .text, besides: allowed)
    }

    /// A line of JSON with the same characters as JSON's escapes: what is shown still means the same.
    static func escapingControls(inJSON line: [UInt8]) -> [UInt8] {
        Array(TerminalEscapes.escaping(String(decoding: line, as: UTF8.self), as: .json).utf8)
    }

    /// Asks a question on the controlling terminal and reads one line, without echo when it is secret.
    public static func ask(_ question: String, secret: Bool) throws(Failure) -> SecretBytes {
        let conversation = try TerminalConversation(secret: secret)
        return try conversation.ask(question)
    }

    /// Asks for a secret twice, without echo from the first question to the second answer. Returns `nil` for two
    /// different answers.
    public static func askTwice(
        _ question: String, _ again: String
    ) throws(Failure) -> SecretBytes? {
        let conversation = try TerminalConversation(secret: true)
        let first = try conversation.ask(question)
        let second = try conversation.ask(again)
        let isSame = first.withBytes { first in
            second.withBytes { constantTimeEqual(Array(first), Array($0)) }
        }
        if isSame { return first }
        return nil
    }
}

/// Questions on the controlling terminal, one after the other.
private final class TerminalConversation {
    private let tty: Int32
    private let isHidden: Bool

    init(secret: Bool) throws(Failure) {
        tty = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard tty >= 0 else {
            throw Failure(
                .configuration, "there is no terminal to ask on",
                hint: "give a secret as @ENV:NAME, @FD:N or @FILE:PATH")
        }
        isHidden = secret && HiddenEcho.begin(on: tty)
    }

    deinit {
        if isHidden { HiddenEcho.end() }
        if tty >= 0 { close(tty) }
    }

    /// Asks a question and reads a line.
    func ask(_ question: String) throws(Failure) -> SecretBytes {
        let prompt = Array(
            Terminal.escapingControls(question).replacingAll("\n", with: "\\u{a}").utf8)
        if isHidden { HiddenEcho.setPrompt(prompt) }
        _ = prompt.withUnsafeBytes { Glibc.write(tty, $0.baseAddress, $0.count) }
        var line: [UInt8] = []
        defer { wipe(&line) }
        var byte: UInt8 = 0
        while true {
            let count = read(tty, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1 else {
                if line.isEmpty { throw Failure(.usage, "nothing was typed") }
                break
            }
            if byte == UInt8(ascii: "\n") { break }
            line.append(byte)
        }
        return SecretBytes(copying: line)
    }
}
