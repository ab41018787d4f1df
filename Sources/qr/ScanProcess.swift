import Glibc
import SottoBytes
import SottoQR
import SottoProgram

/// The program `qr-scan`, which reads pictures in a restricted process of its own.
///
/// The libraries that decode pictures and codes run only there: an attacker who takes over the process with a picture
/// can only give wrong contents back. If the system ends the process, the failure names the reason.
final class ScanProcess {
    /// The work of the process.
    enum Task {
        /// Searching pictures, with limits for all of them together.
        case pictures(Limits)
        /// Reading pictures that this program made.
        case drawings
        /// Searching the frames of a camera.
        case camera(device: String)
    }

    /// The limits for all pictures of one command together.
    struct Limits {
        /// Seconds of processor time.
        let seconds: Int
        /// Address space in MiB.
        let mebibytes: Int
    }

    private static let program = "qr-scan"

    private let task: Task
    private let process: pid_t
    private let requests: PipeEnds
    private var replies: LineReader

    /// Starts the process. Throws a failure with status 78 if the program is not installed.
    init(_ task: Task) throws(Failure) {
        self.task = task
        guard let path = Sibling.path(of: Self.program) else {
            throw Failure(
                .configuration,
                "the program \(Self.program), which reads pictures, is not installed",
                hint: "install it in the directory of qr, or in libexec/sotto next to it")
        }
        let (input, output) = (try PipeEnds(), try PipeEnds())
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input.reading, 0)
        posix_spawn_file_actions_adddup2(&actions, output.writing, 1)
        // The process reports errors in records. Other text would come from a library or from a picture.
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        let words = ([Self.program] + task.words).map { strdup($0) } + [nil]
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
        replies = LineReader(PipeSource(output), limit: ScanReply.maximumLine)
    }

    /// Returns the codes in a picture's file. The process keeps the file under the next number, from 0.
    func symbols(in file: [UInt8], _ search: Search) throws(Failure) -> [Symbol] {
        send(ScanRequest.picture(length: file.count, search: search).line)
        send(file)
        return try symbols()
    }

    /// Searches the picture with this number again, in every variant, until its codes and `parts` complete a content.
    func symbolsAgain(_ picture: Int, parts: [CodePart]) throws(Failure) -> [Symbol] {
        send(ScanRequest.again(picture, parts: parts.map(\.code)).line)
        return try symbols()
    }

    /// Verifies that a PNG file shows exactly a code of `content` with this size and margin.
    func verify(png: [UInt8], size: Int, margin: Int, content: [UInt8]) throws(Failure) {
        send(
            ScanRequest.drawing(length: png.count, size: size, margin: margin, content: content)
                .line)
        send(png)
        _ = try symbols()
    }

    /// Reads an answer: returns its codes, or throws its error. With a camera, the first answer has no codes and follows
    /// after the camera is open, and each further one is for a frame.
    func symbols() throws(Failure) -> [Symbol] {
        var symbols: [Symbol] = []
        while symbols.count <= Self.mostSymbols {
            switch next() {
            case .symbol(let symbol): symbols.append(symbol)
            case .end: return symbols
            case .fault(let fault): throw Failure(fault, device: task.device)
            case nil: throw ending()
            }
        }
        throw ending()
    }

    /// A picture of 64 megapixels can show about this many of the smallest codes.
    private static let mostSymbols = 1 << 17

    /// Returns the next reply; `nil` at the end and for every other text.
    private func next() -> ScanReply? {
        guard let line = try? replies.next(), case .line(let bytes) = line else {
            return nil
        }
        return ScanReply(parsing: bytes)
    }

    /// Writes to the process. If it has ended, the next reply is missing.
    private func send(_ bytes: [UInt8]) {
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

    /// Ends the process and returns the failure for the way in which it ended.
    private func ending() -> Failure {
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
            return task.crash
        }
        switch (status & 0x7F, status >> 8 & 0xFF) {
        case (SIGXCPU, _), (SIGKILL, _): return task.slowness
        // The dynamic linker's status.
        case (0, 127):
            return Failure(
                .configuration, "\(Self.program) cannot be started",
                hint: "install the libraries of zbar, libjpeg and libseccomp")
        default: return task.crash
        }
    }
}

extension ScanProcess.Task {
    /// The arguments of the program.
    fileprivate var words: [String] {
        switch self {
        case .pictures(let limits):
            ["pictures", String(limits.seconds), String(limits.mebibytes)]
        case .drawings: ["drawings"]
        case .camera(let device): ["camera", device]
        }
    }

    fileprivate var device: String {
        if case .camera(let device) = self { device } else { "" }
    }

    /// The failure if the process crashed, made a forbidden system call, or wrote something else than records.
    fileprivate var crash: Failure {
        switch self {
        case .pictures(let limits):
            Failure(
                .malformed,
                "the picture needs more than \(limits.mebibytes) MiB of memory, or its decoder crashed",
                hint:
                    "crop the picture to the code, or raise the limit: --memory-limit \(limits.mebibytes * 4)"
            )
        case .drawings:
            Failure(
                .bug, "the program that reads the code back crashed, so nothing was written",
                hint: "try another --level")
        case .camera(let device):
            Failure(
                .malformed, "the decoder of the pictures of \(device) crashed",
                hint: "take a picture with another program, and scan its file")
        }
    }

    /// The failure if the process was killed, as it is at its limit of processor time.
    fileprivate var slowness: Failure {
        guard case .pictures(let limits) = self else { return crash }
        let time = "\(limits.seconds) second\(limits.seconds == 1 ? "" : "s")"
        return Failure(
            .malformed, "the search took more than \(time) of processor time",
            hint:
                "crop the picture to the code, or raise the limit: --time-limit \(limits.seconds * 10)"
        )
    }
}

/// The reading end of a pipe.
private final class PipeSource: ByteSource {
    private let pipe: PipeEnds

    init(_ pipe: PipeEnds) { self.pipe = pipe }

    /// Returns 0 after an error too: the reader then reports that a reply is missing.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        while true {
            let count = Glibc.read(pipe.reading, buffer.baseAddress, buffer.count)
            if count >= 0 { return count }
            guard errno == EINTR else { return 0 }
        }
    }
}
