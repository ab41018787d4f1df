/// A passphrase that can be shared by reference; see ``SecretBytes``.
public final class Passphrase: Sendable {
    let secret: SecretBytes

    /// Creates a passphrase from UTF-8 bytes.
    public init(_ secret: consuming SecretBytes) { self.secret = secret.guarded() }
}
