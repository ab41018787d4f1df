import Glibc
public import SottoBytes

/// A secret that is passed to other tools.
public final class PassedSecret {
    let bytes: SecretBytes

    /// Creates the secret.
    public init(_ bytes: consuming SecretBytes) { self.bytes = bytes }
}

/// One run of another tool. Its input and its output go through pipes, and never into a file.
public struct ToolRun {
    let tool: String
    let arguments: [String]
    /// The standard input; empty for none.
    let input: [UInt8]
    /// The secret that the tool reads from ``secretSource``.
    public var secret: PassedSecret?
    /// Whether the tool's messages are returned and not shown. Those that are shown have the name of this program, which the user
    /// typed.
    public var collectsMessages = false
    /// Whether the tool writes to this program's standard output. Its output is not returned then.
    public var showsOutput = false

    /// The source of ``secret`` in the tools' options: a descriptor that this program did not inherit, because the tool may
    /// read another secret there.
    public static let secretSource = "@FD:\(secretDescriptor)"

    fileprivate static let secretDescriptor: Int32 = {
        var number: Int32 = 3
        while case let flags = fcntl(number, F_GETFD), flags >= 0, flags & FD_CLOEXEC == 0 {
            number += 1
        }
        return number
    }()

    /// The exit status and the output of a tool.
    public struct Result {
        /// The exit status, or 128 and the number of the signal.
        public let status: Int32
        /// The standard output, if it was not shown.
        public var output: [UInt8]
        /// The standard error, if it was collected.
        public let messages: [UInt8]
    }

    /// Creates a run of the tool with this name. `input` is its standard input.
    public init(_ tool: String, _ arguments: [String], input: [UInt8] = []) {
        self.tool = tool
        self.arguments = arguments
        self.input = input
    }

    /// Runs the tool to its end. Throws a failure with status 78 if it is not installed.
    public func run() throws(Failure) -> Result {
        let (stdin, stdout, stderr) = (try PipeEnds(), try PipeEnds(), try PipeEnds())
        let child = try start(stdin, stdout, stderr)
        stdin.closeReading()
        stdout.closeWriting()
        stderr.closeWriting()
        var messages = ToolMessages(of: tool)
        let isShown = !collectsMessages
        var transfer = PipeTransfer([
            .init(input, to: stdin), .init(from: stdout),
            .init(from: stderr) { bytes in if isShown { messages.show(bytes) } },
        ])
        transfer.run()
        messages.end()
        return Result(
            status: ProgramEnd(of: child).status, output: transfer.channels[1].received,
            messages: transfer.channels[2].received)
    }

    /// Shows the collected messages of a run as if they had been shown by it.
    public func show(_ result: Result) {
        var messages = ToolMessages(of: tool)
        messages.show(result.messages[...])
        messages.end()
    }

    /// Runs the tool and returns its output. Throws if it fails; the tool has then printed its own message.
    @discardableResult
    public func output() throws(Failure) -> [UInt8] {
        let result = try run()
        guard result.status == 0 else { throw Failure.ended(result.status, tool) }
        return result.output
    }

    private func start(
        _ stdin: PipeEnds, _ stdout: PipeEnds, _ stderr: PipeEnds
    ) throws(Failure) -> pid_t {
        var start = ProgramStart(tool: tool, arguments)
        start.descriptors = [(0, .descriptor(stdin.reading))]
        if !showsOutput { start.descriptors.append((1, .descriptor(stdout.writing))) }
        start.descriptors.append((2, .descriptor(stderr.writing)))
        return try start.startTool(tool, secret: secret)
    }
}

extension ProgramStart {
    /// A tool of this project: the one that ``Sibling`` finds, else the one in `PATH`.
    package init(tool: String, _ arguments: [String]) {
        let place = Sibling.path(of: tool).map { Place.path($0) }
        self.init(place ?? .name("sotto-\(tool)"), [tool] + arguments)
        defaultSignals = ClosedPipe.restoredSignals
    }

    /// Starts the tool with a secret at ``ToolRun/secretSource``. Throws a failure with status 78 if it is not installed.
    package func startTool(
        _ tool: String, secret: PassedSecret? = nil
    ) throws(Failure) -> Int32 {
        var start = self
        let pipe = try secret.map { secret throws(Failure) in try PipeEnds(holding: secret) }
        defer { pipe?.closeReading() }
        if let pipe {
            start.descriptors.append((ToolRun.secretDescriptor, .descriptor(pipe.reading)))
        }
        do throws(NotStarted) { return try start.start() } catch {
            throw Failure.notInstalled(tool)
        }
    }
}

extension Failure {
    /// The failure of a tool that has printed its own message. A tool that a signal ended printed none; the status is 128
    /// and the number of the signal.
    public static func ended(_ status: Int32, _ tool: String) -> Failure {
        switch status {
        // The tool writes to the standard output of this program.
        case 128 + SIGPIPE: .closedPipe
        case 129...: Failure(.ioError, "\(tool) was ended by signal \(status - 128)")
        default: Failure(ExitStatus(rawValue: status) ?? .ioError, "")
        }
    }

    /// The failure for a tool that is not found.
    public static func notInstalled(_ tool: String) -> Failure {
        Failure(
            .configuration, "the program \(tool) is not installed",
            hint: "install sotto-\(tool) next to sotto or on the PATH")
    }
}

/// The messages of another tool, which this program shows as its own.
private struct ToolMessages {
    private let beginning: [UInt8]
    private let own = Array("\(Terminal.programName): ".utf8)
    /// The bytes of a line whose end is not here.
    private var rest: [UInt8] = []

    init(of tool: String) { beginning = Array("\(tool): ".utf8) }

    /// Shows whole lines. The tool has escaped them.
    mutating func show(_ bytes: ArraySlice<UInt8>) {
        rest += bytes
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            write(rest[...end])
            rest.removeFirst(end + 1)
        }
    }

    mutating func end() {
        write(rest[...])
        rest = []
    }

    private func write(_ line: ArraySlice<UInt8>) {
        let isMessage = line.starts(with: beginning)
        let shown = isMessage ? own + line.dropFirst(beginning.count) : Array(line)
        _ = shown.withUnsafeBytes { try? Output.writeAll($0, to: 2, name: "standard error") }
    }
}

extension PipeEnds {
    /// Creates a pipe that contains a secret and a line feed; a secret is shorter than the capacity of a pipe.
    fileprivate convenience init(holding secret: PassedSecret) throws(Failure) {
        try self.init()
        secret.bytes.withBytes { _ = write(writing, $0.baseAddress, $0.count) }
        _ = write(writing, "\n", 1)
        closeWriting()
    }
}
