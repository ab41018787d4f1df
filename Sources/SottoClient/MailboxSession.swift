import NIOPosix
import Sotto
import SottoWire

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
    /// Connects and logs in, to the identity's mailbox and to those of its addresses.
    static func open(
        _ relay: RelayURL, identity: Identity, addresses: [SendAddress] = [],
        group: MultiThreadedEventLoopGroup, requests: inout Int
    ) throws(ClientError) -> Self {
        let events = EventQueue<RelayLink.Event>()
        let link = try RelayLink.open(to: relay, group: group, events: events, timeout: 30)
        var isOpen = false
        defer { if !isOpen { link.close() } }
        var session = Self(link: link, relay: relay, events: events)
        session.preKeys = try session.logIn(with: identity.signingKey, &requests)
        for address in addresses.prefix(WireLimits.openMailboxes - 1) {
            _ = try session.logIn(with: address.key(of: identity), &requests)
        }
        isOpen = true
        return session
    }

    /// Opens the mailbox of a key; returns what the relay has of the prekeys of that id.
    private mutating func logIn(
        with key: SigningKey, _ requests: inout Int
    ) throws(ClientError) -> PreKeyStatus? {
        guard case .challenge(let nonce, let names) = try ask(.challenge, &requests) else {
            throw .notARelay(relay: relay.description)
        }
        guard names.contains(where: { $0.lowercased() == relay.name }) else {
            throw .otherName(relay: relay.description, names: names)
        }
        let login = Login(key: key, nonce: nonce, relay: relay.name)
        switch try ask(.login(login), &requests) {
        case .session(let status, _):
            mailboxes.append(login.id)
            return status
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
