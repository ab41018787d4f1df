import Sotto
import SottoDatabase
import SottoWire

/// The storage of a relay's mailboxes.
///
/// One writer calls ``commit(_:at:)`` and ``sweep(at:second:latest:strangers:)``, one reader
/// ``messages(in:after:limit:dead:at:second:)``, at the same time. Times are minutes since 1970; `second` is
/// ``RelayClock/holding``, which decides about envelopes with a time to live.
protocol Store: Sendable {
    /// Applies changes in order, in one transaction unless space is scarce, and returns their outcomes. The outcomes
    /// are on disk. If it throws, no reply may be sent, and the relay must end: a failed synchronization is never
    /// retried.
    func commit(_ changes: [Change], at minute: Int64) throws(StoreError) -> [Outcome]

    /// Returns the oldest envelopes of a mailbox after a sequence number: at most `limit` and, unless the first is
    /// longer, ``WireLimits/fetchBytes`` bytes.
    func messages(
        in mailbox: KeyID, after: Int64, limit: Int, dead: Bool, at minute: Int64, second: Int64
    )
        throws(StoreError) -> Page

    /// Returns the state of an owner's prekeys, or `nil` if the owner never published any.
    func preKeys(of owner: KeyID) throws(StoreError) -> PreKeyStatus?

    /// Returns the account of an id, or `nil`.
    func account(of id: KeyID) throws(StoreError) -> RelayAccount?

    /// Returns cards, one line each, with an account of this name (``CardName``): at most ``WireLimits/cardCount``, those
    /// that have had it for the longest time first.
    func cards(named name: CardName) throws(StoreError) -> [[UInt8]]

    /// Returns the ids of all members, and the minute of their last activity.
    func members() throws(StoreError) -> [(id: KeyID, minute: Int64)]

    /// Returns all invitations.
    func invitations() throws(StoreError) -> [StoredInvitation]

    /// Returns the invitation with a tag of 16 bytes, or `nil`.
    func invitation(_ tag: [UInt8]) throws(StoreError) -> StoredInvitation?

    /// Returns the number of invitations of a member that were used or are open at a minute.
    func invitationCount(of inviter: KeyID, at minute: Int64) throws(StoreError) -> Int64

    /// Returns the registrations of mailboxes for wake-ups that are valid at a minute, with the numbers of messages that
    /// wait.
    func wakes(of mailboxes: [KeyID], at minute: Int64) throws(StoreError) -> [StoredWake]

    /// Returns the instance of an owner's last login, or `nil`.
    func instance(of owner: KeyID) throws(StoreError) -> StoredInstance?

    /// Returns the record of the room with a door, one line, or `nil`.
    func room(of door: KeyID) throws(StoreError) -> [UInt8]?

    /// Returns the place of a meeting with the message of a step, or `nil` if there is none at that second.
    func meeting(_ number: Int64, step: Int, at second: Int64) throws(StoreError) -> StoredMeeting?

    /// Returns the space of all accounts, records of rooms, prekeys and registrations for wake-ups, as ``DirectoryLimit`` counts it.
    func directoryUse() throws(StoreError) -> Int64

    /// Clears the stranger flag of all mailboxes; a relay that is open to all does so at its start.
    func clearStrangerFlags() throws(StoreError)

    /// Deletes some expired rows, with `strangers` also strangers' old mail, and empty mailboxes. `minute` is the time
    /// for expiry. Returns whether there may be more. Rows far in the future of `latest`, from a wrong clock, get that
    /// minute.
    func sweep(at minute: Int64, second: Int64, latest: Int64, strangers: Bool) throws(StoreError)
        -> Bool

    /// Returns those of the ids that have an account and were not removed, and with `byPreKeys` those that published
    /// prekeys.
    func known(among ids: [KeyID], byPreKeys: Bool) throws(StoreError) -> Set<KeyID>

    /// Returns the clock state, or `nil` in a new store.
    func clock() throws(StoreError) -> StoredClock?

    /// Stores the clock state, except ``StoredClock/confirmed``.
    func remember(_ clock: StoredClock) throws(StoreError)

    /// Stores that the operator confirmed the clock at a minute.
    func confirm(_ minute: Int64) throws(StoreError)

    /// Watches a store to which other relays write: `onArrival` is called, from any thread, with mailboxes that may
    /// have got envelopes from them, and `onSignal` with the bytes of envelopes that they passed on. `mailboxes` returns
    /// the mailboxes to poll.
    func watch(
        _ mailboxes: @escaping @Sendable () -> [KeyID],
        onArrival: @escaping @Sendable (Set<KeyID>) -> Void,
        onSignal: @escaping @Sendable ([UInt8]) -> Void)

