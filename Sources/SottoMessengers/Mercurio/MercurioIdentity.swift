public import Sotto

/// A Mercurio account's Ed25519 key, derived from the words by the iOS app's rule.
///
/// The app generates the account's key separately from its twelve words, so that restoring the words gives another
/// account. Here the key is derived from the words: the seed is the first 32 bytes of the BIP 39 seed, clamped as if it
/// were a scalar, which does not weaken it. The app has this Session ID after it restores these words. The words do not
/// restore the RSA key.
public final class MercurioIdentity: Sendable {
    /// The key that signs messages and the RSA key.
    let signing: SigningKey

    /// The account's id: `05` and the hexadecimal Ed25519 public key.
    public var id: KeyID { KeyID(publicKey: signing.publicKey) }

    /// The rule that derives the seed from the BIP 39 seed.
    public enum SeedRule: Sendable, CaseIterable {
        /// The first 32 bytes, clamped: the iOS app.
        case ios
        /// The first 32 bytes unchanged: the Flutter app.
        case flutter
    }

    /// Creates the account of a sentence. `passphrase` must be in NFKD; the apps use none.
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

    /// Returns the id of a conversation between two accounts: their ids in byte order, joined by `_`.
    public static func conversation(_ a: KeyID, _ b: KeyID) -> String {
        [a.description, b.description].sorted().joined(separator: "_")
    }
}

extension Identity {
    /// Returns the Mercurio account of the same words, by default under the iOS app's rule.
    public func mercurioIdentity(
        rule: MercurioIdentity.SeedRule = .ios
    ) throws(MnemonicError) -> MercurioIdentity {
        MercurioIdentity(mnemonic: try mnemonic(), passphrase: wordsPassphrase(), rule: rule)
    }
}
