import Crypto

/// A key for people: 30 digits in six groups, from SHA-512 iterated 5200 times.
public struct Fingerprint: Sendable, Hashable {
    /// Which key bytes are hashed, and how two fingerprints are put in order.
    public enum Style: String, Sendable, CaseIterable {
        /// The 32-byte Ed25519 key; the two halves in the order of the user ids' bytes.
        case sotto
        /// As libsignal: `0x05` and the 32-byte X25519 key; the halves in the order of their digits.
        case signal
    }

    /// How many times SHA-512 is applied.
    public static let rounds = 5200

    /// The user id that is hashed in with the key.
    public let userID: String
    /// The key as it is hashed: 32 bytes, or 33 for ``Style/signal``.
    public let key: [UInt8]
    /// The 30 digits.
    public let digits: String

    /// The fingerprint of a key that belongs to `userID`.
    public init(userID: String, key: [UInt8]) {
        self.userID = userID
        self.key = key
        var hash = sha512([0, 0] + key + Array(userID.utf8) + key)
        for _ in 1..<Self.rounds {
            var hasher = SHA512()
            hasher.update(data: hash)
            hasher.update(data: key)
            hash = Array(hasher.finalize())
        }
        digits = (0..<6).map { group in
            let value = hash[(group * 5)..<(group * 5 + 5)].reduce(UInt64(0)) {
                $0 << 8 | UInt64($1)
            }
            let text = String(value % 100_000)
            return String(repeating: "0", count: 5 - text.count) + text
        }.joined()
    }

    /// The fingerprint of an identity's key; for ``Style/signal`` of its X25519 form.
    public init?(_ id: SessionID, style: Style = .sotto) {
        switch style {
        case .sotto: self.init(userID: id.description, key: id.publicKey)
        case .signal:
            guard let key = x25519PublicKey(fromEd25519: id.publicKey) else { return nil }
            self.init(userID: id.description, key: [5] + key)
        }
    }

    /// Digits in groups of five.
    public static func grouped(_ digits: String) -> String {
        stride(from: 0, to: digits.count, by: 5)
            .map { String(digits.dropFirst($0).prefix(5)) }.joined(separator: " ")
    }

    /// The 60-digit safety number of two fingerprints; the same for both sides.
    public static func safetyNumber(_ a: Fingerprint, _ b: Fingerprint, style: Style) -> String {
        let isOrdered: Bool
        switch style {
        case .sotto:
            let (first, second) = (Array(a.userID.utf8), Array(b.userID.utf8))
            isOrdered =
                first == second
                ? !b.key.lexicographicallyPrecedes(a.key) : first.lexicographicallyPrecedes(second)
        case .signal: isOrdered = a.digits <= b.digits
        }
        return isOrdered ? a.digits + b.digits : b.digits + a.digits
    }
}
