import RelayHarness
import Sotto
import SottoState
import SottoWire
import Synchronization

@testable import SottoServer

/// A store that stores nothing, and returns a given outcome.
final class StubStore: Store {
    let outcome = Mutex(Outcome.stored)

    func commit(_ changes: [Change], at minute: Int64) throws(StateError) -> [Outcome] {
        let outcome = outcome.withLock { $0 }
        return changes.map { _ in outcome }
    }

    func messages(in mailbox: SessionID, after: Int64, limit: Int, dead: Bool, at minute: Int64)
        throws(StateError) -> Page
    { Page() }

    func preKeys(of owner: SessionID) throws(StateError) -> PreKeyStatus? { nil }

    func account(of id: SessionID) throws(StateError) -> Account? { nil }

    func invitation(_ tag: [UInt8]) throws(StateError) -> StoredInvitation? { nil }

    func clearStrangerFlags() throws(StateError) {}

    func sweep(at minute: Int64, latest: Int64, strangers: Bool) throws(StateError) -> Bool {
        false
    }

    func known(among ids: [SessionID], byPreKeys: Bool) throws(StateError) -> Set<SessionID> { [] }

    func clock() throws(StateError) -> StoredClock? { nil }

    func remember(_ clock: StoredClock) throws(StateError) {}

    func confirm(_ minute: Int64) throws(StateError) {}

    func close() throws(StateError) {}
}
