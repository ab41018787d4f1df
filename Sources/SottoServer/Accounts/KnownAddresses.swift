import Sotto
import Synchronization

/// The further addresses of owners, by the logins on one connection: the first id is the owner's, and the others are
/// addresses that the owner gave to contacts.
///
/// A client that knows such an address was given it by the owner. The relay stores them nowhere; after its start it
/// learns them from the next logins.
final class KnownAddresses: Sendable {
    private struct Entry: Decaying {
        var until = 0.0

        func left(at now: Double) -> Double { until - now }
    }

    /// Seconds for which an address is known after a login.
    private static let seconds = 30.0 * 86_400

    private let table = Mutex(RateTable<[UInt8], Entry>())

    /// Notes an address of an owner.
    func note(_ address: KeyID, of owner: KeyID, at now: Double) {
        table.withLock { table in
            table.update(owner.publicKey + address.publicKey, at: now, initial: { _ in Entry() }) {
                $0.until = now + Self.seconds
            }
        }
    }

    /// Whether an address is known to be the owner's.
    func belongs(_ address: KeyID, to owner: KeyID, at now: Double) -> Bool {
        table.withLock { ($0[owner.publicKey + address.publicKey]?.until ?? 0) > now }
    }
}
