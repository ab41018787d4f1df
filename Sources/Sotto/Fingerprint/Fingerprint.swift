import Crypto

/// A key fingerprint that users compare: 30 digits in six groups, from SHA-512 iterated 5200 times.
public struct Fingerprint: Sendable, Hashable {
    /// The key bytes that are hashed, and the order of two fingerprints in a safety number.
    public enum Style: String, Sendable, CaseIterable {
        /// The 32-byte Ed25519 key. The two halves are in the order of the user ids' bytes.
        case sotto
        /// As in libsignal: `0x05` and the 32-byte X25519 key. The two halves are in the order of their digits.
        case signal
    }

    /// The number of SHA-512 iterations.
    public static let rounds = 5200

    /// The user id, which is hashed with the key.
    public let userID: String
    /// The key bytes that are hashed: 32 bytes, or 33 for ``Style/signal``.
    public let key: [UInt8]
    /// The 30 digits.
    public let digits: String

    /// Creates the fingerprint of a key that belongs to `userID`.
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

    /// Creates the fingerprint of an id's Ed25519 key, or of its X25519 form for ``Style/signal``. Returns `nil` if it
    /// has no X25519 form.
    public init?(_ id: KeyID, style: Style = .sotto) {
        switch style {
        case .sotto: self.init(userID: id.description, key: id.publicKey)
        case .signal:
            guard let key = x25519PublicKey(fromEd25519: id.publicKey) else { return nil }
            self.init(userID: id.description, key: [5] + key)
        }
    }

    /// Returns the digits in groups of five.
    public static func grouped(_ digits: String) -> String {
        stride(from: 0, to: digits.count, by: 5)
            .map { String(digits.dropFirst($0).prefix(5)) }.joined(separator: " ")
    }

    /// Returns the 60-digit safety number of two fingerprints, which is the same on both sides.
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
