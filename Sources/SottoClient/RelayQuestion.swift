import NIOCore
import NIOPosix
public import Sotto
import SottoState
public import SottoWire

/// A question that needs no login and may be asked again after a lost connection.
struct RelayQuestion {
    /// The seconds for one step of an attempt.
    private static let patience = 10.0

    let request: Request
    let relay: RelayURL

    /// Asks, on a connection of its own, and makes the connection again within `timeout` seconds. What is an error of
    /// the relay's is thrown.
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
                guard error.isPassing, Monotonic.seconds() + delay < deadline else { throw error }
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
        let response = try link.ask(
            request, requestID: "question", of: relay, events: events, others: &others,
            timeout: left())
        switch response {
        case .error, .rejected, .deferred: throw ClientError(response, relay)
        default: return response
        }
    }
}

/// Asks a relay's directory for the card of an id.
public struct CardLookup: Sendable {
    /// Whose card.
    public let id: SessionID

    /// A question for an id's card.
    public init(_ id: SessionID) { self.id = id }

    /// Asks a relay. What is returned is signed by the id; whose id it is, no relay can say.
    ///
    /// Throws ``ClientError/noCard(relay:)``, ``ClientError/forgedCard(relay:)``, or why the relay could not be
    /// asked.
    public func run(at relay: RelayURL, timeout: Double = 30) throws(ClientError) -> Card {
        let response = try RelayQuestion(request: .lookup(id), relay: relay).ask(timeout: timeout)
        guard case .card(let line) = response else { throw ClientError(response, relay) }
        guard let record = try? JSON.object(parsing: line), let card = try? Card(record: record),
            card.id == id
        else { throw .forgedCard(relay: relay.description) }
        return card
    }
}
