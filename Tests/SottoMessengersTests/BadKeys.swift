import TestSupport

/// The keys that every reader refuses, from the core's vectors.
enum BadKeys {
    struct Ed25519: Decodable {
        struct Bad: Decodable { let ed25519Public: Hex }
        let badPublicKeys: [Bad]
    }
    struct Points: Decodable {
        let x25519LowOrderPointsMustBeRefused: [Hex]
    }

    static func load() -> Ed25519 { Vectors.load("ed25519_x25519") }
    static func loadPoints() -> Points { Vectors.load("nacl") }
}
