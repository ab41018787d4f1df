import Glibc
public import SottoBytes

/// A secret that is passed to other tools.
public final class PassedSecret {
    let bytes: SecretBytes

    /// Creates the secret.
    public init(_ bytes: consuming SecretBytes) { self.bytes = bytes }
}

/// One run of another tool.
public struct ToolRun {
    let tool: String
    let arguments: [String]
    /// The standard input; empty for none.
    var input: [UInt8] = []
    /// The secret that the tool reads from `@FD:3`.
    public var secret: PassedSecret?
    /// Whether the tool's messages are returned and not shown.
    public var collectsMessages = false

    /// The source of ``secret`` in the tools' options.
    public static let secretSource = "@FD:3"

    /// The exit status and the output of a tool.
    public struct Result {
        /// The exit status, or 128 and the number of the signal.
        public let status: Int32
        /// The standard output.
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
        let (stdin, stdout) = (try Scratch(input), try Scratch([]))
        let messages = try PipeEnds()
        let secretPipe = try secret.map { secret throws(Failure) in try PipeEnds(holding: secret) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, stdin.descriptor, 0)
        posix_spawn_file_actions_adddup2(&actions, stdout.descriptor, 1)
        if collectsMessages { posix_spawn_file_actions_adddup2(&actions, messages.writing, 2) }
        if let secretPipe { posix_spawn_file_actions_adddup2(&actions, secretPipe.reading, 3) }
        let child = try spawn(&actions)
        messages.closeWriting()
        let said = collectsMessages ? readToEnd(messages.reading) : []
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        let signal = status & 0x7F
        return Result(
            status: signal == 0 ? status >> 8 & 0xFF : 128 + signal, output: stdout.content(),
            messages: said)
    }

    /// Runs the tool and returns its output. Throws if it fails; the tool has then printed its own message.
    public func output() throws(Failure) -> [UInt8] {
        let result = try run()
        guard result.status == 0 else { throw Failure.ended(result.status) }
        return result.output
    }

    private func spawn(_ actions: inout posix_spawn_file_actions_t) throws(Failure) -> pid_t {
        let words = ([tool] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        ClosedPipe.restore(in: &attributes)
        var child: pid_t = 0
        let code =
            if let path = Sibling.path(of: tool) {
                posix_spawn(&child, path, &actions, &attributes, words, environ)
            } else {
                posix_spawnp(
                    &child, "sotto-\(tool)", &actions, &attributes, words, environ)
            }
        guard code == 0 else { throw Failure.notInstalled(tool) }
        return child
    }
}

extension Failure {
    /// The failure of a tool that has printed its own message.
    public static func ended(_ status: Int32) -> Failure {
        Failure(ExitStatus(rawValue: status) ?? .ioError, "")
    }

    /// The failure for a tool that is not found.
    public static func notInstalled(_ tool: String) -> Failure {
        Failure(
            .configuration, "the program \(tool) is not installed",
            hint: "install sotto-\(tool) next to sotto or on the PATH")
    }
}

/// A temporary file without a name.
private final class Scratch {
    private let file: UnsafeMutablePointer<FILE>
    var descriptor: Int32 { fileno(file) }

    init(_ bytes: [UInt8]) throws(Failure) {
        guard let file = tmpfile() else { throw Failure(errno: errno, "make", "a temporary file") }
        self.file = file
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        var offset = 0
        while offset < bytes.count {
            let count = bytes.withUnsafeBytes {
                write(descriptor, $0.baseAddress! + offset, bytes.count - offset)
            }
            guard count > 0 else { throw Failure(errno: errno, "write", "a temporary file") }
            offset += count
        }
        lseek(descriptor, 0, SEEK_SET)
    }

    deinit { fclose(file) }

    func content() -> [UInt8] {
        lseek(descriptor, 0, SEEK_SET)
        return readToEnd(descriptor)
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

private func readToEnd(_ descriptor: Int32) -> [UInt8] {
    var bytes: [UInt8] = []
    var block = [UInt8](repeating: 0, count: 4096)
    while true {
        let count = read(descriptor, &block, block.count)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { break }
        bytes += block[..<count]
    }
    wipe(&block)
    return bytes
}
