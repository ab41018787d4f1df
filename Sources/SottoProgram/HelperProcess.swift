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
        var start = ProgramStart(.path(path), [program] + arguments)
        start.descriptors = [
            (0, .descriptor(input.reading)), (1, .descriptor(output.writing)),
            // The process reports errors in records. Other text would come from a library or from a file.
            (2, .file("/dev/null", O_WRONLY)),
        ]
        // A crash report is not useful, because the restricted process cannot make one.
        setenv("SWIFT_BACKTRACE", "enable=no", 1)
        do throws(ProgramStart.NotStarted) {
            process = try start.start()
        } catch {
            throw Failure(errno: error.code, "run", path)
        }
        input.closeReading()
        output.closeWriting()
        requests = input
        replies = LineReader(PipeSource(output), limit: limit)
    }

    /// Writes a request. If the process has ended, the next line is missing.
    public func send(_ bytes: [UInt8]) { _ = writeAll(bytes, to: requests.writing) }

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
            _ = ProgramEnd(of: process)
            return .crashed
        }
        return switch ProgramEnd(waitStatus: status) {
        case .killed(by: SIGXCPU), .killed(by: SIGKILL): .killed
        case .exited(127): .unlinked
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
