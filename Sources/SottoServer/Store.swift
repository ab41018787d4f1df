import Sotto
import SottoState
import SottoWire

/// Where a relay keeps its mailboxes.
///
/// One writer calls ``commit(_:at:)`` and ``sweep(at:)``, one reader ``messages(in:after:limit:dead:at:)``, at
/// the same time. Times are minutes since 1970.
protocol Store: Sendable {
    /// Makes changes in order, in one transaction unless room is scarce, and returns what came of each. What
    /// it returns is on disk. When it throws, nothing may be answered, and the relay must end: a failed
    /// synchronisation is never tried again.
    func commit(_ changes: [Change], at minute: Int64) throws(StateError) -> [Outcome]

    /// The oldest envelopes of a mailbox after a sequence number, at most `limit` and, unless the first is
    /// longer, ``WireLimits/fetchBytes``.
    func messages(in mailbox: SessionID, after: Int64, limit: Int, dead: Bool, at minute: Int64)
        throws(StateError) -> Page

    /// What there is of an owner's prekeys; `nil` where nothing ever was.
    func preKeys(of owner: SessionID) throws(StateError) -> PreKeyStatus?

    /// What is known of an id beside its mail; `nil` where nothing is.
    func account(of id: SessionID) throws(StateError) -> Account?

    /// The invitation with a tag of 16 bytes.
    func invitation(_ tag: [UInt8]) throws(StateError) -> StoredInvitation?

    /// Makes no mailbox a stranger's any more that there is: a relay that is open to all begins with that.
    func adoptMailboxes() throws(StateError)

    /// Deletes some of the rows that are too old at a minute, perhaps also mail to strangers, and empty mailboxes. Returns
    /// whether more may be left. Rows that are far in the future of `latest`, from a wrong clock, get that minute.
    func sweep(at minute: Int64, latest: Int64, strangers: Bool) throws(StateError) -> Bool

    /// Those of some ids that have an account and were not removed, or that published prekeys where that counts too.
    func known(among ids: [SessionID], byPreKeys: Bool) throws(StateError) -> Set<SessionID>

    /// Returns the time that is remembered; for a store of an earlier version, the time of its newest envelope. `nil` for
    /// a new store.
    func clock() throws(StateError) -> StoredClock?

    /// Remembers the time, but not ``StoredClock/confirmed``.
    func remember(_ clock: StoredClock) throws(StateError)

    /// Remembers that the operator says that the clock is right, at a minute.
    func confirm(_ minute: Int64) throws(StateError)

    /// Where others write to the store too: `onArrival` is called, from any thread, with mailboxes that may have
    /// got something from them. `mailboxes` gives those that matter, to look at now and then.
    func watch(
        _ mailboxes: @escaping @Sendable () -> [SessionID],
        onArrival: @escaping @Sendable (Set<SessionID>) -> Void)

    /// Leaves the store in order, for a clean end.
    func close() throws(StateError)
}

extension Store {
    /// Nobody else writes to the store.
    func watch(
        _ mailboxes: @escaping @Sendable () -> [SessionID],
        onArrival: @escaping @Sendable (Set<SessionID>) -> Void
    ) {}
}

/// One thing to do in a store.
enum Change: Sendable {
    /// Put an envelope at the end of its mailbox.
    case store(AddressedEnvelope)
    /// Take envelopes out of a mailbox, or count a failure of theirs.
    case acknowledge(SessionID, ids: [String], Request.Handled)
    /// Take what is new of a publication of prekeys. `head` is the line of a bundle of them up to the value of
    /// its last member, `oneTimePreKey`.
    case publish(PreKeyPublication, head: [UInt8])
    /// Hand out a bundle of an owner's prekeys, the same one whenever the claim's id comes again.
    case claim(owner: SessionID, id: String)
    /// Change what is known of an id, or make its account.
    case update(SessionID, AccountUpdate)
    /// Keep an invitation.
    case invite(StoredInvitation)
    /// Give the invitation with a tag to an owner, unless another one has it.
    case redeem([UInt8], by: SessionID)

