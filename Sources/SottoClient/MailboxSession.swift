import NIOPosix
package import Sotto
import SottoWire

/// The owner of a mailbox, with the key that opens it.
package enum MailboxOwner: Sendable {
    /// An identity with its own key.
    case identity(Identity)
    /// An id with the RSA key that its owner registered at the relay.
    case loginKey(RSALoginKey, KeyID)

    /// The id of the owner and of the mailbox.
    public var id: KeyID {
        switch self {
        case .identity(let identity): identity.device
        case .loginKey(_, let id): id
        }
    }

    func login(
        _ nonce: [UInt8], at relay: RelayURL, _ invitation: InvitationCode?, _ instance: [UInt8]?
    ) throws(ClientError) -> Login {
        switch self {
        case .identity(let identity):
            return Login(
                key: identity.signingKey, nonce: nonce, relay: relay.name, invitation: invitation,
                instance: instance)
        case .loginKey(let key, let id):
            do throws(RSAKeyError) {
                return try Login(rsaKey: key, id: id, nonce: nonce, relay: relay.name)
            } catch {
                throw .notARelay(relay: relay.description)
            }
        }
    }
}

/// The connections on which mailboxes are open: logged in, and possibly subscribed. One connection serves the identity
/// and 255 of its addresses; more addresses use more connections. If one connection ends, all are opened again.
struct MailboxSession {
    let relay: RelayURL
    let events = EventQueue<RelayLink.Event>()
    /// The responses to a publication of prekeys.
    let publicationEvents = EventQueue<RelayLink.Event>()
    /// The state of the identity's prekeys at the relay.
    private(set) var preKeys: PreKeyStatus?
    /// The day, since 1970, on which the owner last logged in with another instance, as the relay says; or `nil`.
    private(set) var otherInstance: Int64?
    /// Pushes that arrived together with the response to a request.
    var early: [RelayLink.Event] = []
    var waitingForAcks = 0
    /// Whether a connection has ended.
    var isLost = false
    /// The open mailboxes, the identity's first.
    private(set) var mailboxes: [KeyID] = []

    private var links: [RelayLink] = []
    /// The index of each mailbox's connection.
    private var places: [KeyID: Int] = [:]

    /// The maximum number of addresses on a connection where the identity's own mailbox is open too.
    static let addressesPerLink = WireLimits.openMailboxes - 1

    private init(relay: RelayURL) { self.relay = relay }

    /// Returns the connection on which a mailbox is open, or the first connection for any other mailbox.
    func link(of mailbox: KeyID) -> RelayLink { links[places[mailbox] ?? 0] }

    /// Returns the next events, and waits for them if none are queued.
    mutating func take(timeout: Double?) -> [RelayLink.Event] {
        guard early.isEmpty else {
            defer { early = [] }
            return early
        }
        return events.take(timeout: timeout)
    }

    /// Closes all connections.
    func close() { for link in links { link.close() } }
}

extension MailboxSession {
    /// Connects and logs in to the owner's mailbox and to those of all addresses. `instance` is that of ``Login/instance`` for the
    /// owner's mailbox, or `nil`. The others have none: the relay does not keep it for addresses.
    static func open(
        _ relay: RelayURL, owner: MailboxOwner, addresses: [SendAddress] = [],
        invitation: InvitationCode? = nil, instance: [UInt8]? = nil,
        group: MultiThreadedEventLoopGroup, requests: inout Int
    ) throws(ClientError) -> Self {
        var session = Self(relay: relay)
        var isOpen = false
        defer { if !isOpen { session.close() } }
        var rest = addresses[...]
        repeat {
            // A members-only relay opens an address only on a connection with its owner's mailbox.
            let isFirst = session.links.isEmpty
            try session.connect(group)
            let (preKeys, other) = try session.logIn(&requests) { nonce throws(ClientError) in
                try owner.login(
                    nonce, at: relay, isFirst ? invitation : nil, isFirst ? instance : nil)
            }
            if isFirst { (session.preKeys, session.otherInstance) = (preKeys, other) }
            guard case .identity(let identity) = owner else { break }
            for address in rest.prefix(addressesPerLink) {
                _ = try session.logIn(&requests) { nonce throws(ClientError) in
                    Login(key: address.key(of: identity), nonce: nonce, relay: relay.name)
                }
            }
            rest = rest.dropFirst(addressesPerLink)
        } while !rest.isEmpty
        isOpen = true
        return session
    }

    private mutating func connect(_ group: MultiThreadedEventLoopGroup) throws(ClientError) {
        // The identity's own mailbox is open on the first connection.
        let aside =
            links.isEmpty
            ? (id: PreKeyPublishing.requestID, events: publicationEvents) : nil
        links.append(
            try RelayLink.open(
                to: relay, group: group, events: events, aside: aside, timeout: 30))
    }

    /// Opens a mailbox on the last connection; `sign` makes its login. Returns the state of that id's prekeys at the
    /// relay, and the day of another instance.
    private mutating func logIn(
        _ requests: inout Int, _ sign: ([UInt8]) throws(ClientError) -> Login
    ) throws(ClientError) -> (PreKeyStatus?, other: Int64?) {
        guard
            case .challenge(let nonce, let names) = try ask(
                .challenge, on: links.count - 1, &requests)
        else { throw .notARelay(relay: relay.description) }
        guard names.contains(where: { $0.lowercased() == relay.name }) else {
            throw .otherName(relay: relay.description, names: names)
        }
        let login = try sign(nonce)
        switch try ask(.login(login), on: links.count - 1, &requests) {
        case .session(let status, _, let other):
            if places[login.id] == nil {
                places[login.id] = links.count - 1
                mailboxes.append(login.id)
            }
            return (status, other)
        case .error(let refusal) where refusal.reason == Reason.notAdmitted.rawValue:
            throw .notAdmitted(relay: relay, hadCode: login.invitation != nil)
        case .deferred:
            throw .relayFull(relay: relay.description)
        case .error: throw .loginRefused(relay: relay.description)
        default: throw .notARelay(relay: relay.description)
        }
    }

    /// Subscribes to all mailboxes, so that the relay pushes their envelopes.
    mutating func subscribe(_ requests: inout Int) throws(ClientError) {
        for mailbox in mailboxes {
            guard case .subscribed = try ask(.subscribe(of: mailbox), of: mailbox, &requests) else {
                throw .notARelay(relay: relay.description)
            }
        }
    }

    /// Sends a request about a mailbox and waits for the response. Events that arrive meanwhile are kept.
    mutating func ask(
        _ request: Request, of mailbox: KeyID, _ requests: inout Int
    ) throws(ClientError) -> Response {
        try ask(request, on: places[mailbox] ?? 0, &requests)
    }

    /// Does the same, and repeats the request after a proof of work if the relay requires it.
    mutating func askWithWork(
        _ request: Request, of mailbox: KeyID, _ requests: inout Int
    ) throws(ClientError) -> Response {
        requests += 1
        return try links[places[mailbox] ?? 0].askWithWork(
            request, requestID: "\(requests)", of: relay, events: events, others: &early,
            timeout: 20)
    }

    private mutating func ask(
        _ request: Request, on place: Int, _ requests: inout Int
    ) throws(ClientError) -> Response {
        requests += 1
        return try links[place].ask(
            request, requestID: "\(requests)", of: relay, events: events, others: &early,
            timeout: 20)
    }
}
