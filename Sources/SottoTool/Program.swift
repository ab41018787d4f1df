public import Arguments
import Glibc
import Sotto

/// A command of a tool, or the tool.
///
/// ``Command/execute()`` throws a ``Failure``, or an error of the core that `failure(for:)` knows.
public protocol Program: Command {}

extension Program {
    /// The tool's name, as its messages begin.
    public static var toolName: String { configuration.name }

    /// The entry point of a program whose root command this is.
    public static func main() {
        ProgramRuntime.prepare()
        let words = Array(CommandLine.arguments.dropFirst())
        do {
            try ProgramRuntime.checkArguments()
            if words == ["--dump-help"] {
                throw TextRequest(
                    String(decoding: commandDescription.json.serialized(), as: UTF8.self))
            }
            var command = try parse(words)
            try command.execute()
        } catch {
            Glibc.exit(
                ProgramRuntime.end(error, tool: toolName, command: nameOfCommand(in: words)))
        }
        Glibc.exit(0)
    }
}

/// What each program does before and after its work.
enum ProgramRuntime {
    static func prepare() {
        // A standard descriptor that was closed would be given to the next file that is opened, and output
        // would go into a key or a lock. What takes its place refuses the reads or writes meant for it.
        for (descriptor, mode) in [(Int32(0), O_WRONLY), (1, O_RDONLY), (2, O_RDONLY)]
        where fcntl(descriptor, F_GETFD) == -1 {
            _ = open("/dev/null", mode)
        }
        ClosedPipe.prepare()
        umask(0o077)
        // No core dumps: they would hold keys.
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    }

    /// Refuses what would otherwise be read with U+FFFD for each byte that is no UTF-8: two file names could become one.
    static func checkArguments() throws(Failure) {
        for index in 0..<Int(CommandLine.argc) {
            guard let argument = CommandLine.unsafeArgv[index],
                String(validatingCString: argument) == nil
            else { continue }
            throw Failure(
                .usage, "argument \(index) is not UTF-8",
                hint:
                    "a file of such a name can be given on standard input, and taken from standard output"
            )
        }
    }

    /// Says what went wrong, or what was asked for in place of the work, and returns the status to exit with.
    static func end(_ error: any Error, tool: String, command: String) -> Int32 {
        let failure: Failure
        if let request = error as? TextRequest {
            do throws(Failure) {
                let output = try Output(path: "-", content: .text)
                try output.writeText(request.text + "\n")
                try output.finish()
                return 0
            } catch {
                failure = error
            }
        } else if let error = error as? UsageError {
            failure = Failure(.usage, error.message, hint: "see the options: \(command) --help")
        } else {
            failure =
                (error as? Failure) ?? Failure(core: error)
                ?? Failure(
                    .bug, "unexpected: \(type(of: error))",
                    hint: "this is a bug; please report it with the command that you ran")
        }
        if failure.status == .closedPipe {
            ClosedPipe.end()
            let failure = Failure(errno: EPIPE, "write", "standard output")
            report(failure, tool: tool)
            return failure.status.rawValue
        }
        report(failure, tool: tool)
        return failure.status.rawValue
    }

    static func report(_ failure: Failure, tool: String) {
        if !failure.message.isEmpty { Terminal.say("\(tool): error: \(failure.message)") }
        if let hint = failure.hint { Terminal.say("\(tool): hint: \(hint)") }
    }
}
