import Sotto

/// Identities for tests, made from new words.
enum People {
    static let alice = Identity(mnemonic: Mnemonic(randomWordCount: 24), name: "alice")
    static let bob = Identity(mnemonic: Mnemonic(randomWordCount: 12), name: "bob")
    static let carol = Identity(mnemonic: Mnemonic(randomWordCount: 24), name: "")

    static func ages(_ identity: Identity) -> [AgeIdentity] {
        [.hybrid(identity.hybridKey), .x25519(identity.ageKey)]
    }
}
