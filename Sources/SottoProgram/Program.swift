public import Arguments
import CLinux
import Glibc
public import SottoBytes

/// A tool or one of its commands.
///
/// ``Command/execute()`` throws a ``Failure``, or an error that ``failure(for:)`` of the tool maps.
public protocol Program: Command {
    /// Returns the failure for an error, or `nil` for an error that the tool does not expect.
    static func failure(for error: any Error) -> Failure?
}

extension Program {
    /// Returns the failure for an error of padding or JSON, or for an error that contains its own report.
    public static func failure(for error: any Error) -> Failure? { Failure(reporting: error) }

    /// The tool's name in its messages.
    public static var toolName: String { configuration.name }

    /// The program through `sotto`: an installation can lack the short names.
    public static var invocation: String {
        toolName == "sotto" ? toolName : "sotto " + toolName
    }

    /// The entry point of a program with this root command.
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
                ProgramRuntime.end(
                    error, known: failure(for: error), tool: toolName,
                    command: nameOfCommand(in: words)))
        }
        Glibc.exit(0)
    }
}

/// The work of each program before and after its command.
enum ProgramRuntime {
    static func prepare() {
        // The next opened file would get the number of a closed standard descriptor, and output would be written into a
        // key or a lock. The descriptor is opened so that reads or writes fail.
        for (descriptor, mode) in [(Int32(0), O_WRONLY), (1, O_RDONLY), (2, O_RDONLY)]
        where fcntl(descriptor, F_GETFD) == -1 {
            _ = open("/dev/null", mode)
        }
        endWithParent()
        ClosedPipe.prepare()
        umask(0o077)
        // Core dumps are disabled because they would contain keys.
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    }

    /// Lets the kernel end this program with its parent process, if that one asks for it. Child processes are not asked.
    private static func endWithParent() {
        guard let text = environmentVariable(ProgramStart.parentVariable) else { return }
        unsetenv(ProgramStart.parentVariable)
        guard let parent = pid_t(text) else { return }
        _ = sotto_end_with_parent(SIGTERM)
        // The parent process can have ended before the call.
        if getppid() != parent { Glibc.exit(128 + SIGTERM) }
    }

    /// Refuses arguments that are not UTF-8. Each invalid byte would be read as U+FFFD, so two file names could become
    /// one.
    static func checkArguments() throws(Failure) {
        for index in 0..<Int(CommandLine.argc) {
            guard let argument = CommandLine.unsafeArgv[index],
                String(validatingCString: argument) == nil
            else { continue }
            throw Failure(
                .usage, "argument \(index) is not UTF-8",
                hint:
                    "redirect standard input or output for a file with such a name"
            )
        }
    }

    /// Reports an error, or prints the requested help or version. `known` is the failure for an error that is no
    /// ``Failure``. Returns the exit status.
    static func end(
        _ error: any Error, known: Failure?, tool: String, command: String
    ) -> Int32 {
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
            // An installation can lack the short names, but always has `sotto`.
            let command = tool == "sotto" ? command : "sotto " + command
            failure = Failure(.usage, error.message, hint: "list the options: \(command) --help")
        } else {
            failure =
                (error as? Failure) ?? known
                ?? Failure(.bug, "unexpected: \(type(of: error))")
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
