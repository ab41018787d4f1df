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
    /// The secret that the tool reads from `@FD:3`.
    public var secret: PassedSecret?
    /// Whether the tool's messages are returned and not shown. Those that are shown have the name of this program, which the user
    /// typed.
    public var collectsMessages = false
    /// Whether the tool writes to this program's standard output. Its output is not returned then.
    public var showsOutput = false

    /// The source of ``secret`` in the tools' options.
    public static let secretSource = "@FD:3"

    /// The exit status and the output of a tool.
    public struct Result {
        /// The exit status, or 128 and the number of the signal.
        public let status: Int32
        /// The standard output, if it was not shown.
        public let output: [UInt8]
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
        var transfer = PipeTransfer(input, to: stdin, from: [stdout, stderr])
        transfer.run { place, bytes in
            if place == 1, !collectsMessages { messages.show(bytes) }
        }
        messages.end()
        return Result(
            status: ProgramEnd(of: child).status, output: transfer.received[0],
            messages: transfer.received[1])
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
        let secretPipe = try secret.map { secret throws(Failure) in try PipeEnds(holding: secret) }
        let place = Sibling.path(of: tool).map { ProgramStart.Place.path($0) }
        var start = ProgramStart(place ?? .name("sotto-\(tool)"), [tool] + arguments)
        start.descriptors = [(0, .descriptor(stdin.reading))]
        if !showsOutput { start.descriptors.append((1, .descriptor(stdout.writing))) }
        start.descriptors.append((2, .descriptor(stderr.writing)))
        if let secretPipe { start.descriptors.append((3, .descriptor(secretPipe.reading))) }
        start.defaultSignals = ClosedPipe.restoredSignals
        do throws(ProgramStart.NotStarted) {
            return try start.start()
        } catch {
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

/// Writes to one pipe and reads from others at the same time, so that no pipe needs a capacity.
private struct PipeTransfer {
    private let stdin: PipeEnds
    private let sources: [PipeEnds]
    private var rest: ArraySlice<UInt8>
    /// The bytes of each source.
    private(set) var received: [[UInt8]]

    init(_ input: [UInt8], to stdin: PipeEnds, from sources: [PipeEnds]) {
        self.stdin = stdin
        self.sources = sources
        rest = input[...]
        received = sources.map { _ in [] }
        _ = fcntl(stdin.writing, F_SETFL, O_NONBLOCK)
    }

    /// Returns when all is written, and all sources are at their ends. `body` gets what a source has, and the source's place.
    mutating func run(_ body: (Int, ArraySlice<UInt8>) -> Void) {
        var block = [UInt8](repeating: 0, count: 64 << 10)
        defer { wipe(&block) }
        while true {
            write()
            // poll(2) ignores closed descriptors, which are -1.
            var polled =
                [pollfd(fd: stdin.writing, events: Int16(POLLOUT), revents: 0)]
                + sources.map { pollfd(fd: $0.reading, events: Int16(POLLIN), revents: 0) }
            guard polled.contains(where: { $0.fd >= 0 }) else { return }
            guard poll(&polled, nfds_t(polled.count), -1) > 0 else { continue }
            for (place, source) in sources.enumerated() where polled[place + 1].revents != 0 {
                let count = read(source.reading, &block, block.count)
                if count > 0 {
                    received[place] += block[..<count]
                    body(place, block[..<count])
                } else if count == 0 || errno != EINTR {
                    source.closeReading()
                }
            }
        }
    }

    /// Writes what the pipe takes now, and closes it at the end. A tool that ended needs no more input.
    private mutating func write() {
        guard stdin.writing >= 0 else { return }
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.write(stdin.writing, $0.baseAddress, $0.count)
            }
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN { return }
            guard count > 0 else { break }
            rest = rest.dropFirst(count)
        }
        stdin.closeWriting()
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
