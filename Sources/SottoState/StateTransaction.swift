public import Sotto
import SottoDatabase

/// A transaction on an identity's state, durable when it ends and rolled back if it throws.
///
/// Messages are opened and encrypted as values first; a separate call stores the changes. A refused message changes
/// nothing.
public final class StateTransaction {
    /// Identifies a transaction, also after its end. Unlike the transaction, it holds no session keys.
    package final class Mark: Sendable {}

    /// The mark of this transaction.
    package let mark = Mark()
    /// The state.
    package let store: IdentityStore
    let connection: StateConnection
    var sessions: [KeyID: [SessionSlot]] = [:]
    /// The peers of whom ``sessions`` has all sessions and not only the recent ones.
    var readWhole: Set<KeyID> = []
    /// The sessions that ``computeSessions(with:on:)`` computed and that did not begin yet, with their bundles.
    var computedSessions: [KeyID: (bundle: PreKeyBundle, session: PeerSession)] = [:]
    /// The receiving chains from which messages are opened before their turn, by the tags of their sessions.
    var aheadChains: [[UInt8]: AheadChain] = [:]
    var contacts: [KeyID: Contact?] = [:]
    /// The lists of devices that were read or kept, by their owners.
    var deviceLists: [KeyID: DeviceList?] = [:]
    /// Whether a list of devices is stored, after it was looked up.
    var hasDeviceLists: Bool?
    /// The people of devices that were looked up.
    var devicePeople: [KeyID: KeyID?] = [:]
    /// Whether an item of another own device is taken, so that its changes are told no device.
    var isTakingSync = false
    /// Whether a read mark or a deletion of another own device waits for its message, after it was looked up.
    var hasSyncAhead: Bool?
    /// Whether the envelope of a copy for this device was opened before, after it was looked up.
    var hasArrivedCopies: Bool?
    /// The contacts by the addresses on their cards, after they were read.
    var cardAddresses: [KeyID: KeyID]?
    /// The peers to whom no further message of this transaction carries the owner's card.
    var withCard: Set<KeyID> = []
    /// The peers of whom an answer was noted in this transaction.
    var answered: Set<KeyID> = []
    /// Whether a later card of a contact names another relay, so that what waits can follow.
    var isForwarding = false
    var conversations: [Conversation: ConversationRow] = [:]
    /// The groups that were read or changed.
    var groups: [GroupID: StoredGroup] = [:]
    /// Whether a chain or a change arrived, so that held messages may open.
    package internal(set) var hasGroupNews = false
    /// The messages to groups that were prepared, each with ``Connection/allChanges`` after it.
    var preparedMessages: [GroupID: (sending: GroupSending, changes: Int64)] = [:]
    /// The waiting changes of groups that were read, by the number of the group.
    var waitingChanges: [Int64: [GroupChange]] = [:]
    /// The entries into each group that did not make their author a member, with the number of changes that the log had.
    var failedEntries: [GroupID: [GroupID: Int]] = [:]
    /// The names of members without a nickname, of each group, after they were looked up; `nil` for a member without a name.
    var memberNames: [GroupID: [KeyID: String?]] = [:]
    /// The envelopes that reached the outbox, by their keyed hashes, after they were read; see ``Outbox/arrivals(in:since:)``.
    var knownArrivals: (since: Int64, found: [Int64: Outbox.Arrival])?
    /// The people who were found to be no members any more, of each group of which the owner is a member.
    var formerMembers: [GroupID: Set<KeyID>] = [:]
    /// The forks of logs that were learned and not reported yet.
    var forks: [GroupFork] = []
    /// Whether a proof that the state is an earlier one was taken, which is not reported yet.
    var hasProof = false
    /// Whether a message of a group began to wait for changes, which is not reported yet.
    var waitsForChanges = false
    /// The column `place` of the last message in the history, after it was looked up.
    var newestPlace: Int64?
    /// The earliest time from which the retentions consider imported messages again, after these changed it.
    var expectedRetention = Int64.max
    /// When the last message was written that the present import added and that this identity sent.
    var importedSent: Timestamp?
    /// Whether the history has an event that changes another message, after it was looked up.
    var hasEvents: Bool?
    /// Whether an event waits for its target, after it was looked up.
    var hasWaiting: Bool?
    /// The numbers of the messages that were erased when they were stored, because the deletion by their author had arrived before.
    package internal(set) var deletedOnArrival: Set<Int64> = []
    /// Whether the inbox has a row, after it was looked up. Only another transaction adds one.
    var hasInbox: Bool?
    /// Whether a request waits, after it was looked up.
    var hasRequests: Bool?
    var hasAnyContact: Bool?
    /// Whether something is known about the end or the replacement of an id, after it was looked up.
    var hasNews: Bool?
    /// The hashes of the ids of imported messages that opened envelopes replace.
    var replaced: Set<Int64> = []
    /// The number of messages that this transaction erased.
    var erased = 0
    /// The paths of the fetched files of messages that this transaction erased. They are removed after it.
    var erasedBlobs: Set<String> = []
    /// The total length in bytes of requests that are set aside, after it was computed.
    var bytesAside: Int64?
    /// The limit of ``bytesAside``; tests lower it.
    package var bytesAsideLimit = IdentityStore.bytesAsideLimit

    init(store: IdentityStore, connection: StateConnection) {
        self.store = store
        self.connection = connection
    }

    /// The identity that owns the state.
    public var owner: Identity { store.owner }
}

extension IdentityStore {
    /// Runs `body` in one transaction. Waits first for another process that writes.
    public func transaction<T>(_ body: (StateTransaction) throws -> T) throws -> T {
        defer { damage.flush() }
        let (value, blobs, hasHeld, moves) = try database.work { (connection: StateConnection) in
            let transaction = StateTransaction(store: self, connection: connection)
            let value = try body(transaction)
            try transaction.writeSessions()
            try transaction.writeConversations()
            let hasHeld = try transaction.holdCopies()
            return (value, transaction.erasedBlobs, hasHeld, transaction.isForwarding)
        }
        removeFetched(blobs)
        if hasHeld { settleHeldCopiesIfPossible() }
        if moves { settleForwardingIfPossible() }
        return value
    }

    /// Runs `body` and rolls back all changes.
    public func preview<T>(_ body: (StateTransaction) throws -> T) throws -> T {
        defer { damage.flush() }
        return try database.view { (connection: StateConnection) in
            try body(StateTransaction(store: self, connection: connection))
        }
    }
}
