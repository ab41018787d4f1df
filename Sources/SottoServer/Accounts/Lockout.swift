import Glibc
import NIOCore
import Sotto
import Synchronization

/// Delays logins after failures: a network that sent a false proof for an id waits before the next try, one second at
/// first, twice as long after each failure, 15 minutes at most.
///
/// Failures are counted per id and network, so an attacker cannot lock an owner out who logs in from elsewhere.
final class Lockout: Sendable {
    private struct Failures: Decaying {
        var count = 0
        var until = 0.0

        /// Without a failure for as long as the longest wait after the last one, the count starts over.
        func left(at now: Double) -> Double { until + Lockout.longest - now }
    }

    /// The longest wait, in seconds.
    static let longest = 900.0

    /// In a full table, the entry that starts over first makes room for a new one: an owner must not inherit the
    /// failures of others.
    private let table = Mutex(RateTable<[UInt8], Failures>())

    /// Whether a login must wait; it is then refused before its proof is verified.
    func holds(_ id: KeyID, from network: [UInt8], at now: Double) -> Bool {
        table.withLock { ($0[id.publicKey + network]?.until ?? 0) > now }
    }

    /// Notes a false proof.
    func noteFailure(of id: KeyID, from network: [UInt8], at now: Double) {
        table.withLock { table in
            table.update(id.publicKey + network, at: now, initial: { _ in Failures() }) { entry in
                if entry.left(at: now) < 0 { entry.count = 0 }
                entry.count = min(entry.count + 1, 16)
                entry.until = now + min(Self.longest, Double(1 << (entry.count - 1)))
            }
        }
    }

    /// Forgets the failures after a successful login.
    func noteSuccess(of id: KeyID, from network: [UInt8]) {
        table.withLock { $0.remove(id.publicKey + network) }
    }
}

extension SocketAddress {
    /// The network of an address: an IPv4 address, or the first 8 bytes of an IPv6 address.
    ///
    /// Returns `nil` for a loopback address: all clients of a proxy on this machine have one.
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
