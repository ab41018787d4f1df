import NIOCore
import NIOPosix
public import Sotto
import SottoDatabase
import SottoState
public import SottoWire

/// A request that needs no login and may be repeated after a lost connection.
struct AnonymousRequest {
    /// The time limit in seconds for one step of an attempt.
    private static let patience = 10.0

    let request: Request
    let relay: RelayURL
    /// The request that may get a better response.
    var better: Request? = nil
    /// Whether ``better`` is tried, and then the request again after a proof of work. If both fail, the first response
    /// counts.
    var deservesMore: @Sendable (Response) -> Bool = { _ in false }

    /// Sends the request on its own connection, and reconnects within `timeout` seconds, unless the relay refuses the
    /// connection. Throws an error response of the relay as an error.
    func ask(timeout: Double) throws(ClientError) -> Response {
        let group = RelayLink.makeGroup()
        defer { group.shutdownGracefully { _ in } }
        let deadline = Monotonic.seconds() + timeout
        var backoff = Backoff()
        while true {
            do throws(ClientError) {
                return try attempt(group, until: deadline)
            } catch {
                let delay = backoff.next()
                guard error.isWorthAsking, Monotonic.seconds() + delay < deadline else {
                    throw error
                }
                _ = EventQueue<Never>().take(timeout: delay)
            }
        }
    }

    private func attempt(
        _ group: MultiThreadedEventLoopGroup, until deadline: Double
    ) throws(ClientError) -> Response {
        let events = EventQueue<RelayLink.Event>()
        func left() -> Double { max(0, min(Self.patience, deadline - Monotonic.seconds())) }
        let link = try RelayLink.open(to: relay, group: group, events: events, timeout: left())
        defer { link.close() }
        var others: [RelayLink.Event] = []
        func ask(_ request: Request) throws(ClientError) -> Response {
            try link.ask(
                request, requestID: "question", of: relay, events: events, others: &others,
                timeout: left())
        }
        var response = try ask(request)
        if deservesMore(response), let better, let answer = try? ask(better),
            case .bundle = answer
        {
            response = answer
        }
        if deservesMore(response), let puzzle = try? ask(.puzzle),
            let solution = Request.solution(of: puzzle), let accepted = try? ask(solution),
            case .accepted = accepted, let answer = try? ask(request)
        {
            response = answer
        }
        switch response {
        case .error, .rejected, .deferred: throw ClientError(response, relay)
        default: return response
        }
    }
}

/// A request to a relay's directory for the card of an id.
public struct CardLookup: Sendable {
    /// The id of the card.
    public let id: KeyID

    /// Creates a request for the card of an id.
    public init(_ id: KeyID) { self.id = id }

    /// Sends the request to a relay. The returned card is signed by the id; the relay cannot confirm who owns the id.
    ///
    /// Throws ``ClientError/noCard(relay:)``, ``ClientError/revoked(_:)``, ``ClientError/forgedCard(relay:)``, or the error of the
    /// connection.
    public func run(at relay: RelayURL, timeout: Double = 30) throws(ClientError) -> Card {
        let response = try AnonymousRequest(request: .lookup(id), relay: relay).ask(
            timeout: timeout)
        guard case .card(let line) = response else { throw ClientError(response, relay) }
        if case .revocation(let revocation)? = response.news(of: id).first {
            throw .revoked(revocation)
        }
        guard let record = try? JSON.object(parsing: line), let card = try? Card(record: record),
            card.id == id
        else { throw .forgedCard(relay: relay.description) }
        return card
    }
}

/// A request for the room that a relay offers to everybody.
public struct AnnouncementsLookup: Sendable {
    /// Creates the request.
    public init() {}

    /// Sends the request to a relay. Returns the offered address as it came, at most ``WireLimits/roomURIBytes`` bytes, or
    /// `nil` if the relay offers no room. Throws the error of the connection.
    public func run(at relay: RelayURL, timeout: Double = 30) throws(ClientError) -> String? {
        do throws(ClientError) {
            let response = try AnonymousRequest(request: .announcements, relay: relay).ask(
                timeout: timeout)
            guard case .announcements(let uri) = response else {
                throw ClientError(response, relay)
            }
            return uri
        } catch {
            if case .noRoom = error { return nil }
            throw error
        }
    }
}

/// A request to a relay's directory for the cards with the id of an account in another messenger.
public struct CardSearch: Sendable {
    /// The id of the account.
    public let account: String

    /// Creates a request for the cards with an account's id, of 1 to 255 bytes.
    public init(_ account: String) { self.account = account }

    /// Sends the request to a relay, and returns 1 to ``WireLimits/cardCount`` different cards. Each is signed by its id
    /// and names the account; **the caller verifies that the account belongs to the card**. Other answers are left out.
    ///
    /// Throws ``ClientError/noCard(relay:)`` or the error of the connection.
    public func run(at relay: RelayURL, timeout: Double = 30) throws(ClientError) -> [Card] {
        let response = try AnonymousRequest(request: .cards(account: account), relay: relay).ask(
            timeout: timeout)
        guard case .cards(let lines) = response else { throw ClientError(response, relay) }
        var cards: [Card] = []
        for line in lines {
            guard let record = try? JSON.object(parsing: line),
                let card = try? Card(record: record),
                card.accountNames.contains(Card.accountName(account)),
                !cards.contains(where: { $0.id == card.id })
            else { continue }
            cards.append(card)
        }
        guard !cards.isEmpty else { throw .noCard(relay: relay.description) }
        return cards
    }
}

/// A request to a relay's directory for the record of a room.
public struct RoomLookup: Sendable {
    /// The door of the room.
    public let door: KeyID

    /// Creates a request for the room with a door.
    public init(_ door: KeyID) { self.door = door }

    /// Sends the request to a relay, and returns the record. The door has signed the key that signed the record.
    ///
    /// Throws ``ClientError/noRoom(relay:)``, ``ClientError/forgedRoom(relay:)``, or the error of the connection.
    public func run(at relay: RelayURL, timeout: Double = 30) throws(ClientError) -> JSONObject {
        let response = try AnonymousRequest(request: .room(door), relay: relay).ask(
            timeout: timeout)
        guard case .room(let line) = response else { throw ClientError(response, relay) }
        guard let record = try? JSON.object(parsing: line),
            let room = try? RoomRecord(record: record), room.door == door
        else { throw .forgedRoom(relay: relay.description) }
        return record
    }
}
