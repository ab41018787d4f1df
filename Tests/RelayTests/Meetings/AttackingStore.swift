import Sotto
import SottoWire
import Synchronization

@testable import SottoServer

/// The store of a relay whose operator attacks a meeting: it notes the messages, and keeps others instead of them. So the attack
/// is the same over every transport and in every store.
final class AttackingStore: Store {
    /// A message that a side puts into its place.
    struct Put {
        let step: Int
        let message: [UInt8]
        /// The relay's name for which the place was made.
        let relay: String
        /// The true messages so far, by their steps.
        let seen: [Int: [UInt8]]
    }

    private let store: any Store
    private let attack: @Sendable (Put) -> [UInt8]
    private let noted = Mutex<[Int: [UInt8]]>([:])

    /// The true messages of the meeting, by their steps.
    var seen: [Int: [UInt8]] { noted.withLock { $0 } }

    /// Creates a store in front of another one. `attack` returns what is kept instead of a message.
    init(_ store: any Store, _ attack: @escaping @Sendable (Put) -> [UInt8]) {
        (self.store, self.attack) = (store, attack)
    }

    func commit(_ changes: [Change], at minute: Int64) throws(StoreError) -> [Outcome] {
        try store.commit(changes.map(attacked), at: minute)
    }

    private func attacked(_ change: Change) -> Change {
        guard case .meeting(let meeting) = change, case .put(let step, let message) = meeting.act
        else { return change }
        let seen = noted.withLock { noted -> [Int: [UInt8]] in
            noted[step] = message
            return noted
        }
        let kept = attack(Put(step: step, message: message, relay: meeting.relay, seen: seen))
        return .meeting(
            MeetingChange(
                number: meeting.number, relay: meeting.relay, act: .put(step: step, kept),
                second: meeting.second))
    }

    // MARK: Unchanged

    func messages(
        in mailbox: KeyID, after: Int64, limit: Int, dead: Bool, at minute: Int64, second: Int64
    )
        throws(StoreError) -> Page
    {
        try store.messages(
            in: mailbox, after: after, limit: limit, dead: dead, at: minute, second: second)
    }

    func preKeys(of owner: KeyID) throws(StoreError) -> PreKeyStatus? {
        try store.preKeys(of: owner)
    }

    func account(of id: KeyID) throws(StoreError) -> RelayAccount? { try store.account(of: id) }

    func members() throws(StoreError) -> [(id: KeyID, minute: Int64)] { try store.members() }

    func invitations() throws(StoreError) -> [StoredInvitation] { try store.invitations() }

    func invitation(_ tag: [UInt8]) throws(StoreError) -> StoredInvitation? {
        try store.invitation(tag)
    }

    func invitationCount(of inviter: KeyID, at minute: Int64) throws(StoreError) -> Int64 {
        try store.invitationCount(of: inviter, at: minute)
    }

    func instance(of owner: KeyID) throws(StoreError) -> StoredInstance? {
        try store.instance(of: owner)
    }

    func wakes(of mailboxes: [KeyID], at minute: Int64) throws(StoreError) -> [StoredWake] {
        try store.wakes(of: mailboxes, at: minute)
    }

    func cards(named name: CardName) throws(StoreError) -> [[UInt8]] {
        try store.cards(named: name)
    }

    func room(of door: KeyID) throws(StoreError) -> [UInt8]? { try store.room(of: door) }

    func meeting(_ number: Int64, step: Int, at second: Int64) throws(StoreError)
        -> StoredMeeting?
    { try store.meeting(number, step: step, at: second) }

    func directoryUse() throws(StoreError) -> Int64 { try store.directoryUse() }

    func clearStrangerFlags() throws(StoreError) { try store.clearStrangerFlags() }

    func sweep(at minute: Int64, second: Int64, latest: Int64, strangers: Bool) throws(StoreError)
        -> Bool
    { try store.sweep(at: minute, second: second, latest: latest, strangers: strangers) }

    func known(among ids: [KeyID], byPreKeys: Bool) throws(StoreError) -> Set<KeyID> {
        try store.known(among: ids, byPreKeys: byPreKeys)
    }

    func clock() throws(StoreError) -> StoredClock? { try store.clock() }

    func remember(_ clock: StoredClock) throws(StoreError) { try store.remember(clock) }

    func confirm(_ minute: Int64) throws(StoreError) { try store.confirm(minute) }

    func close() throws(StoreError) { try store.close() }
}
