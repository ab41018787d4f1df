public import Arguments
import Glibc
public import Sotto

/// The output options of a new identity.
public struct SavingOptions: ArgumentGroup {
    /// The name in the card.
    @Option("--name", value: "name", help: "Your name, included in the card.")
    public var name = ""

    /// The file to create.
    @Option(
        "-o", "--output", value: "file",
        help:
            "Identity file to create, mode 0600; `-` is stdout. Default: the default identity file if stdout is a terminal."
    )
    public var output: String?

    /// Whether the file gets a passphrase.
    @Flag(
        "--protect",
        help: "Protect the file with a passphrase; asks for it without --passphrase.")
    public var protect = false

    /// The source of the passphrase.
    @Option(
        "--passphrase", value: "source",
        help: "Passphrase for --protect: @ENV:NAME, @FD:N or @FILE:PATH.")
    public var passphrase: SecretSource?

    /// Whether only warnings and the words are printed.
    @Flag("-q", "--quiet", help: "Print only warnings on stderr, and on a terminal the words.")
    public var quiet = false

    /// The path of the new file for the argument of another command, or `nil` if it is the default or unknown.
    public var namedFile: String? {
        output.flatMap { $0 == "-" || $0 == (try? IdentityFile.defaultPath()) ? nil : $0 }
    }

    /// Creates the options with none given.
    public init() {}

    /// Throws for an invalid combination.
    public func validate() throws {
        try passphrase?.validate()
        try checkName(name)
        guard passphrase == nil || protect else {
            throw UsageError("--passphrase requires --protect")
        }
    }

    /// Opens the output before any other work, so that an existing file is reported first, and then asks for the
    /// passphrase, so that no slow step precedes the prompt. `tool` is the name in messages.
    public func open(tool: String) throws -> Destination {
        var path = output
        if path == nil {
            guard Terminal.isTerminal(1) else { throw Failure.unnamedSecret }
            path = try IdentityFile.defaultPath()
        }
        return try Self.open(
            path, protect: protect, passphrase: passphrase, tool: tool, quiet: quiet)
    }

    /// Opens a new file like ``open(tool:)``, for a command without these options.
    public static func open(
        _ path: String?, protect: Bool, passphrase: SecretSource?, tool: String, quiet: Bool
    ) throws -> Destination {
        if let path, path == (try? IdentityFile.defaultPath()) { try makeDirectory(of: path) }
        let output = try Output(path: path, content: .text, replacing: false)
        output.keepPrivate(tool: tool, quiet: quiet)
        return Destination(
            output: output,
            passphrase: protect
                ? Passphrase(try NewSecret("passphrase", tool: tool).read(passphrase)) : nil)
    }

    /// A new identity file with its passphrase.
    public struct Destination {
        fileprivate let output: Output
        fileprivate let passphrase: Passphrase?
        /// The file under the passphrase, and the sink for its content.
        private var protected: (file: MemorySink, content: any ByteSink)?

        fileprivate init(output: Output, passphrase: Passphrase?) {
            self.output = output
            self.passphrase = passphrase
        }

        /// Derives the key of the passphrase, if one was asked for, so that ``save(_:)`` takes no time.
        public mutating func deriveKey() throws { protected = try protectedFile() }

        private func protectedFile() throws -> (file: MemorySink, content: any ByteSink)? {
            try passphrase.map {
                let file = MemorySink()
                return (file, try AgeFile.writer(for: .passphrase($0), armored: true, to: file))
            }
        }

        /// Writes the identity, under the passphrase if one was asked for.
        public func save(_ identity: Identity) throws {
            let line = identity.record.serialized() + [UInt8(ascii: "\n")]
            if let (file, content) = try protected ?? protectedFile() {
                try content.write(line)
                try content.finish()
                try output.write(file.bytes)
            } else {
                try output.write(line)
            }
            try output.finish()
        }
    }

    private static func makeDirectory(of path: String) throws(Failure) {
        var made = ""
        for part in path.split(separator: "/", omittingEmptySubsequences: false).dropLast() {
            made += part + "/"
            if made != "/", mkdir(made, 0o700) != 0, errno != EEXIST {
                throw Failure(errno: errno, "create", made)
            }
        }
    }

    /// Writes the identity, under the passphrase if one was asked for.
    public func save(_ identity: Identity, to destination: Destination) throws {
        try destination.save(identity)
    }
}

/// Throws a usage error for an invalid name of a card or a chat.
public func checkName(_ name: String) throws {
    guard name.utf8.count <= 128 else {
        throw UsageError("a name must have at most 128 bytes")
    }
    guard !name.unicodeScalars.contains(where: \.isInvisible) else {
        throw UsageError("a name must not have control or invisible characters")
    }
}
