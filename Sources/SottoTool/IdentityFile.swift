import Glibc
public import Sotto

/// The content of an identity file.
public enum IdentityFile {
    /// A sotto identity.
    case sotto(Identity)
    /// Keys of `age-keygen`, one per line, or an Ed25519 private key of OpenSSH, with or without a passphrase.
    case age([AgeIdentity])

    private static let limit = 1 << 20

    /// The age identities in the file, the post-quantum one first; for a sotto identity also the key that `keygen
    /// export ssh` writes.
    public var ageIdentities: [AgeIdentity] {
        switch self {
        case .sotto(let identity):
            [
                .hybrid(identity.hybridKey), .x25519(identity.ageKey),
                .ssh(AgeSSHIdentity(identity.signingKey)),
            ]
        case .age(let identities): identities
        }
    }

    /// Returns `$SOTTO_IDENTITY`, else `$XDG_CONFIG_HOME/sotto/identity`, else `~/.config/sotto/identity`.
    public static func defaultPath() throws(Failure) -> String { try defaultIdentityPath() }

    /// Returns whether `path` is the file at ``defaultPath()``, also through a link.
    package static func isDefault(_ path: String) -> Bool {
        var (given, own) = (stat(), stat())
        guard path != "-", stat(path, &given) == 0, let known = try? defaultPath(),
            stat(known, &own) == 0
        else { return false }
        return given.st_dev == own.st_dev && given.st_ino == own.st_ino
    }

    /// Reads a file; refuses a file that other users can read. Asks for the passphrase of a protected file that is not
    /// unlocked in the ``Keyring``; a given passphrase is used in any case.
    ///
    /// An OpenSSH key with a passphrase is decrypted by `derivation` when it is first used. Without `derivation` it
    /// cannot be used.
    public static func read(
        _ path: String, passphrase: SecretSource?, derivation: OpenSSHKey.Derivation? = nil
    ) throws -> IdentityFile {
        var (text, _) = try openContents(of: path, passphrase: passphrase, withKeyring: true)
        defer { wipe(&text) }
        return try parse(text, path: path, passphrase: passphrase, derivation: derivation)
    }

    /// Returns the plaintext of an identity file, and the protected file if it has a passphrase. Asks for the
    /// passphrase even if the file is unlocked. Throws like ``read(_:passphrase:derivation:)``, and for a file that is
    /// not an identity.
    public static func content(
        of path: String, passphrase: SecretSource?
    ) throws -> (text: [UInt8], protected: [UInt8]?) {
        let content = try openContents(of: path, passphrase: passphrase, withKeyring: false)
        _ = try parse(content.text, path: path, passphrase: passphrase, derivation: nil)
        return content
    }

    /// Returns the content of an identity file with its text changed by `change`. A protected file keeps its header, so that
    /// the passphrase stays and an unlocked file stays unlocked. Asks for the passphrase of a locked file; a given one is used
    /// in any case.
    static func changed(
        _ path: String, passphrase source: SecretSource?,
        _ change: (inout [UInt8]) throws -> Void
    ) throws -> [UInt8] {
        let file = try contents(of: path)
        guard AgeFormat.isAge(file) else {
            var text = file
            try change(&text)
            return text
        }
        let fileKey = try fileKey(of: file, path, source)
        var text = try AgeFileReader.open(file, fileKey: fileKey)
        defer { wipe(&text) }
        try change(&text)
        return try AgeFile.sealAgain(text, in: file, fileKey: fileKey)
    }

    private static func fileKey(
        of file: [UInt8], _ path: String, _ source: SecretSource?
    ) throws -> SecretBytes {
        if source == nil, let known = Keyring.fileKey(of: file) { return known }
        return try opening(path) {
            try AgeFile.fileKey(of: file) { try passphrase(source, of: path) }
        }
    }

