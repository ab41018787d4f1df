import Sotto
import SottoWire

/// A read from the store for a connection.
enum StoreQuery: Sendable {
    /// The envelopes of a mailbox, or its dead letters.
    case messages(KeyID, max: Int, after: Int64, dead: Bool, to: String?)
    /// The next envelopes for a poll.
    case poll(FlowPoll)
    /// The card of an id.
    case card(KeyID, to: String?)
    /// The cards with an account of a name.
    case cards(CardName, to: String?)
    /// The record of a room, by its door.
    case room(KeyID, to: String?)
    /// The message of a step of a meeting. `relay` is the name that the client gave.
    case meeting(Int64, step: Int, relay: String, to: String?)
    /// The data that a login needs. `member` is the member who logged in on this connection.
    case login(Login, member: KeyID?, to: String?)
    /// The account that decides about an earlier session.
    case resume(SessionTokens.Session, to: String?)
    /// The data that decides about a publication of an owner.
    case publish(Change, of: KeyID, to: String?)
    /// The registration for wake-ups that a mailbox has of the kind of a new one.
    case wake(KeyID, WakeRegistration, to: String?)
    /// The account of a member who makes an invitation, and the number of the member's invitations.
    case invitations(StoredInvitation, of: KeyID, to: String?)
    /// The data for the answer to a login, with the instance that the owner gave or `nil`.
    case session(KeyID, instance: [UInt8]?, token: String, to: String?)
    /// Envelopes to push to the subscriber of a mailbox.
    case push(KeyID, after: Int64, limit: Int)

    /// The result of a ``StoreQuery``.
    enum Result: Sendable {
        /// `then` is a change that the read causes.
        case response(Response, to: String?, weight: Int, then: Change? = nil)
        case poll(FlowPoll)
        case login(Login, LoginContext, to: String?)
        case resume(SessionTokens.Session, RelayAccount?, to: String?)
        /// `space` is what the publication replaces, as ``DirectoryLimit`` counts it.
        case publish(Change, of: KeyID, RelayAccount?, isKnown: Bool, space: Int64, to: String?)
        case wake(StoredWake, replacing: StoredWake?, to: String?)
        case invitations(StoredInvitation, of: KeyID, RelayAccount?, count: Int64, to: String?)
        case session(KeyID, OpenedMailbox, token: String, to: String?)
        case push(KeyID, Page)
        /// The store has no space, which a read of a database server can need.
        case full(StoreQuery)
    }

    /// The approximate number of bytes of the response.
    var weight: Int {
        switch self {
        case .messages: WireLimits.fetchBytes
        case .poll: FlowPoll.weight
        case .card: WireLimits.cardBytes
        case .cards: WireLimits.cardCount * WireLimits.cardBytes
        case .room: WireLimits.roomBytes
        case .meeting: WireLimits.meetingBytes
        case .login, .resume, .publish, .wake, .invitations, .session, .push: 0
        }
    }

    /// The id of the request; `nil` for a push.
    var requestID: String? {
        switch self {
        case .messages(_, _, _, _, let id), .card(_, let id), .cards(_, let id), .room(_, let id),
            .meeting(_, _, _, let id), .login(_, _, let id),
            .resume(_, let id), .publish(_, _, let id), .session(_, _, _, let id),
            .wake(_, _, let id), .invitations(_, _, let id):
            id
        case .poll(let poll): poll.requestID
        case .push: nil
        }
    }

    /// Whether the connection pauses until the result is there.
    var pauses: Bool {
        switch self {
        case .messages, .poll, .card, .cards, .room, .meeting, .push: false
        case .login, .resume, .publish, .wake, .invitations, .session: true
        }
    }

