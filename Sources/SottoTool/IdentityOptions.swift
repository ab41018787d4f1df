public import Arguments
public import Sotto

/// Where secret keys come from, as a command names them.
public protocol IdentitySource {
    /// The paths after `-i`.
    var identities: [String] { get }
    /// The passphrase of a protected one.
    var passphrase: SecretSource? { get }
    /// The identities that were opened before they were needed.
    var opened: OpenedIdentities? { get }
}

/// Identities that a tool opened before they were needed, so that it asks for a passphrase before it waits for input.
public final class OpenedIdentities {
    fileprivate var files: [String: IdentityFile] = [:]
    fileprivate init() {}
}

/// `-i` and what goes with it, for a tool that needs one identity.
public struct IdentityOptions: ArgumentGroup, IdentitySource {
    @Option(
        "-i", "--identity", value: "file",
        help: "Identity file. Default: $SOTTO_IDENTITY, else the default identity file.")
    var path: String?

    /// The path after `-i`, if any.
    public var identities: [String] { path.map { [$0] } ?? [] }

    /// The passphrase of a protected one.
    @Option(
        "--identity-passphrase", value: "source",
        help: "Passphrase of a protected identity: @ENV:NAME, @FD:N or @FILE:PATH. Default: ask.")
    public var passphrase: SecretSource?

    /// No options given.
    public init() {}

    /// Refuses a passphrase on the command line.
    public func validate() throws { try passphrase?.validate() }
}

/// As ``IdentityOptions``, for a tool that tries several.
public struct IdentityListOptions: ArgumentGroup, IdentitySource {
    /// The identities that were opened before they were needed.
    public let opened: OpenedIdentities? = OpenedIdentities()

    /// The paths after `-i`.
    @Option(
        "-i", "--identity", value: "file",
        help:
            "Identity file; may be repeated for files. Default: $SOTTO_IDENTITY, else the default identity file."
    )
    public var identities: [String] = []

    /// The passphrase of a protected one.
    @Option(
        "--identity-passphrase", value: "source",
        help: "Passphrase of a protected identity: @ENV:NAME, @FD:N or @FILE:PATH. Default: ask.")
    public var passphrase: SecretSource?

    /// No options given.
    public init() {}

    /// Refuses a passphrase on the command line.
    public func validate() throws { try passphrase?.validate() }
}

extension IdentitySource {
    /// Keeps none.
    public var opened: OpenedIdentities? { nil }

    /// Asks now for the passphrases that ``load()`` and ``loadAll(derivation:)`` would ask for later, when other text may be
    /// typed. Identities that need no question are left for later.
    public func askAhead() throws {
        guard passphrase == nil, let opened else { return }
        for path in identities.isEmpty ? [try IdentityFile.defaultPath()] : identities
        where IdentityFile.needsPassphrase(path) {
            opened.files[path] = try IdentityFile.read(path, passphrase: nil)
        }
    }

    /// The passphrase that other tools need to open the identity at `path`: that of the option, else one that is asked
    /// for. `nil` where they need none.
    public func passphraseForTools(_ path: String) throws -> SecretBytes? {
        if let passphrase { return try passphrase.read() }
        guard IdentityFile.needsPassphrase(path) else { return nil }
        return try Terminal.ask("Passphrase for \(path): ", secret: true)
    }

    private func read(
        _ path: String, derivation: OpenSSHKey.Derivation? = nil
    ) throws -> IdentityFile {
        try opened?.files[path]
            ?? IdentityFile.read(path, passphrase: passphrase, derivation: derivation)
    }

    /// Whether `-i` was given.
    public var isGiven: Bool { !identities.isEmpty }

    /// The files that these options have read, the default identity among them where it would be.
    public var files: [String] {
        var files = identities
        if files.isEmpty, let path = try? IdentityFile.defaultPath() { files.append(path) }
        if let path = passphrase?.path { files.append(path) }
        return files
    }

    /// Whether ``load()`` asks no question: there is an identity, and it is not protected, or unlocked, or its passphrase is
    /// given.
    public var needsNoPrompt: Bool {
        guard let path = try? files.first ?? IdentityFile.defaultPath(),
            IdentityFile.isRegularFile(path)
        else { return false }
        return passphrase != nil || !IdentityFile.needsPassphrase(path)
    }

    /// Our own identity: the only one given, or the default.
    public func load() throws -> Identity {
        guard identities.count <= 1 else {
            throw Failure(.usage, "one identity is needed here, and \(identities.count) are given")
        }
        return try load(path: identities.first ?? IdentityFile.defaultPath())
    }

    /// Our own identity from `path`.
    public func load(path: String) throws -> Identity {
        switch try read(path) {
        case .sotto(let identity): return identity
        case .age(let keys):
            let isSSH = keys.contains { if case .ssh = $0 { true } else { false } }
            throw Failure(
                .malformed,
                "\(path) holds \(isSSH ? "a key of OpenSSH" : "age keys"), and a sotto identity is needed here",
                hint: "make one with keygen")
        }
    }

    /// All keys that may open an age file; `derivation` is that of a key of OpenSSH under a passphrase.
    public func loadAll(derivation: @escaping OpenSSHKey.Derivation) throws -> [IdentityFile] {
        let paths = identities.isEmpty ? [try IdentityFile.defaultPath()] : identities
        return try paths.map { try read($0, derivation: derivation) }
    }
}

extension SecretSource {
    /// Reads the secret as a passphrase.
    public func passphrase() throws(Failure) -> Passphrase { Passphrase(try read()) }
}
