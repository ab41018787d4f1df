import Glibc
import NIOCore
import Sotto
import Synchronization

/// Where an id's logins have failed: a network that tried a false proof waits before it may try again, from a second
/// on, twice as long each time, up to a quarter of an hour.
///
/// It is kept by id and network, so that nobody locks an owner out who comes from elsewhere.
final class Lockout: Sendable {
    private struct Failures {
        var count = 0
        var until = 0.0
    }

    /// The longest wait, in seconds.
    static let longest = 900.0
    /// The most that are remembered; over it those are forgotten that wait no more, and nothing new is
    /// remembered.
    private static let limit = 65_536

    private struct State {
        var failures: [[UInt8]: Failures] = [:]
        var tidied = 0.0
    }

    private let state = Mutex(State())

    /// Whether a login may not even be looked at.
    func holds(_ id: SessionID, from network: [UInt8], at now: Double) -> Bool {
        state.withLock { ($0.failures[id.publicKey + network]?.until ?? 0) > now }
    }

    /// Notes a false proof.
    func noteFailure(of id: SessionID, from network: [UInt8], at now: Double) {
        state.withLock { state in
            let known = state.failures[id.publicKey + network]
            if known == nil, state.failures.count >= Self.limit {
                if now - state.tidied > 1 {
                    state.tidied = now
                    state.failures = state.failures.filter { $0.value.until > now }
                }
                guard state.failures.count < Self.limit else { return }
            }
            var entry = known ?? Failures()
            // Whoever waited as long again as they had to begins anew.
            if entry.until + Self.longest < now { entry.count = 0 }
            entry.count = min(entry.count + 1, 16)
            entry.until = now + min(Self.longest, Double(1 << (entry.count - 1)))
            state.failures[id.publicKey + network] = entry
        }
    }

    /// Notes that the owner is in.
    func noteSuccess(of id: SessionID, from network: [UInt8]) {
        state.withLock { _ = $0.failures.removeValue(forKey: id.publicKey + network) }
    }
}

extension SocketAddress {
    /// The network that an address is in: an IPv4 address, or the first 8 bytes of an IPv6 address.
    ///
    /// `nil` for this machine: behind a proxy on it everybody has that address.
    var network: [UInt8]? {
        guard let text = ipAddress else { return nil }
        var v4 = [UInt8](repeating: 0, count: 4)
        if inet_pton(AF_INET, text, &v4) == 1 { return v4[0] == 127 ? nil : v4 }
        var v6 = [UInt8](repeating: 0, count: 16)
        guard inet_pton(AF_INET6, text, &v6) == 1 else { return nil }
        if v6.starts(with: [UInt8](repeating: 0, count: 10) + [255, 255]) {
            return v6[12] == 127 ? nil : Array(v6[12...])
        }
        return v6 == [UInt8](repeating: 0, count: 15) + [1] ? nil : Array(v6[..<8])
    }
}
