/// A Mercurio account's Ed25519 key, from the words by the iOS app's rule.
///
/// The app makes the account's key at random and its twelve words apart from it, so that restoring gives another
/// account. Here the words come first: the seed is the first 32 bytes of the BIP 39 seed, clamped as if it were a
/// scalar, which does no harm. The app that restores these words has this Session ID. The RSA key is not in
/// the words.
public final class MercurioIdentity: Sendable {
    /// Signs messages and the RSA key.
    let signing: SigningKey

    /// The account's name: `05` and the Ed25519 public key.
    public var id: SessionID { SessionID(publicKey: signing.publicKey) }

    /// How the seed comes from the BIP 39 seed.
    public enum SeedRule: Sendable, CaseIterable {
        /// Clamped: the iOS app.
        case ios
        /// As it is: the Flutter app.
        case flutter
    }

    /// The account of a sentence; `passphrase` must be in NFKD, and is empty in the apps.
    public init(mnemonic: Mnemonic, passphrase: String = "", rule: SeedRule = .ios) {
        let seed = mnemonic.seed(passphrase: passphrase)
        signing = SigningKey(
            seed: SecretBytes(count: 32) { out in
                seed.withBytes { out.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<32])) }
                if rule == .ios {
                    out[0] &= 0xF8
                    out[31] = out[31] & 0x7F | 0x40
                }
            })
    }

    /// The id of a conversation between two accounts: their ids in the order of their bytes, joined by `_`.
    public static func conversation(_ a: SessionID, _ b: SessionID) -> String {
        [a.description, b.description].sorted().joined(separator: "_")
    }
}

extension Identity {
    /// The Mercurio account of the same words, under the iOS app's rule unless told otherwise.
    public func mercurioIdentity(
        rule: MercurioIdentity.SeedRule = .ios
    ) throws(MnemonicError) -> MercurioIdentity {
        MercurioIdentity(mnemonic: try mnemonic(), passphrase: wordsPassphrase(), rule: rule)
    }
}
