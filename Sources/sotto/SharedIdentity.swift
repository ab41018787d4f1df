import Arguments
import SottoBytes
import SottoProgram

/// The identity for several tools, with a passphrase that is asked for once.
struct SharedIdentity {
    /// The identity file, or `nil` for the default.
    private let path: String?
    private let secret: PassedSecret?

    /// Uses a file with a passphrase that is known, or without one.
    init(path: String, secret: PassedSecret?) {
        (self.path, self.secret) = (path, secret)
    }

    /// Reads the passphrase from `source`, or asks for it if there is no source and the identity is locked.
    init(path: String?, source: String?) throws {
        self.path = path
        if let source = source.flatMap({ SecretSource(argument: $0) }) {
            try source.validate()
            secret = PassedSecret(try source.read())
            return
        }
        let path = try path ?? defaultIdentityPath()
        var status = ToolRun("keygen", ["unlock", "--status", "--", path])
        // A missing or damaged identity is reported by the tool that needs it.
        status.collectsMessages = true
        let isLocked = try status.run().status == ExitStatus.no.rawValue
        var answer: PassedSecret?
        do throws(Failure) {
            if isLocked {
                answer = PassedSecret(try Terminal.ask("Passphrase for \(path): ", secret: true))
            }
        } catch {
            // Without a terminal, the tool that needs the identity says how to unlock it.
            guard error.status == .configuration else { throw error }
        }
        secret = answer
    }

    /// The options of the identity for a tool.
    var options: [String] { (path.map { ["-i", $0] } ?? []) + passphraseOptions }

    /// The option for the passphrase.
    var passphraseOptions: [String] {
        secret == nil ? [] : ["--identity-passphrase", ToolRun.secretSource]
    }

    /// Returns a run of a tool with this identity.
    func run(_ tool: Tool, _ arguments: [String], input: [UInt8] = []) -> ToolRun {
        var run = ToolRun(tool.rawValue, arguments + options, input: input)
        run.secret = secret
        return run
    }

    /// Returns a run of a tool whose last arguments can follow `--`.
    func run(_ tool: Tool, last arguments: [String]) -> ToolRun {
        let command = arguments.prefix { !$0.hasPrefix("-") }
        var run = ToolRun(
            tool.rawValue, command + options + arguments.dropFirst(command.count))
        run.secret = secret
        return run
    }

    /// Returns a pipe of stages whose arguments contain ``options`` where they need the identity.
    func pipe(_ stages: [PipeRun.Stage]) -> PipeRun {
        var pipe = PipeRun(stages)
        pipe.secret = secret
        return pipe
    }
}

/// The options of the identity, of the commands for people.
struct SharedIdentityOptions: ArgumentGroup {
    @Option(
        "-i", "--identity", value: "file",
        help: "Identity file. Default: $SOTTO_IDENTITY, else the default identity file.")
    var path: String?

    @Option(
        "--identity-passphrase", value: "source",
        help: "Passphrase of a protected identity: @ENV:NAME, @FD:N or @FILE:PATH. Default: ask.")
    var source: String?

    /// The given options, for a tool that reads the passphrase itself.
    var words: [String] {
        (path.map { ["--identity", $0] } ?? [])
            + (source.map { ["--identity-passphrase", $0] } ?? [])
    }

    /// The option of the identity in a command to paste, after a space; empty for the default identity.
    var option: String { path.map { " -i " + shellWord($0) } ?? "" }

    /// Reads the passphrase, if one is needed.
    func open() throws -> SharedIdentity { try SharedIdentity(path: path, source: source) }
}