    /// Returns the protected identity file at `path` and its file key, decrypted with its passphrase. Throws a failure
    /// with status 1 for a file without a passphrase, and like ``content(of:passphrase:)``.
    public static func unlock(
        _ path: String, passphrase source: SecretSource?
    ) throws -> UnlockedFile {
        let file = try contents(of: path)
        guard AgeFormat.isAge(file) else {
            _ = try parse(file, path: path, passphrase: nil, derivation: nil)
            throw Failure(.no, "\(path) has no passphrase and is always unlocked")
        }
        let fileKey = try opening(path) {
            try AgeFile.fileKey(of: file) { try passphrase(source, of: path) }
        }
        var text = try AgeFileReader.open(file, fileKey: fileKey)
        defer { wipe(&text) }
        _ = try parse(text, path: path, passphrase: nil, derivation: nil)
        return UnlockedFile(file: file, fileKey: fileKey)
    }

    /// Returns the content of the identity file at `path` as stored on disk, encrypted or not.
    public static func stored(_ path: String) throws -> [UInt8] { try contents(of: path) }

    /// The passphrase of an identity file.
    public enum Protection: Sendable {
        /// The file has no passphrase.
        case none
        /// It is not asked for until this time.
        case unlocked(until: Timestamp)
        /// It is asked for.
        case locked
    }

    /// Returns whether the identity at `path` has a passphrase, and until when it is unlocked in the ``Keyring``. Throws like
    /// ``read(_:passphrase:derivation:)`` for a file that cannot be read.
    public static func protection(of path: String) throws -> Protection {
        let file = try contents(of: path)
        guard AgeFormat.isAge(file) else { return .none }
        return Keyring.end(of: file).map { .unlocked(until: $0) } ?? .locked
    }

    /// Returns whether the identity at `path` is protected and locked, see ``Keyring``. False for a file that cannot be
    /// read, and for a pipe, which can be read only once.
    static func needsPassphrase(_ path: String) -> Bool {
        guard isRegularFile(path), let file = try? contents(of: path), AgeFormat.isAge(file) else {
            return false
        }
        return !Keyring.has(file)
    }

