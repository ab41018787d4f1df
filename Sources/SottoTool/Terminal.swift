import Glibc
public import Sotto

/// The terminal policy, in one place:
///
/// - stdout carries data, stderr carries words for people.
/// - Binary data does not go to a terminal unless `-o -` says so; a decrypted file that is text does.
/// - Text that came from elsewhere has its control characters escaped on a terminal, and never in a pipe.
/// - Questions go to `/dev/tty`, so that stdin and stdout stay free for data.
public enum Terminal {
    /// Whether a descriptor is a terminal.
    public static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// The columns of a terminal; `nil` for anything else, and where the terminal does not know.
    public static func width(of descriptor: Int32) -> Int? {
        var size = winsize()
        guard isTerminal(descriptor), ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0,
            size.ws_col > 0
        else { return nil }
        return Int(size.ws_col)
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

    /// `text` with control characters written as `\u{1b}`, except line feed and tab.
    ///
    /// Bidirectional overrides are escaped too: they make a line read as another one. The character `besides`
    /// is left as it is.
    public static func escapingControls(
        _ text: String, besides allowed: Unicode.Scalar? = nil
    ) -> String {
        guard text.unicodeScalars.contains(where: isControl) else { return text }
        var out = ""
        for scalar in text.unicodeScalars {
            if isControl(scalar), scalar != allowed {
                out += "\\u{" + String(scalar.value, radix: 16) + "}"
            } else {
                out.unicodeScalars.append(scalar)
            }
        }
        return out
    }

    /// A line of JSON with the same characters as JSON's escapes: what is shown still means the same.
    static func escapingControls(inJSON line: [UInt8]) -> [UInt8] {
        var out = ""
        for scalar in String(decoding: line, as: UTF8.self).unicodeScalars {
            if isControl(scalar) {
                let digits = String(scalar.value, radix: 16)
                out += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            } else {
                out.unicodeScalars.append(scalar)
            }
        }
        return Array(out.utf8)
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x09, 0x0A: false
        case 0..<0x20, 0x7F..<0xA0, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: true
        default: false
        }
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
