public import Arguments
import Glibc
public import Sotto

/// Key files in the formats of other programs: PEM and ECP1.
public enum KeyFile {
    private static let limit = 64 << 10

    /// Returns the password of `source`, or asks for it.
    public static func password(of path: String, _ source: SecretSource?) throws -> SecretBytes {
        try source?.read() ?? Terminal.ask("Password for \(path): ", secret: true)
    }

    /// Reads an RSA key from a file: PKCS #8 or PKCS #1, PEM or DER. Asks for the password of an encrypted key if
    /// `source` is `nil`. `plain` and `encrypted` parse the two forms.
    public static func rsaKey<Key>(
        at path: String, _ source: SecretSource?, plain: ([UInt8]) throws -> Key,
        encrypted: ([UInt8], borrowing SecretBytes) throws -> Key
    ) throws -> Key {
        var file = try contents(of: path)
        defer { wipe(&file) }
        if RSALoginKey.isEncrypted(file: file) {
            return try encrypted(file, try password(of: path, source))
        }
        guard source == nil else { throw RSAKeyError.notEncrypted }
        return try plain(file)
    }

    /// Reads the RSA key for a login from a file, like ``rsaKey(at:_:plain:encrypted:)``.
    package static func loginKey(at path: String, _ source: SecretSource?) throws -> RSALoginKey {
        try rsaKey(at: path, source) {
            try RSALoginKey(file: $0)
        } encrypted: {
            try RSALoginKey(encryptedFile: $0, password: $1)
        }
    }

    /// Reads a key file; refuses one without a password that other users can read.
    private static func contents(of path: String) throws(Failure) -> [UInt8] {
        let file = try Input(path: path).readText(limit: limit)
        var status = stat()
        if path != "-", !RSALoginKey.isEncrypted(file: file), stat(path, &status) == 0,
            status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o077 != 0
        {
            throw Failure(
                .permission, "other users can read the key \(path)",
                hint: "chmod 600 \(shellWord(path))"
            )
        }
        return file
    }
}

/// The option for the password of a key file.
public struct PasswordOptions: ArgumentGroup {
    /// The source of the password.
    @Option(
        "--password", value: "source",
        help: "Password of the key file: @ENV:NAME, @FD:N or @FILE:PATH. Default: ask.")
    public var password: SecretSource?

    /// Creates the options with none given.
    public init() {}

    /// Throws if the password itself was given on the command line.
    public func validate() throws { try password?.validate() }
}