    /// About how much it writes.
    var weight: Int {
        switch self {
        case .store(let envelope): envelope.bytes.count + 128
        case .acknowledge(_, let ids, _): ids.count * 128
        case .publish(let publication, let head):
            head.count + publication.oneTimePreKeys.count * 64 + 128
        case .claim, .invite, .redeem: 512
        case .update(_, .card(let bytes, _)), .update(_, .loginKey(let bytes, _)):
            bytes.count + 256
        case .update: 256
        }
    }

    /// About how many bytes the store grows by; 0 for what only takes something out.
    var growth: Int64 {
        switch self {
        case .store(let envelope): Int64(envelope.bytes.count) * 5 / 4 + 512
        case .acknowledge: 0
        case .publish, .claim, .update, .invite, .redeem: Int64(weight) * 5 / 4 + 512
        }
    }

    /// The mailbox that it is about, if it is about one.
    var mailbox: SessionID? {
        switch self {
        case .store(let envelope): envelope.to
        case .acknowledge(let mailbox, _, _): mailbox
        case .publish, .claim, .update, .invite, .redeem: nil
        }
    }
}

/// What came of a ``Change``.
enum Outcome: Sendable, Equatable {
    case stored, duplicate, conflict, mailboxFull, diskFull
    /// Envelopes were acknowledged, and so many of them were there and are out now.
    case acknowledged(removed: Int)
    /// Prekeys, or something else of an owner's, were taken, or nothing of them was new.
    case published
    /// The line of the bundle that was claimed.
    case bundle([UInt8])
    /// There are no prekeys of that owner.
    case noBundle
    /// The id of the claim is that of a claim of another owner's prekeys.
    case claimReused
    /// There is no such invitation, its time is over, or another one has it.
    case noInvitation
}

extension Outcome {
    /// How it is told to who asked for the change.
    var response: Response {
        switch self {
        case .stored, .published: .stored
        case .duplicate: .duplicate
        case .acknowledged: .acked
        case .conflict: .rejected(Refusal(.conflict))
        case .mailboxFull: .deferred(Refusal(.mailboxFull))
        case .diskFull: .deferred(Refusal(.diskFull))
        case .bundle(let record): .bundle(record)
        case .noBundle: .error(Refusal(.noBundle))
        case .claimReused: .error(Refusal(.conflict))
        case .noInvitation: .error(Refusal(.notAdmitted))
        }
    }
}

/// Some envelopes of a mailbox, oldest first.
struct Page: Sendable {
    /// The envelopes, with their ids.
    var messages: [(id: String, delivered: Delivered)] = []
    /// Whether others follow.
    var hasMore = false
}

/// What a relay keeps, and for how long.
struct Retention: Sendable {
    /// Minutes until an envelope that nobody takes is let go.
    var minutes: Int64 = 30 * 24 * 60
    /// The most envelopes in one mailbox.
    var mailboxMessages: Int64 = 5_000
    /// The most bytes of envelopes in one mailbox.
    var mailboxBytes: Int64 = 100_000_000
    /// The most dead letters in one mailbox, beside the envelopes that wait; over it the oldest goes.
    var deadMessages: Int64 = 1_000
    /// The most bytes of dead letters in one mailbox.
    var deadBytes: Int64 { mailboxBytes / 4 }
    /// Minutes until mail is let go in a mailbox that nobody came for, where not everybody may have one. Those
    /// count that are made while this is set, until there is an account.
    var strangerMinutes: Int64?
    /// An hour, in minutes: time enough for who was invited to log in.
    static let strangerMinutes: Int64 = 60
    /// Minutes for which a claim of prekeys can be repeated.
    static let claimMinutes: Int64 = 7 * 24 * 60
    /// Minutes for which an id is known after its envelope would have ended.
    static let tombstoneMinutes: Int64 = 7 * 24 * 60
}
