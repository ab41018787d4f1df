import Glibc
import SottoBytes

/// Another program of this project.
public enum Sibling {
    /// Returns the path of a tool's program: in the directory of this one as `sotto-NAME` or `NAME`, or in
    /// `libexec/sotto`. Returns `nil` if it does not exist there.
    public static func path(of tool: String) -> String? {
        let here = directoryOfThisProgram()
        return ["\(here)/sotto-\(tool)", "\(here)/../libexec/sotto/\(tool)", "\(here)/\(tool)"]
            .first { access($0, X_OK) == 0 }
    }

    private static func directoryOfThisProgram() -> String {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &buffer, buffer.count - 1)
        guard count > 0 else { return "." }
        let path = String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
    }

    /// Runs `tool` with `arguments` and `input`, and returns its stdout. `input` is at most 64 KiB, the capacity of a
    /// pipe. The tool's stderr is this program's stderr.
    ///
    /// Throws a failure if the program does not exist or its exit status is not 0.
    public static func run(
        _ tool: String, _ arguments: [String], input: [UInt8]
    ) throws -> [UInt8] {
        let result = try finish(tool, arguments, input: input)
        guard result.status == 0 else { throw Failure(.ioError, "\(tool) failed") }
        return result.output
    }

    /// Runs a tool like ``run(_:_:input:)``, and returns its exit status too.
    public static func finish(
        _ tool: String, _ arguments: [String], input: [UInt8]
    ) throws -> (status: Int32, output: [UInt8]) {
        let output = try PipeEnds()
        let child = try start(tool, arguments, input: input, output: output.writing)
        output.closeWriting()
        var result: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = read(output.reading, &block, block.count)
            if count < 0, errno == EINTR { continue }
            if count <= 0 { break }
            result += block[..<count]
        }
        wipe(&block)
        return (try status(of: child, tool), result)
    }

    /// Runs a tool like ``run(_:_:input:)``, but with this program's stdout.
    public static func show(_ tool: String, _ arguments: [String], input: [UInt8]) throws {
        try wait(for: start(tool, arguments, input: input, output: 1), tool)
    }

    private static func start(
        _ tool: String, _ arguments: [String], input: [UInt8], output: Int32
    ) throws -> pid_t {
        precondition(input.count <= 64 << 10)
        guard let path = path(of: tool) else {
            throw Failure(
                .configuration, "the program \(tool) is not installed",
                hint: "install it in the directory of this program")
        }
        let stdin = try PipeEnds()
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, stdin.reading, 0)
        posix_spawn_file_actions_adddup2(&actions, output, 1)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        ClosedPipe.restore(in: &attributes)
        let words = ([tool] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var child: pid_t = 0
        let code = posix_spawn(&child, path, &actions, &attributes, words, environ)
        guard code == 0 else { throw Failure(errno: code, "run", path) }
        stdin.closeReading()
        // The pipe has capacity for all of it, so neither process waits for the other.
        _ = input.withUnsafeBytes { write(stdin.writing, $0.baseAddress, $0.count) }
        stdin.closeWriting()
        return child
    }

    private static func wait(for child: pid_t, _ tool: String) throws(Failure) {
        guard try status(of: child, tool) == 0 else { throw Failure(.ioError, "\(tool) failed") }
    }

    /// Waits for the end of a process. Returns its exit status. Throws a failure if a signal ended it.
    private static func status(of child: pid_t, _ tool: String) throws(Failure) -> Int32 {
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        // The child process writes to the standard output of this program.
        guard status & 0x7F != SIGPIPE else { throw .closedPipe }
        guard status & 0x7F == 0 else { throw Failure(.ioError, "\(tool) failed") }
        return status >> 8 & 0xFF
    }
}
