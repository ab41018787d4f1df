import Sotto
import SottoWire
import Synchronization

/// The nonces that were given out and not used: each opens one login, on whatever connection, within a minute.
///
/// A nonce is 32 random bytes, so that whoever knows one was given it. They are few: the oldest go when there are too
/// many, and their owners ask again.
final class NonceBook: Sendable {
    private struct State {
        var ends: [[UInt8]: Double] = [:]
        var order: [[UInt8]] = []
    }

    /// The most that are remembered.
    private static let limit = 65_536

    private let state = Mutex(State())

    /// Remembers a nonce.
    func add(_ nonce: [UInt8], at now: Double) {
        state.withLock { state in
            if state.order.count >= Self.limit {
                for old in state.order.prefix(Self.limit / 2) { state.ends[old] = nil }
                state.order.removeFirst(Self.limit / 2)
            }
            state.ends[nonce] = now + WireLimits.nonceSeconds
            state.order.append(nonce)
        }
    }

    /// Whether a nonce may be used; after that it may not.
    func take(_ nonce: [UInt8], at now: Double) -> Bool {
        state.withLock { state in
            guard let end = state.ends.removeValue(forKey: nonce) else { return false }
            return end > now
        }
    }
}
