public import Arguments
public import Sotto
public import SottoProgram

/// The options of a command that exports a backup.
public struct BackupOptions: ArgumentGroup {
    /// Whether a backup is written.
    @Flag(
        "--backup",
        help: "Write a signed backup as an age file, encrypted to your own post-quantum key.")
    public var isBackup = false

    /// The source of a passphrase that replaces the key.
    @Option(
        "--passphrase", value: "source",
        help: "Encrypt the backup with this passphrase instead: @ENV:NAME, @FD:N or @FILE:PATH.")
    public var passphrase: SecretSource?

    /// The file to write.
    @Option(
        "-o", "--output", value: "file",
        help: "Write to this file, which is created only when complete; `-` is stdout.")
    public var output: String?

    /// Creates the options with none given.
    public init() {}

    /// Throws ``UsageError`` for a passphrase without a backup.
    public func validate() throws {
        try passphrase?.validate()
        guard isBackup || passphrase == nil else {
            throw UsageError("--passphrase requires --backup")
        }
    }

    /// Throws if the output is a file that the command reads.
    public func checkOutput(_ identity: IdentityOptions) throws {
        try Output.check(
            output, isNoneOf: identity.files + [passphrase?.path].compactMap(\.self))
    }
}

extension AgeFile {
    /// Returns a sink that encrypts a backup of `identity` to its post-quantum key, or with a passphrase if its source is
    /// given.
    public static func backupWriter(
        of identity: Identity, passphrase: SecretSource?, to output: Output
    ) throws -> any ByteSink {
        let access: AgeAccess =
            try passphrase.map { .passphrase(try $0.passphrase()) }
            ?? .recipients([.hybrid(identity.hybridKey.recipient)])
        return try writer(for: access, to: output)
    }
}

/// The option of a command that imports a backup.
public struct BackupPassphrase: ArgumentGroup {
    /// The source of the passphrase.
    @Option(
        "--passphrase", value: "source",
        help: "Passphrase of the backup: @ENV:NAME, @FD:N or @FILE:PATH. Default: ask.")
    public var source: SecretSource?

    /// Creates the options with none given.
    public init() {}

    /// Throws if the passphrase itself was given on the command line.
    public func validate() throws { try source?.validate() }

    /// Returns the decrypted content of a backup of this identity, or `nil` if the input is no age file. Throws a
    /// failure with status 64 if a passphrase was given for such an input.
    public func open(_ input: PeekingSource, of identity: Identity) throws -> (any ByteSource)? {
        guard AgeFormat.isAge(try input.peek(64)) else {
            guard source == nil else {
                throw Failure(
                    .usage, "--passphrase is only for a backup, but the input is not one")
            }
            return nil
        }
        return try AgeFileReader(input, identities: IdentityFile.sotto(identity).ageIdentities) {
            try source?.passphrase()
                ?? Passphrase(try Terminal.ask("Passphrase of the backup: ", secret: true))
        }
    }
}