    /// Reads from a store.
    func run(_ store: any Store, _ clock: RelayClock) throws(StoreError) -> Result {
        switch self {
        case .messages(let mailbox, let max, let after, let dead, let requestID):
            let page = try store.messages(
                in: mailbox, after: after, limit: max, dead: dead, at: clock.expiry,
                second: clock.holding)
            return .response(
                .messages(page.messages.map(\.delivered), more: page.hasMore), to: requestID,
                weight: weight)
        case .poll(var poll):
            poll.take(
                try store.messages(
                    in: poll.mailbox, after: poll.after, limit: WireLimits.fetchCount, dead: false,
                    at: clock.expiry, second: clock.holding))
            return .poll(poll)
        case .card(let id, let requestID):
            let account = try store.account(of: id)
            guard let account, let card = account.card else {
                return .response(.error(Refusal(.noCard)), to: requestID, weight: weight)
            }
            // A card that is fetched is kept.
            let isDue = account.minute + RelayAccount.signMinutes <= clock.minute
            return .response(
                .card(card), to: requestID, weight: weight,
                then: isDue ? .update(id, Self.isRevocation(card) ? .revocation(card) : .seen) : nil
            )
        case .cards(let name, let requestID):
            let cards = try store.cards(named: name)
            return .response(
                cards.isEmpty ? .error(Refusal(.noCard)) : .cards(cards), to: requestID,
                weight: weight)
        case .room(let door, let requestID):
            let room = try store.room(of: door)
            return .response(
                room.map { .room($0) } ?? .error(Refusal(.noRoom)), to: requestID, weight: weight)
        case .meeting(let number, let step, let relay, let requestID):
            let place = try store.meeting(number, step: step, at: clock.holding)
            return .response(
                place?.response(relay) ?? .error(Refusal(.noMeeting)), to: requestID,
                weight: weight)
        case .login(let login, let member, let requestID):
            return .login(
                login, try LoginContext(of: login, member, store, clock), to: requestID)
        case .resume(let session, let requestID):
            let responsible = session.voucher ?? session.mailbox
            return .resume(session, try store.account(of: responsible), to: requestID)
        case .publish(let change, let owner, let requestID):
            if change.isRoom {
                let room = try store.room(of: owner)
                let space = room.map { DirectoryLimit.rowBytes + Int64($0.count) } ?? 0
                return .publish(
                    change, of: owner, nil, isKnown: room != nil, space: space, to: requestID)
            }
            let account = try store.account(of: owner)
            // A succession has a separate row, so each one counts as a new id.
            if case .update(let key, _) = change, key != owner {
                let row = try store.account(of: key)
                return .publish(
                    change, of: owner, account, isKnown: row != nil,
                    space: change.space(replacing: row, nil), to: requestID)
            }
            let status = try store.preKeys(of: owner)
            return .publish(
                change, of: owner, account, isKnown: account != nil || status != nil,
                space: change.space(replacing: account, status), to: requestID)
        case .wake(let mailbox, let registration, let requestID):
            let known = try store.wakes(of: [mailbox], at: clock.minute)
                .first { $0.registration.kind == registration.kind }
            let wake = StoredWake(
                mailbox: mailbox, registration: registration,
                until: clock.minute + StoredWake.lifeMinutes)
            return .wake(wake, replacing: known, to: requestID)
        case .invitations(var invitation, let member, let requestID):
            invitation.until += clock.minute
            return .invitations(
                invitation, of: member, try store.account(of: member),
                count: try store.invitationCount(of: member, at: clock.minute), to: requestID)
        case .session(let owner, let instance, let token, let requestID):
            return .session(
                owner, try OpenedMailbox(of: owner, instance, store, clock), token: token,
                to: requestID)
        case .push(let mailbox, let after, let limit):
            return .push(
                mailbox,
                try store.messages(
                    in: mailbox, after: after, limit: limit, dead: false, at: clock.expiry,
                    second: clock.holding))
        }
    }
}

extension StoreQuery {
    /// Whether the line in place of a card is a revocation, of which the copy in place of the prekeys is kept too.
    private static func isRevocation(_ line: [UInt8]) -> Bool {
        (try? JSON.object(parsing: line))?["type"]?.string == Revocation.type
    }
}

/// The stored data that a login needs.
struct LoginContext: Sendable {
    let account: RelayAccount?
    let invitation: StoredInvitation?
    /// Whether the login proves that it has the code of that invitation.
    let provesInvitation: Bool
    /// The member who logged in on this connection, and its account.
    let member: KeyID?
    let voucher: RelayAccount?
    let minute: Int64

    init(
        of login: Login, _ member: KeyID?, _ store: any Store, _ clock: RelayClock
    ) throws(StoreError) {
        account = try store.account(of: login.id)
        invitation =
            if let proof = login.invitation { try store.invitation(proof.tag) } else { nil }
        provesInvitation =
            invitation.map { login.provesInvitation(withKey: $0.key) } ?? false
        self.member = member
        voucher = if let member { try store.account(of: member) } else { nil }
        minute = clock.minute
    }
}

/// The stored data that the answer to a login needs.
struct OpenedMailbox: Sendable {
    /// The state of the owner's prekeys.
    let status: PreKeyStatus?
    let account: RelayAccount?
    let minute: Int64
    /// The day on which the owner last logged in with another instance, or `nil`.
    private(set) var other: Int64?
    /// The instance to store, or `nil` if it is stored. A relay stores none of an owner who published nothing.
    private(set) var due: StoredInstance?

    init(
        of owner: KeyID, _ mark: [UInt8]?, _ store: any Store, _ clock: RelayClock
    ) throws(StoreError) {
        status = try store.preKeys(of: owner)
        account = try store.account(of: owner)
        minute = clock.minute
        guard let mark, status != nil || account != nil else { return }
        let instance = StoredInstance(owner: owner, mark: mark, day: minute / (24 * 60))
        let known = try store.instance(of: owner)
        if let known, known.mark != mark, known.isKept(at: minute) { other = known.day }
        if instance != known { due = instance }
    }
}

extension Change {
    /// The space of what a card, a login key or prekeys replace. Known owners may always renew their prekeys, because
    /// their number is limited.
    fileprivate func space(replacing account: RelayAccount?, _ status: PreKeyStatus?) -> Int64 {
        func space(of bytes: [UInt8]?) -> Int64 {
            account == nil ? 0 : DirectoryLimit.rowBytes + Int64(bytes?.count ?? 0)
        }
        return switch self {
        case .publish: status == nil ? 0 : directoryBytes
        case .update(_, .card): space(of: account?.card)
        case .update(_, .revocation):
            space(of: account?.card) + (status == nil ? 0 : DirectoryLimit.ownerBytes)
        case .update(_, .loginKey): space(of: account?.loginKey)
        case .store, .acknowledge, .claim, .claims, .update, .publishRoom, .invite, .revoke,
            .redeem,
            .meeting, .registerWake, .unregisterWake, .noteInstance:
            0
        }
    }
}
