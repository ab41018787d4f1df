public import Arguments
import Glibc
public import Sotto

/// Files with a key in them that are not ours alone: PEM and ECP1.
public enum KeyFile {
    private static let limit = 64 << 10

    /// The password of `source`, else one that is asked for.
    public static func password(of path: String, _ source: SecretSource?) throws -> SecretBytes {
        try source?.read() ?? Terminal.ask("Password for \(path): ", secret: true)
    }

    /// The RSA key for Mercurio in a file, PKCS #8 or PKCS #1, PEM or DER. Asks for the password of a key that has one, where
    /// none is given.
    public static func rsaKey(at path: String, _ source: SecretSource?) throws -> MercurioPrivateKey
    {
        var file = try contents(of: path)
        defer { wipe(&file) }
        if RSALoginKey.isEncrypted(file: file) {
            return try MercurioPrivateKey(
                encryptedFile: file, password: try password(of: path, source))
        }
        guard source == nil else { throw RSAKeyError.notEncrypted }
        return try MercurioPrivateKey(file: file)
    }

    /// The RSA key for Kecalek's login in a file; as ``rsaKey(at:_:)``.
    public static func loginKey(at path: String, _ source: SecretSource?) throws -> RSALoginKey {
        var file = try contents(of: path)
        defer { wipe(&file) }
        if RSALoginKey.isEncrypted(file: file) {
            return try RSALoginKey(encryptedFile: file, password: try password(of: path, source))
        }
        guard source == nil else { throw RSAKeyError.notEncrypted }
        return try RSALoginKey(file: file)
    }

    /// Reads a key file, and refuses one without a password that other users can read.
    private static func contents(of path: String) throws(Failure) -> [UInt8] {
        let file = try Input(path: path).readAll(limit: limit)
        var status = stat()
        if path != "-", !RSALoginKey.isEncrypted(file: file), stat(path, &status) == 0,
            status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o077 != 0
        {
            throw Failure(
                .permission, "others can read the key \(path)", hint: "chmod 600 \(shellWord(path))"
            )
        }
        return file
    }
}

/// How a key file is protected.
public struct PasswordOptions: ArgumentGroup {
    /// Its source.
    @Option(
        "--password", value: "source",
        help: "Password of the key file: @ENV:NAME, @FD:N or @FILE:PATH. Default: ask.")
    public var password: SecretSource?

    /// No options given.
    public init() {}

    /// Refuses a password on the command line.
    public func validate() throws { try password?.validate() }
}
