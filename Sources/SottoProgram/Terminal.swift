import Glibc
public import SottoBytes

/// The terminal policy:
///
/// - stdout is for data, stderr is for messages to the user.
/// - Binary data is not written to a terminal without `-o -`; a decrypted text file is.
/// - Records for another tool are not written to a terminal without `--json`; see ``RecordOutput``.
/// - In received text, control characters and invisible characters are escaped on a terminal, and never in a pipe. On a
///   terminal, its lines after the first are indented and marked.
/// - Prompts use `/dev/tty`, so that stdin and stdout are free for data.
public enum Terminal {
    /// Returns whether a descriptor is a terminal.
    public static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// Returns whether a descriptor is a pipe.
    public static func isPipe(_ descriptor: Int32) -> Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
    }

    /// The size of a terminal, or of a drawing on it.
    public struct Size: Sendable, Hashable {
        /// The characters in a line.
        public let columns: Int
        /// The lines.
        public let rows: Int

        /// Creates a size.
        public init(columns: Int, rows: Int) {
            (self.columns, self.rows) = (columns, rows)
        }
    }

    /// Returns the size of a terminal, or `nil` if the descriptor is not a terminal.
    public static func size(of descriptor: Int32) -> Size? {
        var size = winsize()
        guard isTerminal(descriptor), ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 else {
            return nil
        }
        // Terminals that do not report their size usually have 80 columns and 24 lines.
        return Size(
            columns: size.ws_col > 0 ? Int(size.ws_col) : 80,
            rows: size.ws_row > 0 ? Int(size.ws_row) : 24)
    }

    /// Returns the width of a terminal in columns, or `nil` if the descriptor is not a terminal.
    public static func width(of descriptor: Int32) -> Int? { size(of: descriptor)?.columns }

    /// Writes a line to stderr. Line feeds in file names or relay messages are escaped, so they cannot begin a second
    /// line.
    public static func say(_ line: String) {
        try? tell(line)
    }

    /// Writes a note to stderr, after the short name of the running program.
    @Sendable public static func note(_ text: some CustomStringConvertible) {
        say("\(programName): note: \(text)")
    }

    /// Sets the line that is written to stderr if a signal such as that of Ctrl-C ends the program, or none.
    public static func sayIfInterrupted(_ line: String?) {
        Interrupts.setNote(
            line.map { line in
                // The line of a prompt is not complete.
                let start = isTerminal(2) ? "\n" : ""
                let text = escapingControls(line).replacingAll("\n", with: "\\u{a}")
                return Array((start + text + "\n").utf8)
            })
    }

    /// The short name of the running program. `sotto-encrypt` is a link to `encrypt`.
    static var programName: Substring {
        let path = CommandLine.arguments.first ?? "sotto"
        let name = path.split(separator: "/").last ?? "sotto"
        return name.hasPrefix("sotto-") ? name.dropFirst(6) : name
    }

    /// Writes a line like ``say(_:)`` that must not be lost: throws a failure with status 74 if it cannot be written.
    public static func tell(_ line: String) throws(Failure) {
        let bytes = Array((escapingControls(line).replacingAll("\n", with: "\\u{a}") + "\n").utf8)
        var failure: Failure?
        bytes.withUnsafeBytes { bytes in
            do throws(Failure) {
                try Output.writeAll(bytes, to: 2, name: "standard error")
            } catch { failure = error }
        }
        guard let failure else { return }
        // A closed pipe ends a tool silently only if the pipe is for data.
        throw failure.status == .closedPipe
            ? Failure(errno: EPIPE, "write", "standard error") : failure
    }

    /// Returns `text` with the characters escaped that a terminal interprets or that are invisible, as `\u{1b}`. Line
    /// feed, tab and the character `besides` are not escaped. See ``TerminalEscapes``.
    public static func escapingControls(
        _ text: String, besides allowed: Unicode.Scalar? = nil
    ) -> String {
        TerminalEscapes.escaping(text, as: .text, besides: allowed)
    }

    /// Escapes the same characters in a line of JSON with JSON escapes, so that the JSON value does not change.
    static func escapingControls(inJSON line: [UInt8]) -> [UInt8] {
        Array(TerminalEscapes.escaping(String(decoding: line, as: UTF8.self), as: .json).utf8)
    }

    /// Shows a prompt on the controlling terminal and reads one line, without echo if it is secret.
    public static func ask(_ question: String, secret: Bool) throws(Failure) -> SecretBytes {
        let conversation = try TerminalConversation(secret: secret)
        return try conversation.ask(question)
    }

    /// Asks a question on the controlling terminal, and returns whether the answer is `yes`. With `forgetsTyped`, what was typed
    /// before the question is no answer.
    public static func confirms(
        _ question: String, forgetsTyped: Bool = false
    ) throws(Failure) -> Bool {
        let conversation = try TerminalConversation(secret: false)
        if forgetsTyped { conversation.forgetTyped() }
        return try conversation.ask(question).withBytes { Array($0) == Array("yes".utf8) }
    }

    /// Asks for a secret twice, with the echo disabled from the first prompt to the second answer. Returns `nil` if the
    /// answers differ. An empty first answer is returned at once.
    public static func askTwice(
        _ question: String, _ again: String
    ) throws(Failure) -> SecretBytes? {
        let conversation = try TerminalConversation(secret: true)
        let first = try conversation.ask(question)
        guard first.count > 0 else { return first }
        let second = try conversation.ask(again)
        let isSame = first.withBytes { first in
            second.withBytes { constantTimeEqual(Array(first), Array($0)) }
        }
        if isSame { return first }
        return nil
    }
}

/// A series of prompts on the controlling terminal.
private final class TerminalConversation {
    private let tty: Int32
    private let isHidden: Bool

    init(secret: Bool) throws(Failure) {
        tty = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard tty >= 0 else {
            throw Failure(
                .configuration, "no terminal is available for a prompt",
                hint: "give the secret as @ENV:NAME, @FD:N or @FILE:PATH")
        }
        isHidden = secret && HiddenEcho.begin(on: tty)
    }

    deinit {
        if isHidden { HiddenEcho.end() }
        if tty >= 0 { close(tty) }
    }

    /// Discards what was typed and not read.
    func forgetTyped() { tcflush(tty, TCIFLUSH) }

    /// Shows a prompt and reads a line.
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
                if line.isEmpty { throw Failure(.usage, "no input was typed") }
                break
            }
            if byte == UInt8(ascii: "\n") { break }
            line.append(byte)
        }
        return SecretBytes(copying: line)
    }
}