    /// Returns whether `path` is a regular file or a link to one.
    static func isRegularFile(_ path: String) -> Bool {
        var status = stat()
        return path != "-" && stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    private static func openContents(
        of path: String, passphrase: SecretSource?, withKeyring: Bool
    ) throws -> (text: [UInt8], protected: [UInt8]?) {
        let file = try contents(of: path)
        guard AgeFormat.isAge(file) else { return (file, nil) }
        if withKeyring, passphrase == nil, let fileKey = Keyring.fileKey(of: file),
            let text = try? AgeFileReader.open(file, fileKey: fileKey)
        {
            return (text, file)
        }
        return (try unprotect(file, path: path) { try self.passphrase(passphrase, of: path) }, file)
    }

    private static func parse(
        _ text: [UInt8], path: String, passphrase: SecretSource?,
        derivation: OpenSSHKey.Derivation?
    ) throws -> IdentityFile {
        if OpenSSHKey.isOpenSSH(text) {
            switch try OpenSSHKey.read(pem: text) {
            case .plain(let key): return .age([.ssh(AgeSSHIdentity(key))])
            case .protected(let key):
                let identity = AgeSSHIdentity(publicKey: key.publicKey) {
                    try unlock(key, path: path, passphrase: passphrase, derivation: derivation)
                }
                return .age([.ssh(identity)])
            }
        }
        if let key = ForeignKey(text) { throw key.isNoIdentity(path) }
        let start = text.firstIndex { $0 > 0x20 } ?? text.endIndex
        if text[start...].first == UInt8(ascii: "{") {
            let record = try JSON.object(parsing: text)
            if record["type"]?.string == "contact" { throw isCard(path) }
            return .sotto(try Identity(record: record))
        }
        var identities: [AgeIdentity] = []
        for (index, line) in text.split(separator: UInt8(ascii: "\n")).enumerated() {
            let line = String(decoding: line, as: UTF8.self).filter { !$0.isWhitespace }
            if line.isEmpty || line.hasPrefix("#") { continue }
            guard let identity = AgeIdentity(line) else {
                guard !line.uppercased().hasPrefix("AGE-PLUGIN-") else {
                    throw Failure(
                        .malformed,
                        "\(path) is the identity of an age plugin, and plugins are not supported",
                        hint: "open the file with the program age")
                }
                throw Failure(
                    .malformed, "\(path) is not an identity (line \(index + 1))",
                    hint: "use a sotto identity file or a file of AGE-SECRET-KEY-… lines")
            }
            identities.append(identity)
        }
        guard !identities.isEmpty else { throw Failure(.malformed, "\(path) contains no identity") }
        return .age(identities)
    }

    private static func isCard(_ path: String) -> Failure {
        Failure(
            .malformed, "\(path) is a card, but an identity is needed here",
            hint: "use the file that sotto keygen created")
    }

    private static func contents(of path: String) throws(Failure) -> [UInt8] {
        var status = stat()
        if path != "-", stat(path, &status) != 0 {
            let errno = errno
            if GivenSecret.isSecret(path) { throw GivenSecret.isNoFile }
            throw Failure(
                Failure.meaning(of: errno).0,
                "cannot read the identity \(path): \(Failure.text(of: errno))",
                hint: errno == ENOENT ? creation(of: path) : nil)
        }
        if path != "-", status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o077 != 0 {
            let text = try Input(path: path).readText(limit: limit)
            guard (try? JSON.object(parsing: text))?["type"]?.string != "contact" else {
                throw isCard(path)
            }
            throw Failure(
                .permission, "other users can read the identity \(path)",
                hint: "chmod 600 \(shellWord(path))")
        }
        return try Input(path: path).readText(limit: limit)
    }

    private static func unlock(
        _ key: ProtectedOpenSSHKey, path: String, passphrase: SecretSource?,
        derivation: OpenSSHKey.Derivation?
    ) throws -> SigningKey {
        guard let derivation else {
            throw Failure(.malformed, "the OpenSSH key \(path) is protected by a passphrase")
        }
        do {
            return try key.open(self.passphrase(passphrase, of: path), derivation: derivation)
        } catch OpenSSHKeyError.wrongPassphrase {
            throw Failure(.noKey, "the passphrase of the OpenSSH key \(path) is wrong")
        }
    }

    private static func passphrase(_ source: SecretSource?, of path: String) throws -> Passphrase {
        if let source { return try source.passphrase() }
        return Passphrase(try askPassphrase(of: path))
    }

    /// Asks for the passphrase of the identity at `path`. Without a terminal, the failure tells how to unlock it.
    static func askPassphrase(of path: String) throws -> SecretBytes {
        do throws(Failure) {
            return try Terminal.ask("Passphrase for \(path): ", secret: true)
        } catch {
            guard error.status == .configuration else { throw error }
            let file = path == (try? defaultPath()) ? "" : " " + shellWord(path)
            throw Failure(
                .configuration,
                "the identity \(path) is locked, and no terminal is available for its passphrase",
                hint:
                    "unlock it for some hours: sotto keygen unlock\(file), or give --identity-passphrase @FILE:PATH"
            )
        }
    }

    /// Returns the hint for a missing file: the command that creates it.
    private static func creation(of path: String) -> String {
        path == (try? defaultPath())
            ? "create your identity: sotto init"
            : "create one: sotto keygen -o \(shellWord(path))"
    }

    private static func unprotect(
        _ file: [UInt8], path: String, passphrase: () throws -> Passphrase?
    ) throws -> [UInt8] {
        try opening(path) {
            try AgeFileReader.open(file, identities: [], passphrase: passphrase)
        }
    }

    private static func opening<Content: ~Copyable>(
        _ path: String, _ open: () throws -> Content
    ) throws -> Content {
        do {
            return try open()
        } catch AgeError.wrongPassphrase {
            throw Failure(.noKey, "the passphrase of the identity \(path) is wrong")
        } catch AgeError.noMatch {
            throw Failure(
                .malformed, "\(path) is an age file encrypted to keys, not with a passphrase")
        }
    }
}

/// A protected identity file, and the key that decrypts it without the passphrase.
public struct UnlockedFile: ~Copyable {
    /// The file's content.
    public let file: [UInt8]
    /// Its file key, 16 bytes.
    public let fileKey: SecretBytes
}
