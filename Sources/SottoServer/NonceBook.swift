import Sotto
import SottoWire
import Synchronization

/// The nonces for logins that may come on another connection than the one that asked, over HTTP: each opens one login,
/// within a minute.
///
/// A nonce says itself when it was made, under a keyed BLAKE2b: only those that were used are remembered, and asking
/// for many takes nobody's away.
final class NonceBook: Sendable {
    private struct State {
        var used: Set<[UInt8]> = []
        var usedBefore: Set<[UInt8]> = []
        var turned = 0.0
    }

    private let key = NonceKey()
    private let state = Mutex(State())

    /// A new nonce: 8 bytes of time, 8 random bytes and 16 of a keyed hash.
    func make(at now: Double) -> [UInt8] {
        let body = UInt64(now * 1_000).bigEndianBytes + randomBytes(8)
        return body + keyedHash(body, key: key.bytes)
    }

    /// Whether a nonce may be used; after that it may not.
    func take(_ nonce: [UInt8], at now: Double) -> Bool {
        guard nonce.count == WireLimits.nonceBytes,
            constantTimeEqual(keyedHash(Array(nonce[..<16]), key: key.bytes), Array(nonce[16...]))
        else { return false }
        let made = Double(nonce[..<8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }) / 1_000
        guard made <= now + 1, now - made < WireLimits.nonceSeconds else { return false }
        return state.withLock { state in
            // What was used two minutes ago is too old by itself.
            if now - state.turned >= WireLimits.nonceSeconds {
                state.usedBefore =
                    now - state.turned < 2 * WireLimits.nonceSeconds ? state.used : []
                state.used = []
                state.turned = now
            }
            return !state.usedBefore.contains(nonce) && state.used.insert(nonce).inserted
        }
    }
}

/// The key of the nonces, which lives as long as the process.
private final class NonceKey: Sendable {
    let bytes = SecretBytes(randomCount: 32)
}
