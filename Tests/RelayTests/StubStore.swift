import RelayHarness
import Sotto
import SottoState
import SottoWire
import Synchronization

@testable import SottoServer

/// A store that stores nothing, and returns a given outcome.
final class StubStore: Store {
    let outcome = Mutex(Outcome.stored)

    func commit(_ changes: [Change], at minute: Int64) throws(StoreError) -> [Outcome] {
        let outcome = outcome.withLock { $0 }
        return changes.map { _ in outcome }
    }

    func messages(in mailbox: SessionID, after: Int64, limit: Int, dead: Bool, at minute: Int64)
        throws(StoreError) -> Page
    { Page() }

    func preKeys(of owner: SessionID) throws(StoreError) -> PreKeyStatus? { nil }

    func account(of id: SessionID) throws(StoreError) -> Account? { nil }

    func invitation(_ tag: [UInt8]) throws(StoreError) -> StoredInvitation? { nil }

    func clearStrangerFlags() throws(StoreError) {}

    func sweep(at minute: Int64, latest: Int64, strangers: Bool) throws(StoreError) -> Bool {
        false
    }

    func known(among ids: [SessionID], byPreKeys: Bool) throws(StoreError) -> Set<SessionID> { [] }

    func clock() throws(StoreError) -> StoredClock? { nil }

    func remember(_ clock: StoredClock) throws(StoreError) {}

    func confirm(_ minute: Int64) throws(StoreError) {}

    func close() throws(StoreError) {}
}
