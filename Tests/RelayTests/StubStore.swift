import Sotto
import SottoDatabase
import SottoWire
import Synchronization
import TestSupport

@testable import SottoServer

/// A store that stores nothing, and returns a given outcome or fails.
final class StubStore: Store {
    let outcome = Mutex(Outcome.stored)
    private let failure: StoreError?
    private let readFailure: StoreError?

    /// Creates a store whose commits fail with `failure`, and whose reads of accounts and rooms with `readFailure`, if they are
    /// not `nil`.
    init(failure: StoreError? = nil, readFailure: StoreError? = nil) {
        (self.failure, self.readFailure) = (failure, readFailure)
    }

    /// The error of a disk that fails.
    static let diskError = StoreError.database(.inputOutput(path: "relay.db", code: 1034))

    func commit(_ changes: [Change], at minute: Int64) throws(StoreError) -> [Outcome] {
        if let failure { throw failure }
        let outcome = outcome.withLock { $0 }
        return changes.map { _ in outcome }
    }

    func messages(
        in mailbox: KeyID, after: Int64, limit: Int, dead: Bool, at minute: Int64, second: Int64
    )
        throws(StoreError) -> Page
    { Page() }

    func preKeys(of owner: KeyID) throws(StoreError) -> PreKeyStatus? { nil }

    func account(of id: KeyID) throws(StoreError) -> RelayAccount? {
        if let readFailure { throw readFailure }
        return nil
    }

    func cards(named name: CardName) throws(StoreError) -> [[UInt8]] { [] }
    func members() throws(StoreError) -> [(id: KeyID, minute: Int64)] { [] }
    func invitations() throws(StoreError) -> [StoredInvitation] { [] }
    func invitationCount(of inviter: KeyID, at minute: Int64) throws(StoreError) -> Int64 { 0 }
    func wakes(of mailboxes: [KeyID], at minute: Int64) throws(StoreError) -> [StoredWake] { [] }
    func instance(of owner: KeyID) throws(StoreError) -> StoredInstance? { nil }
    func invitation(_ tag: [UInt8]) throws(StoreError) -> StoredInvitation? { nil }

    func room(of door: KeyID) throws(StoreError) -> [UInt8]? {
        if let readFailure { throw readFailure }
        return nil
    }

    func meeting(_ number: Int64, step: Int, at second: Int64) throws(StoreError)
        -> StoredMeeting?
    { nil }

    func directoryUse() throws(StoreError) -> Int64 { 0 }

    func clearStrangerFlags() throws(StoreError) {}

    func sweep(at minute: Int64, second: Int64, latest: Int64, strangers: Bool) throws(StoreError)
        -> Bool
    { false }

    func known(among ids: [KeyID], byPreKeys: Bool) throws(StoreError) -> Set<KeyID> { [] }

    func clock() throws(StoreError) -> StoredClock? { nil }

    func remember(_ clock: StoredClock) throws(StoreError) {}

    func confirm(_ minute: Int64) throws(StoreError) {}

    func close() throws(StoreError) {}
}
