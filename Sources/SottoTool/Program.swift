public import ArgumentParser
import Glibc
import Sotto

/// A tool: flags are parsed once, then ``execute()`` does the work.
public protocol Program: ParsableCommand {
    /// Does what the flags say. Throws a ``Failure``, or an error of the core that `failure(for:)` knows.
    mutating func execute() throws
}

extension Program {
    /// Calls ``execute()``.
    public mutating func run() throws { try execute() }

    /// The configuration of a program's root command.
    ///
    /// Before anything else ArgumentParser looks whether completions are asked for, by two parses that take a third of the
    /// start. Of the command of another one, which is what a super-command says, it does not.
    public static func rootConfiguration(
        commandName: String, abstract: String, usage: String? = nil, discussion: String = "",
        version: String, subcommands: [any ParsableCommand.Type] = [],
        defaultSubcommand: (any ParsableCommand.Type)? = nil
    ) -> CommandConfiguration {
        var configuration = CommandConfiguration(
            commandName: commandName, abstract: abstract, usage: usage, discussion: discussion,
            version: version, subcommands: subcommands, defaultSubcommand: defaultSubcommand)
        // Where help is asked for, it would name that other one.
        let asks = CommandLine.arguments.dropFirst().contains { argument in
            ["--generate-completion", "---completion", "--experimental", "--help", "-h", "help"]
                .contains { argument.hasPrefix($0) }
        }
        if !asks { configuration._superCommandName = "" }
        return configuration
    }

    /// The tool's name, as its messages begin.
    public static var toolName: String { configuration.commandName ?? "sotto" }

    /// The entry point of a program whose root command this is.
    public static func main() {
        ProgramRuntime.prepare()
        do {
            var command = try parseAsRoot()
            try command.run()
        } catch {
            Glibc.exit(
                ProgramRuntime.end(error, tool: toolName) {
                    Self.exitCode(for: $0).rawValue
                } text: {
                    Self.message(for: $0)
                })
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
        // A closed pipe is met as EPIPE at the write, and ends a tool quietly.
        signal(SIGPIPE, SIG_IGN)
        umask(0o077)
        // No core dumps: they would hold keys.
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    }

    /// Says what went wrong and returns the status to exit with.
    static func end(
        _ error: any Error, tool: String, code: (any Error) -> Int32, text: (any Error) -> String
    ) -> Int32 {
        if let failure = (error as? Failure) ?? Failure(core: error) {
            report(failure, tool: tool)
            return failure.status.rawValue
        }
        let message = text(error)
        switch code(error) {
        case 0:
            // --help, --version and completion scripts are what was asked for.
            let bytes = Array((message.hasSuffix("\n") ? message : message + "\n").utf8)
            do throws(Failure) {
                let output = try Output(path: "-", content: .text)
                try output.write(bytes)
                try output.finish()
            } catch {
                report(error, tool: tool)
                return error.status.rawValue
            }
            return 0
        case ExitStatus.usage.rawValue:
            report(
                Failure(
                    .usage, sentence(message), hint: "\(tool) --help explains the options"),
                tool: tool)
            return ExitStatus.usage.rawValue
        default:
            report(
                Failure(
                    .bug, "unexpected: \(type(of: error))",
                    hint: "this is a bug; please report it with the command that you ran"),
                tool: tool)
            return ExitStatus.bug.rawValue
        }
    }

    /// ArgumentParser's message in the form of ours: one line, lower case first, no full stop. It lists many
    /// choices on lines of their own.
    private static func sentence(_ message: String) -> String {
        var text = message.prefix(1).lowercased() + message.dropFirst()
        if text.hasSuffix(".") { text.removeLast() }
        return text.replacingAll(":\n  - ", with: ": ").replacingAll("\n  - ", with: ", ")
    }

    static func report(_ failure: Failure, tool: String) {
        if !failure.message.isEmpty { Terminal.say("\(tool): error: \(failure.message)") }
        if let hint = failure.hint { Terminal.say("\(tool): hint: \(hint)") }
    }
}
