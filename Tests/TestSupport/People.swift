package import Sotto

/// Identities for tests, made from new words.
package enum People {
    package static let alice = Identity(mnemonic: Mnemonic(randomWordCount: 24), name: "alice")
    package static let bob = Identity(mnemonic: Mnemonic(randomWordCount: 12), name: "bob")
    package static let carol = Identity(mnemonic: Mnemonic(randomWordCount: 24), name: "")

    package static func ages(_ identity: Identity) -> [AgeIdentity] {
        [.hybrid(identity.hybridKey), .x25519(identity.ageKey)]
    }
}
