/// A passphrase that can be shared by reference; see ``SecretBytes``.
public final class Passphrase: Sendable {
    let secret: SecretBytes

    /// Creates a passphrase from UTF-8 bytes.
    public init(_ secret: consuming SecretBytes) { self.secret = secret }

    /// Whether `other` is the same passphrase. Takes constant time for equal lengths.
    public func matches(_ other: Passphrase) -> Bool {
        secret.withBytes { a in
            other.secret.withBytes { b in constantTimeEqual(Array(a), Array(b)) }
        }
    }
}
