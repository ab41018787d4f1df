import CTestSupport
import Glibc
import SottoProgram

/// A program on a pseudo-terminal. It can show prompts there, and the terminal's content is recorded.
///
/// Streams other than the terminal are files, so that nothing else has to be fed during the session.
package final class TerminalSession {
    private let child: pid_t
    private let terminal: Int32
    private var shown: [UInt8] = []
    /// All that the terminal has shown.
    package var text: String { String(decoding: shown, as: UTF8.self) }
    private var isWaitedFor = false

    /// Starts `command`. `stdin` and `stdout` are paths of files, or `nil` for the terminal; stderr is the terminal.
    /// The terminal has `columns` and `rows`; it does not report what is 0.
    package init(
        _ command: Command, stdin: String? = nil, stdout: String? = nil, columns: UInt16 = 0,
        rows: UInt16 = 24
    ) throws {
        terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard terminal >= 0, grantpt(terminal) == 0, unlockpt(terminal) == 0 else {
            throw SystemError("a pseudo-terminal")
        }
        var name = [CChar](repeating: 0, count: 128)
        guard ptsname_r(terminal, &name, UInt(name.count)) == 0 else {
            throw SystemError("ptsname_r")
        }
        let path = name.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        guard ioctl(terminal, UInt(TIOCSWINSZ), &size) == 0 else { throw SystemError("winsize") }
        // Kept open until the child has opened it: a terminal without users would read as ended.
        let user = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC)
        defer { close(user) }
        child = try command.spawn(
            [
                (2, .file(path, O_RDWR)),
                (0, .file(stdin ?? path, stdin == nil ? O_RDWR : O_RDONLY)),
                (1, .file(stdout ?? path, stdout == nil ? O_RDWR : O_WRONLY | O_CREAT | O_TRUNC)),
            ], newSession: true)
    }

    deinit {
        if !isWaitedFor {
            kill(child, SIGKILL)
            waitpid(child, nil, 0)
        }
        close(terminal)
    }

    /// Waits until the terminal shows `text` after the previously expected text.
    package func expect(_ text: String) throws {
        let wanted = Array(text.utf8)
        while true {
            if let place = Self.find(wanted, in: shown[waitedFor...]) {
                waitedFor = place + wanted.count
                return
            }
            guard try readMore() else {
                throw NotShown(
                    expected: text, shown: String(decoding: shown, as: UTF8.self))
            }
        }
    }
    private var waitedFor = 0

    /// Types `text`.
    package func type(_ text: String) throws {
        let bytes = Array(text.utf8)
        guard write(terminal, bytes, bytes.count) == bytes.count else { throw SystemError("type") }
    }

    /// Waits for the end. The stdout of the result is all text that the terminal showed, with LF line ends.
    package func finish() throws -> Run {
        while try readMore() {}
        let end = ProgramEnd(of: child)
        isWaitedFor = true
        var text: [UInt8] = []
        for (index, byte) in shown.enumerated() {
            if byte == 0x0D, index + 1 < shown.count, shown[index + 1] == 0x0A { continue }
            text.append(byte)
        }
        return Run(
            status: end.status, stdout: text,
            stderr: String(decoding: text, as: UTF8.self))
    }

    private func readMore() throws -> Bool {
        var item = pollfd(fd: terminal, events: Int16(POLLIN), revents: 0)
        guard poll(&item, 1, 120_000) == 1 else { throw Pipeline.Timeout() }
        var block = [UInt8](repeating: 0, count: 4096)
        let count = read(terminal, &block, block.count)
        guard count > 0 else { return false }
        shown += block[..<count]
        return true
    }

    private static func find(_ wanted: [UInt8], in text: ArraySlice<UInt8>) -> Int? {
        guard text.count >= wanted.count else { return nil }
        return (text.startIndex...(text.endIndex - wanted.count)).first {
            text[$0..<($0 + wanted.count)].elementsEqual(wanted)
        }
    }

    package struct NotShown: Error {
        let expected: String
        let shown: String
    }
}
