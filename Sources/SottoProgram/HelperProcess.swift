import Glibc
public import SottoBytes

/// A program of this project that works on files of unknown origin, restricted to its standard input and output.
///
/// An attacker who takes it over with a file can only give wrong answers, so the caller validates each.
public final class HelperProcess {
    /// The reason why the process gives no more answers.
    public enum Ending {
        /// The system killed it, for example at its limit of processor time.
        case killed
        /// The dynamic linker did not find a library.
        case unlinked
        /// It crashed, made a forbidden system call, or wrote something else than answers.
        case crashed
    }

    private let process: pid_t
    private let requests: PipeEnds
    private var replies: LineReader

    /// Starts `program` with `arguments`. A line of an answer has at most `limit` bytes.
    ///
    /// `work` completes the sentence "the program X, which …, is not installed". Throws a failure with status 78 if the
    /// program is not installed.
    public init(
        _ program: String, work: String, arguments: [String], limit: Int
    ) throws(Failure) {
        guard let path = Sibling.path(of: program) else {
            throw Failure(
                .configuration, "the program \(program), which \(work), is not installed",
                hint: "install it in the directory of this program, or in libexec/sotto next to it")
        }
        let (input, output) = (try PipeEnds(), try PipeEnds())
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input.reading, 0)
        posix_spawn_file_actions_adddup2(&actions, output.writing, 1)
        // The process reports errors in records. Other text would come from a library or from a file.
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        let words = ([program] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        // A crash report is not useful, because the restricted process cannot make one.
        setenv("SWIFT_BACKTRACE", "enable=no", 1)
        var child: pid_t = 0
        let code = posix_spawn(&child, path, &actions, nil, words, environ)
        input.closeReading()
        output.closeWriting()
        guard code == 0 else { throw Failure(errno: code, "run", path) }
        process = child
        requests = input
        replies = LineReader(PipeSource(output), limit: limit)
    }

    /// Writes a request. If the process has ended, the next line is missing.
    public func send(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = write(
                    requests.writing, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count
                )
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return }
                rest = rest.dropFirst(count)
            }
        }
    }

    /// Returns the next line of an answer without its line feed; `nil` at the end and if the line is too long.
    public func nextLine() -> [UInt8]? {
        guard let line = try? replies.next(), case .line(let bytes) = line else { return nil }
        return bytes
    }

    /// Ends the process, and returns how it ended.
    public func end() -> Ending {
        requests.closeWriting()
        var status: Int32 = 0
        var isEnded = false
        // The system closes the pipe before the process can be waited for. A process that still runs wrote nonsense.
        for _ in 0..<200 where !isEnded {
            isEnded = waitpid(process, &status, WNOHANG) != 0
            if !isEnded { usleep(5000) }
        }
        if !isEnded {
            kill(process, SIGKILL)
            while waitpid(process, nil, 0) < 0, errno == EINTR {}
            return .crashed
        }
        return switch (status & 0x7F, status >> 8 & 0xFF) {
        case (SIGXCPU, _), (SIGKILL, _): .killed
        case (0, 127): .unlinked
        default: .crashed
        }
    }
}

/// The reading end of a pipe.
private final class PipeSource: ByteSource {
    private let pipe: PipeEnds

    init(_ pipe: PipeEnds) { self.pipe = pipe }

    /// Returns 0 after an error too: the reader then reports that an answer is missing.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        while true {
            let count = Glibc.read(pipe.reading, buffer.baseAddress, buffer.count)
            if count >= 0 { return count }
            guard errno == EINTR else { return 0 }
        }
    }
}
