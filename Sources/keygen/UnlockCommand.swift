import Arguments
import Sotto
import SottoTool

/// `keygen unlock`: lets all tools use a protected identity without its passphrase for some hours.
struct UnlockCommand: Program {
    static let configuration = CommandConfiguration(
        name: "unlock",
        abstract: "Unlock a protected identity for all your processes for a limited time.",
        usage: """
            sotto keygen unlock [--for TIME] [FILE]
            sotto keygen unlock --status [FILE]
            """,
        discussion: """
            The kernel stores the file key of this identity file in your user keyring and deletes it after the time. The \
            identity itself is not stored there. keygen lock, keygen passwd and a restart delete the key earlier.

            EXAMPLES
              sotto keygen unlock
              sotto keygen unlock --for 30m alice.key
            """)

    @Option(
        "--for", value: "time",
        help: "Time until the key is deleted: 45s, 30m, 8h or 2d, at most 30d.")
    var time = UnlockTime(seconds: 8 * 3600)

    @Flag(
        "--status",
        help:
            "Unlock nothing: print until when the identity is unlocked. Exits with 1 if it is locked."
    )
    var status = false

    @Flag("-q", "--quiet", help: "Print nothing on stderr.")
    var quiet = false

    @OptionGroup var identity: IdentityOptions

    @Argument("file", help: "Identity file. Default: as -i.")
    var file: String?

    let given = GivenArguments()

    func checkMode() throws { try given.check(for: status ? UnlockMode.status : .unlock) }

    func execute() throws {
        let path = try path(of: identity, file)
        if status { return try printStatus(of: path) }
        guard path != "-" else {
            throw Failure(.usage, "standard input cannot be unlocked", hint: "give a file name")
        }
        // Checked first, so that an unavailable keyring is reported before the passphrase is typed.
        do throws(Keyring.KeyringError) { try Keyring.check() } catch { throw Failure(error) }
        let unlocked = try IdentityFile.unlock(path, passphrase: identity.passphrase)
        do {
            try Keyring.keep(unlocked.fileKey, of: unlocked.file, seconds: time.seconds)
        } catch let error as Keyring.KeyringError {
            throw Failure(error)
        }
        guard !quiet else { return }
        let lock =
            "sotto keygen lock"
            + (path == (try? IdentityFile.defaultPath()) ? "" : " \(shellWord(path))")
        Terminal.say("\(KeygenTool.toolName): \(path) is unlocked for \(time); to lock it: \(lock)")
    }

    /// Prints whether tools ask for the passphrase of an identity. Throws a failure with status 1 if they do.
    private func printStatus(of path: String) throws {
        let output = try Output(path: "-", content: .text)
        let protection = try IdentityFile.protection(of: path)
        switch protection {
        case .none: try output.writeText("no passphrase\n")
        case .unlocked(let end): try output.writeText("unlocked until \(end)\n")
        case .locked: try output.writeText("locked\n")
        }
        try output.finish()
        if case .locked = protection { throw Failure(.no, "") }
    }
}

/// The ways to use `keygen unlock`, with the options of each.
enum UnlockMode: String, CommandMode {
    case unlock = ""
    case status = "--status"

    var takes: String {
        switch self {
        case .unlock: "--for -q -i --identity-passphrase <file>"
        case .status: "--status -i <file>"
        }
    }
}

/// `keygen lock`: ends `keygen unlock`.
struct LockCommand: Program {
    static let configuration = CommandConfiguration(
        name: "lock",
        abstract: "Lock an identity: the next tool asks for the passphrase again.",
        usage: "sotto keygen lock [--all] [FILE]")

    @Flag("--all", help: "Lock every identity that you unlocked.")
    var all = false

    @Flag("-q", "--quiet", help: "Print nothing on stderr.")
    var quiet = false

    @OptionGroup var identity: IdentityOptions

    @Argument("file", help: "Identity file. Default: as -i.")
    var file: String?

    func validate() throws {
        guard !all || file == nil && !identity.isGiven else {
            throw UsageError("--all cannot be combined with a file")
        }
    }

    func execute() throws {
        guard !all else {
            guard Keyring.deleteAll() > 0 else {
                throw Failure(.no, quiet ? "" : "no identity was unlocked")
            }
            return
        }
        let path = try path(of: identity, file)
        guard Keyring.delete(try IdentityFile.stored(path)) else {
            throw Failure(.no, quiet ? "" : "\(path) was not unlocked")
        }
    }
}

/// Returns the path of the argument, else of `-i` or its default.
private func path(of options: IdentityOptions, _ file: String?) throws -> String {
    guard let file else { return try options.identities.first ?? IdentityFile.defaultPath() }
    guard !options.isGiven else {
        throw Failure(.usage, "the identity is given twice: use either an argument or -i")
    }
    return file
}

/// A time in seconds, minutes, hours or days, such as `8h`.
struct UnlockTime: ExpressibleByArgument, CustomStringConvertible {
    let seconds: UInt32

    private static let limit: Int64 = 30 * 86_400

    init(seconds: UInt32) { self.seconds = seconds }

    /// Parses digits and a unit, from 1 second to 30 days.
    init?(argument: String) {
        guard let seconds = TimeSpan.seconds(argument, in: 1...Self.limit) else { return nil }
        self.seconds = UInt32(seconds)
    }

    static var argumentForm: String {
        "a number with s, m, h, d or w, from 1s to \(TimeSpan.text(limit))"
    }

    var argument: String { description }

    /// The time in the largest unit that gives a whole number.
    var description: String { TimeSpan.text(Int64(seconds)) }
}
