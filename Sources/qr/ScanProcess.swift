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
    private let process: HelperProcess

    /// Starts the process. Throws a failure with status 78 if the program is not installed.
    init(_ task: Task) throws(Failure) {
        self.task = task
        process = try HelperProcess(
            Self.program, work: "reads pictures", arguments: task.words,
            limit: ScanReply.maximumLine)
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
    private func next() -> ScanReply? { process.nextLine().flatMap { ScanReply(parsing: $0) } }

    /// Writes to the process. If it has ended, the next reply is missing.
    private func send(_ bytes: [UInt8]) { process.send(bytes) }

    /// Ends the process and returns the failure for the way in which it ended.
    private func ending() -> Failure {
        switch process.end() {
        case .killed: task.slowness
        case .unlinked:
            Failure(
                .configuration, "\(Self.program) cannot be started",
                hint: "install the libraries of zbar, libjpeg, libmagic and libseccomp")
        case .crashed: task.crash
        }
    }
}

extension ScanProcess.Task {
    /// The arguments of the program.
    fileprivate var words: [String] {
        switch self {
        case .pictures(let limits):
            ["pictures", String(limits.seconds), String(limits.mebibytes)]
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
