public import Arguments
public import Sotto

/// The identity files that a command uses.
public protocol IdentitySource {
    /// The paths given with `-i`.
    var identities: [String] { get }
    /// The source of the passphrase of a protected identity.
    var passphrase: SecretSource? { get }
    /// The identities that were read before they are needed.
    var opened: OpenedIdentities? { get }
}

/// The identity files of a command line, as a plain value for the code below the options.
public struct IdentityChoice: IdentitySource {
    /// The given paths; empty for the default identity.
    public let identities: [String]
    /// The source of the passphrase of a protected identity; `nil` for a prompt.
    public let passphrase: SecretSource?
    /// The identities that were read before they are needed.
    public let opened: OpenedIdentities?
}

/// Identities that a tool reads before they are needed, so that it asks for a passphrase before it waits for input, and those whose
/// passphrase cannot be read again.
public final class OpenedIdentities {
    fileprivate var files: [String: IdentityFile] = [:]
    fileprivate init() {}
}

/// `-i` and related options, for a tool that needs one identity.
public struct IdentityOptions: ArgumentGroup, IdentitySource {
    @Option(
        "-i", "--identity", value: "file",
        help: "Identity file. Default: $SOTTO_IDENTITY, else the default identity file.")
    var path: String?

    /// The path given with `-i`, if any.
    public var identities: [String] { path.map { [$0] } ?? [] }

    /// The source of the passphrase of a protected identity.
    @Option(
        "--identity-passphrase", value: "source",
        help: "Passphrase of a protected identity: @ENV:NAME, @FD:N or @FILE:PATH. Default: ask.")
    public var passphrase: SecretSource?

    /// Creates the options with none given.
    public init() {}

    /// Throws if the passphrase itself was given on the command line.
    public func validate() throws { try passphrase?.validate() }
}

/// The same options as ``IdentityOptions``, for a tool that tries several identities.
public struct IdentityListOptions: ArgumentGroup, IdentitySource {
    /// The identities that were read before they are needed.
    public let opened: OpenedIdentities? = OpenedIdentities()

    /// The paths given with `-i`.
    @Option(
        "-i", "--identity", value: "file",
        help:
            "Identity file; may be repeated for files. Default: $SOTTO_IDENTITY, else the default identity file."
    )
    public var identities: [String] = []

    /// The source of the passphrase of a protected identity.
    @Option(
        "--identity-passphrase", value: "source",
        help: "Passphrase of a protected identity: @ENV:NAME, @FD:N or @FILE:PATH. Default: ask.")
    public var passphrase: SecretSource?

    /// Creates the options with none given.
    public init() {}

    /// Throws if the passphrase itself was given on the command line.
    public func validate() throws { try passphrase?.validate() }
}

extension IdentitySource {
    /// `nil`: no identity is stored.
    public var opened: OpenedIdentities? { nil }

    /// The option `-i` for each given identity, for the command in a hint.
    public var identityOption: String {
        identities.map { " -i " + shellWord($0) }.joined()
    }

    /// The plain value of these options.
    public var choice: IdentityChoice {
        IdentityChoice(
            identities: identities, passphrase: passphrase, opened: opened ?? OpenedIdentities())
    }

    /// Asks now for the passphrases that ``load()`` and ``loadAll(derivation:)`` would ask for later, when other text
    /// may be typed. Identities that need no prompt are read later.
    public func askAhead() throws {
        guard passphrase == nil, let opened else { return }
        for path in identities.isEmpty ? [try IdentityFile.defaultPath()] : identities
        where IdentityFile.needsPassphrase(path) {
            opened.files[path] = try IdentityFile.read(path, passphrase: nil)
        }
    }

    /// Returns the passphrase that other tools need to open the identity at `path`, from the option or a prompt, or
    /// `nil` if none is needed.
    public func passphraseForTools(_ path: String) throws -> SecretBytes? {
        if let passphrase { return try passphrase.read() }
        guard IdentityFile.needsPassphrase(path) else { return nil }
        return try IdentityFile.askPassphrase(of: path)
    }

    private func read(
        _ path: String, derivation: OpenSSHKey.Derivation? = nil
    ) throws -> IdentityFile {
        if let known = opened?.files[path] { return known }
        let file = try IdentityFile.read(path, passphrase: passphrase, derivation: derivation)
        // A descriptor has the passphrase once.
        if case .descriptor? = passphrase { opened?.files[path] = file }
        return file
    }

    /// Whether `-i` was given.
    public var isGiven: Bool { !identities.isEmpty }

    /// The files that these options read, including the default identity if it is used.
    public var files: [String] {
        var files = identities
        if files.isEmpty, let path = try? IdentityFile.defaultPath() { files.append(path) }
        if let path = passphrase?.path { files.append(path) }
        return files
    }

    /// Whether ``load()`` shows no prompt: the identity exists, and it is not protected, is unlocked, or its passphrase
    /// is given.
    public var needsNoPrompt: Bool {
        guard let path = try? files.first ?? IdentityFile.defaultPath(),
            IdentityFile.isRegularFile(path)
        else { return false }
        return passphrase != nil || !IdentityFile.needsPassphrase(path)
    }

    /// Returns the identity: the only given one, or the default.
    public func load() throws -> Identity {
        guard identities.count <= 1 else {
            throw Failure(.usage, "one identity is needed here, but \(identities.count) are given")
        }
        return try load(path: identities.first ?? IdentityFile.defaultPath())
    }

    /// Reads the identity at `path`.
    public func load(path: String) throws -> Identity {
        switch try read(path) {
        case .sotto(let identity): return identity
        case .age(let keys):
            let isSSH = keys.contains { if case .ssh = $0 { true } else { false } }
            throw Failure(
                .malformed,
                "\(path) contains \(isSSH ? "an OpenSSH key" : "age keys"), but a sotto identity is needed here",
                hint: "create one with sotto keygen -o FILE")
        }
    }

    /// Returns the identity of the argument `file`, else of `-i` or its default. Throws a failure with status 64 if both
    /// are given.
    public func load(argument file: String?) throws -> Identity {
        guard let file else { return try load() }
        guard !isGiven else {
            throw Failure(.usage, "the identity is given twice: use either an argument or -i")
        }
        return try load(path: file)
    }

    /// Returns all keys that may decrypt an age file. `derivation` decrypts an OpenSSH key with a passphrase.
    public func loadAll(derivation: @escaping OpenSSHKey.Derivation) throws -> [IdentityFile] {
        let paths = identities.isEmpty ? [try IdentityFile.defaultPath()] : identities
        return try paths.map { try read($0, derivation: derivation) }
    }
}

extension SecretSource {
    /// Reads the secret as a passphrase.
    public func passphrase() throws(Failure) -> Passphrase { Passphrase(try read()) }
}
