import Glibc
public import Sotto

/// The terminal policy, in one place:
///
/// - stdout carries data, stderr carries words for people.
/// - Binary data does not go to a terminal unless `-o -` says so.
/// - Text that came from elsewhere has its control characters escaped on a terminal, and never in a pipe.
/// - Questions go to `/dev/tty`, so that stdin and stdout stay free for data.
public enum Terminal {
    /// Whether a descriptor is a terminal.
    public static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// Writes a line to stderr.
    public static func say(_ line: String) {
        let bytes = Array((escapingControls(line) + "\n").utf8)
        _ = bytes.withUnsafeBytes { Glibc.write(2, $0.baseAddress, $0.count) }
    }

    /// `text` with control characters written as `\u{1b}`, except line feed and tab.
    ///
    /// Bidirectional overrides are escaped too: they make a line read as another one.
    public static func escapingControls(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isControl) else { return text }
        var out = ""
        for scalar in text.unicodeScalars {
            if isControl(scalar) {
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
        let tty = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard tty >= 0 else {
            throw Failure(
                .configuration, "there is no terminal to ask on",
                hint: "give a secret as @ENV:NAME, @FD:N or @FILE:PATH")
        }
        defer { close(tty) }
        var saved = termios()
        let hides = secret && tcgetattr(tty, &saved) == 0
        if hides {
            var quiet = saved
            quiet.c_lflag &= ~tcflag_t(ECHO)
            quiet.c_lflag |= tcflag_t(ECHONL)
            tcsetattr(tty, TCSAFLUSH, &quiet)
            Interrupts.restoreTerminal(tty, saved)
        }
        defer {
            if hides {
                tcsetattr(tty, TCSAFLUSH, &saved)
                Interrupts.terminalRestored()
            }
        }
        let prompt = Array(question.utf8)
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
