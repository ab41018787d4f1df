import Glibc
import NIOCore
import Sotto
import Synchronization

/// Failed logins by key and network: after each one the pair waits, 1 s at first and twice as long each
/// time, 15 min at most. By pair, so that nobody can lock out somebody else who is elsewhere.
final class Lockouts: Sendable {
    /// A key, and where somebody claims it from.
    struct Claim: Hashable {
        let id: SessionID
        let network: [UInt8]
    }

    private struct Entry {
        var failures = 0
        var until = 0.0
    }

    private static let longest = 15 * 60.0
    /// How many claims are remembered; when there are more, those that are over are let go, then all.
    private static let remembered = 10_000
    private let entries = Mutex<[Claim: Entry]>([:])

    /// Whether a claim must wait.
    func isLocked(_ claim: Claim, at now: Double) -> Bool {
        entries.withLock { $0[claim].map { $0.until > now } ?? false }
    }

    /// Counts a failure.
    func failed(_ claim: Claim, at now: Double) {
        entries.withLock { entries in
            if entries.count >= Self.remembered {
                entries = entries.filter { $0.value.until + Self.longest > now }
                if entries.count >= Self.remembered { entries = [:] }
            }
            var entry = entries[claim] ?? Entry()
            entry.until = now + min(Self.longest, Double(1 << min(entry.failures, 10)))
            entry.failures += 1
            entries[claim] = entry
        }
    }

    /// Forgets the failures of a claim that was proved.
    func succeeded(_ claim: Claim) {
        entries.withLock { entries in
            if !entries.isEmpty { entries[claim] = nil }
        }
    }

    /// The network of an address: all of an IPv4 address, the first 64 bits of an IPv6 one.
    static func network(of address: SocketAddress?) -> [UInt8] {
        guard let text = address?.ipAddress else { return [] }
        var bytes = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, text, &bytes) == 1 { return Array(bytes[..<4]) }
        guard inet_pton(AF_INET6, text, &bytes) == 1 else { return [] }
        let isMapped = bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 0xFF
        return isMapped ? Array(bytes[12...]) : Array(bytes[..<8])
    }
}