    /// Passes envelopes with a time to live of 0 to the other relays of the store, or drops them. Stores nothing.
    func pass(_ signals: [AddressedEnvelope])

    /// Opens the blobs of the store, or returns `nil` if it has none.
    func openBlobs(_ limits: BlobLimits) throws(StoreError) -> (any BlobStore)?

    /// Closes the store cleanly.
    func close() throws(StoreError)
}

extension Store {
    /// Does nothing, for a store with one writer.
    func watch(
        _ mailboxes: @escaping @Sendable () -> [KeyID],
        onArrival: @escaping @Sendable (Set<KeyID>) -> Void,
        onSignal: @escaping @Sendable ([UInt8]) -> Void
    ) {}

    /// Drops the envelopes, for a store with one writer.
    func pass(_ signals: [AddressedEnvelope]) {}

    /// Returns `nil`.
    func openBlobs(_ limits: BlobLimits) throws(StoreError) -> (any BlobStore)? { nil }
}

/// A change to a store.
enum Change: Sendable {
    /// Append an envelope to its mailbox. `until` is the second, by ``RelayClock/holding``, from which it is not
    /// delivered any more; `nil` without a time to live.
    case store(AddressedEnvelope, until: Int64? = nil)
    /// Delete envelopes of a mailbox, or count a failure of each.
    case acknowledge(KeyID, ids: [String], Request.Handled)
    /// Store the new prekeys of a publication. `head` is the line of their bundle up to the value of its last member,
    /// `oneTimePreKey`.
    case publish(PreKeyPublication, head: [UInt8])
    /// Hand out a bundle of an owner's prekeys; a repeated claim id gets the same bundle. The last `reserve` one-time
    /// prekeys stay for other claims.
    case claim(owner: KeyID, id: String, reserve: Int64 = 0)
    /// Hand out bundles of different owners. ``Retention/reservedOneTime`` one-time prekeys of each owner stay for claims
    /// with a proof of work.
    case claims([Request.Claim])
    /// Change the account of an id, or create it.
    case update(KeyID, AccountUpdate)
    /// Store the record of a room, unless another key published it.
    case publishRoom(StoredRoom)
    /// Store an invitation; that of a member only if the member then has at most `most` that were used or are open.
    case invite(StoredInvitation, most: Int64 = .max)
    /// Delete the invitation with a tag, unless it was used.
    case revoke([UInt8])
    /// Store a registration for wake-ups in place of the one of its kind.
    case registerWake(StoredWake)
    /// Delete the registration of a mailbox of a kind, or all of them.
    case unregisterWake(KeyID, WakeRegistration.Kind?)
    /// Store the instance of a login in place of the owner's last one.
    case noteInstance(StoredInstance)
    /// Give the invitation with a tag to an owner, unless another id has it.
    case redeem([UInt8], by: KeyID)
    /// Change the place of a meeting.
    case meeting(MeetingChange)

    /// Creates the change that a record of the directory asks for.
    init(_ record: OwnersRecord) {
        self =
            switch record.kind {
            case .card(let accounts):
                .update(
                    record.id,
                    .card(
                        record.bytes, issued: record.issued.seconds,
                        names: accounts.map { CardName($0) }))
            case .loginKey(let key):
                .update(record.id, .loginKey(key ?? [], issued: record.issued.seconds))
            case .revocation: .update(record.id, .revocation(record.bytes))
            case .succession(let next):
                // A separate row for each successor. Its key is a hash, so no client can own it.
                .update(
                    KeyID(
                        publicKey: sha256(
                            Array("sotto/succession/row/v1\0".utf8) + record.id.publicKey
                                + next.publicKey)),
                    .card(
                        record.bytes, issued: record.issued.seconds,
                        names: [CardName(successionsOf: record.id)]))
            case .room(let publisher, let seq):
                .publishRoom(
                    StoredRoom(
                        door: record.id, publisher: publisher, seq: seq, bytes: record.bytes))
            }
    }

    /// Whether it is the publication of a room.
    var isRoom: Bool { if case .publishRoom = self { true } else { false } }

    /// The approximate number of bytes that the change writes.
    var weight: Int {
        switch self {
        case .store(let envelope, _): envelope.bytes.count + 128
        case .acknowledge(_, let ids, _): ids.count * 128
        case .publish(let publication, let head):
            head.count + publication.oneTimePreKeys.count * 64 + 128
        case .claim, .invite, .revoke, .redeem, .unregisterWake, .noteInstance: 512
        case .registerWake(let wake): wake.bytes + 256
        case .claims(let claims): claims.count * 512
        case .update(_, .card(let bytes, _, _)), .update(_, .loginKey(let bytes, _)):
            bytes.count + 256
        case .update(_, .revocation(let bytes)): 2 * bytes.count + 512
        case .update: 256
        case .publishRoom(let room): room.bytes.count + 256
        case .meeting(let change): change.weight
        }
    }

