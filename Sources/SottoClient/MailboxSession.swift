import NIOPosix
public import Sotto
import SottoWire

/// Whose mailbox it is, and with what it is opened.
public enum MailboxOwner: Sendable {
    /// An identity, with its own key.
    case identity(Identity)
    /// An id, with the RSA key that its owner gave to the relay.
    case loginKey(RSALoginKey, SessionID)

    /// The id, and the mailbox.
    public var id: SessionID {
        switch self {
        case .identity(let identity): identity.id
        case .loginKey(_, let id): id
        }
    }

    func login(_ nonce: [UInt8], at relay: RelayURL, _ invitation: InvitationCode?)
        throws(ClientError) -> Login
    {
        switch self {
        case .identity(let identity):
            return Login(
                key: identity.signingKey, nonce: nonce, relay: relay.name, invitation: invitation)
        case .loginKey(let key, let id):
            do throws(RSAKeyError) {
                return try Login(rsaKey: key, id: id, nonce: nonce, relay: relay.name)
            } catch {
                throw .notARelay(relay: relay.description)
            }
        }
    }
}

/// A connection on which a mailbox is open: logged in, and perhaps subscribed.
struct MailboxSession {
    let link: RelayLink
    let relay: RelayURL
    let events: EventQueue<RelayLink.Event>
    /// What the relay has of our prekeys.
    var preKeys: PreKeyStatus?
    /// Pushes that came in the same breath as the answer to a request.
    var early: [RelayLink.Event] = []
    var waitingForAcks = 0
    /// The mailboxes that are open, the identity's first.
    private(set) var mailboxes: [SessionID] = []

    /// The next events, waiting for them if need be.
    mutating func take(timeout: Double?) -> [RelayLink.Event] {
        guard early.isEmpty else {
            defer { early = [] }
            return early
        }
        return events.take(timeout: timeout)
    }
}

extension MailboxSession {
    /// Connects and logs in, to the owner's mailbox and to those of its addresses.
    static func open(
        _ relay: RelayURL, owner: MailboxOwner, addresses: [SendAddress] = [],
        invitation: InvitationCode? = nil, group: MultiThreadedEventLoopGroup,
        requests: inout Int
    ) throws(ClientError) -> Self {
        let events = EventQueue<RelayLink.Event>()
        let link = try RelayLink.open(to: relay, group: group, events: events, timeout: 30)
        var isOpen = false
        defer { if !isOpen { link.close() } }
        var session = Self(link: link, relay: relay, events: events)
        session.preKeys = try session.logIn(&requests) { nonce throws(ClientError) in
            try owner.login(nonce, at: relay, invitation)
        }
        if case .identity(let identity) = owner {
            for address in addresses.prefix(WireLimits.openMailboxes - 1) {
                _ = try session.logIn(&requests) { nonce throws(ClientError) in
                    Login(key: address.key(of: identity), nonce: nonce, relay: relay.name)
                }
            }
        }
        isOpen = true
        return session
    }

    /// Opens the mailbox that `sign` makes a login for; returns what the relay has of the prekeys of that id.
    private mutating func logIn(
        _ requests: inout Int, _ sign: ([UInt8]) throws(ClientError) -> Login
    ) throws(ClientError) -> PreKeyStatus? {
        guard case .challenge(let nonce, let names) = try ask(.challenge, &requests) else {
            throw .notARelay(relay: relay.description)
        }
        guard names.contains(where: { $0.lowercased() == relay.name }) else {
            throw .otherName(relay: relay.description, names: names)
        }
        let login = try sign(nonce)
        switch try ask(.login(login), &requests) {
        case .session(let status, _):
            mailboxes.append(login.id)
            return status
        case .error(let refusal) where refusal.reason == Reason.notAdmitted.rawValue:
            throw .notAdmitted(relay: relay.description, hadCode: login.invitation != nil)
        case .deferred:
            throw .putOff(relay: relay.description)
        case .error: throw .loginRefused(relay: relay.description)
        default: throw .notARelay(relay: relay.description)
        }
    }

    /// Has the envelopes of all mailboxes pushed.
    mutating func subscribe(_ requests: inout Int) throws(ClientError) {
        for mailbox in mailboxes {
            guard case .subscribed = try ask(.subscribe(of: mailbox), &requests) else {
                throw .notARelay(relay: relay.description)
            }
        }
    }

    /// Asks something and waits for the answer; what comes meanwhile is kept for later.
    mutating func ask(
        _ request: Request, _ requests: inout Int
    ) throws(ClientError) -> Response {
        requests += 1
        return try link.ask(
            request, requestID: "\(requests)", of: relay, events: events, others: &early,
            timeout: 20)
    }
}
