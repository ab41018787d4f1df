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
    /// Connects and logs in.
    static func open(
        _ relay: RelayURL, identity: Identity, group: MultiThreadedEventLoopGroup,
        requests: inout Int
    ) throws(ClientError) -> Self {
        let events = EventQueue<RelayLink.Event>()
        let link = try RelayLink.open(to: relay, group: group, events: events, timeout: 30)
        var isOpen = false
        defer { if !isOpen { link.close() } }
        var session = Self(link: link, relay: relay, events: events)
        guard
            case .challenge(let nonce, let names) = try session.ask(.challenge, &requests)
        else { throw .notARelay(relay: relay.description) }
        guard names.contains(where: { $0.lowercased() == relay.name }) else {
            throw .otherName(relay: relay.description, names: names)
        }
        let login = Login(key: identity.signingKey, nonce: nonce, relay: relay.name)
        switch try session.ask(.login(login), &requests) {
        case .session(let status, _): session.preKeys = status
        case .error: throw .loginRefused(relay: relay.description)
        default: throw .notARelay(relay: relay.description)
        }
        isOpen = true
        return session
    }

    /// Has envelopes pushed.
    mutating func subscribe(_ requests: inout Int) throws(ClientError) {
        guard case .subscribed = try ask(.subscribe, &requests) else {
            throw .notARelay(relay: relay.description)
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