    /// The approximate number of bytes by which the store grows; 0 for a change that only deletes.
    var growth: Int64 {
        switch self {
        case .store(let envelope, _): Int64(envelope.bytes.count) * 5 / 4 + 512
        case .acknowledge, .revoke, .unregisterWake: 0
        case .publish, .claim, .claims, .update, .publishRoom, .invite, .redeem, .meeting,
            .registerWake, .noteInstance:
            Int64(weight) * 5 / 4 + 512
        }
    }

    /// The mailbox of the change, or `nil`.
    var mailbox: KeyID? {
        switch self {
        case .store(let envelope, _): envelope.to
        case .acknowledge(let mailbox, _, _): mailbox
        case .publish, .claim, .claims, .update, .publishRoom, .invite, .revoke, .redeem, .meeting,
            .registerWake, .unregisterWake, .noteInstance:
            nil
        }
    }
}

/// The outcome of a ``Change``.
enum Outcome: Sendable, Equatable {
    case stored, duplicate, conflict, mailboxFull, diskFull
    /// The acknowledgement was applied, and deleted `removed` envelopes.
    case acknowledged(removed: Int)
    /// A publication or a record was stored, or had nothing new.
    case published
    /// The line of the claimed bundle.
    case bundle([UInt8])
    /// The lines of the bundles of a batch in its order; `nil` if a claim got none.
    case bundles([[UInt8]?])
    /// The owner has no prekeys.
    case noBundle
    /// The claim's id belongs to a claim of another owner's prekeys.
    case claimReused
    /// The invitation does not exist, has expired, or belongs to another id.
    case noInvitation
    /// The member may not make more invitations.
    case noMoreInvitations
    /// The outcome of a change to the place of the meeting with a number.
    case meeting(MeetingOutcome, Int64)
}

extension Outcome {
    /// The line of the claimed bundle, or `nil`.
    var bundle: [UInt8]? { if case .bundle(let line) = self { line } else { nil } }

    /// The response to the client that asked for the change.
    var response: Response {
        switch self {
        case .stored, .published: .stored
        case .duplicate: .duplicate
        case .acknowledged: .acked
        case .conflict: .rejected(Refusal(.conflict))
        case .mailboxFull: .deferred(Refusal(.mailboxFull))
        case .diskFull: .deferred(Refusal(.diskFull))
        case .bundle(let record): .bundle(record)
        case .bundles(let records): .bundles(records)
        case .noBundle: .error(Refusal(.noBundle))
        case .claimReused: .error(Refusal(.conflict))
        case .noInvitation: .error(Refusal(.notAdmitted))
        case .noMoreInvitations: .error(Refusal(.noInvitations))
        case .meeting(let outcome, let number): outcome.response(number)
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

/// The limits of what a relay stores, and for how long.
struct Retention: Sendable {
    /// Minutes until an undelivered envelope is deleted.
    var minutes: Int64 = 30 * 24 * 60
    /// The most envelopes in one mailbox.
    var mailboxMessages: Int64 = 5_000
    /// The most bytes of envelopes in one mailbox.
    var mailboxBytes: Int64 = 100_000_000
    /// The most dead letters in one mailbox, in addition to waiting envelopes; above it the oldest is deleted.
    var deadMessages: Int64 = 1_000
    /// The most bytes of dead letters in one mailbox.
    var deadBytes: Int64 { mailboxBytes / 4 }
    /// Minutes until strangers' mail is deleted, if not every id may have a mailbox; `nil` otherwise. A mailbox that
    /// is created while this is set has the stranger flag until its owner has an account.
    var strangerMinutes: Int64?
    /// One hour, in minutes: enough for an invited owner to log in.
    static let strangerMinutes: Int64 = 60
    /// Minutes for which a claim of prekeys can be repeated.
    static let claimMinutes: Int64 = 7 * 24 * 60
    /// The last one-time prekeys of an owner, which only claims with a proof of work take, so that strangers cannot use
    /// up all of them for nothing.
    static let reservedOneTime: Int64 = 10
    /// Minutes for which an envelope id stays known after the envelope would have expired.
    static let tombstoneMinutes: Int64 = 7 * 24 * 60
}
