import Sotto
import SottoWire
import Synchronization

/// The nonces for logins over HTTP, which may come on another connection than the challenge: each allows one login
/// within a minute.
///
/// A nonce contains its time, authenticated with a keyed BLAKE2b, so only used nonces are kept. A client that asks for
/// many cannot use up the nonces of other clients.
final class IssuedNonces: Sendable {
    private struct State {
        var used: Set<[UInt8]> = []
        var usedBefore: Set<[UInt8]> = []
        var turned = 0.0
    }

    private let key = IssuedNonceKey()
    private let state = Mutex(State())

    /// Creates a nonce: 8 bytes of time, 8 random bytes, and 16 bytes of a keyed hash.
    func make(at now: Double) -> [UInt8] {
        let body = UInt64(now * 1_000).bigEndianBytes + randomBytes(8)
        return body + keyedHash(body, key: key.bytes)
    }

    /// Returns whether a nonce is valid, and uses it up.
    func take(_ nonce: [UInt8], at now: Double) -> Bool {
        guard nonce.count == WireLimits.nonceBytes,
            constantTimeEqual(keyedHash(Array(nonce[..<16]), key: key.bytes), Array(nonce[16...]))
        else { return false }
        let made = Double(nonce[..<8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }) / 1_000
        guard made <= now + 1, now - made < WireLimits.nonceSeconds else { return false }
        return state.withLock { state in
            // A nonce that was used two minutes ago has expired.
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

/// The key of the nonces, made at the start of the process.
private final class IssuedNonceKey: Sendable {
    let bytes = SecretBytes(randomCount: 32)
}
