import NIOCore
import NIOPosix
public import Sotto
import SottoState
public import SottoWire

/// The claim of a bundle of prekeys, to start a session with their owner.
///
/// A relay hands a one-time prekey out once, and knows the claim again by its id: whoever keeps the id and asks
/// again, even in another process, gets the same bundle and uses up no other key.
public struct PreKeyClaim: Sendable, Equatable {
    /// Whose prekeys are claimed.
    public let owner: SessionID
    /// The claim's id: a random UUID in lower case.
    public let id: String

    /// A claim; `id` has the form of `Envelope.newID()`.
    public init(owner: SessionID, id: String) {
        precondition(Envelope.isID(id), "a claim's id is a lower-case UUID")
        self.owner = owner
        self.id = id
    }

    /// Claims the bundle at a relay. A lost connection is made again, with the same id, within `timeout`
    /// seconds.
    ///
    /// What is returned is signed by the owner. Its `oneTimePreKey` is `nil` when the owner has run out. Throws
    /// ``ClientError/noBundle(relay:)``, ``ClientError/forgedBundle(relay:)``,
    /// ``ClientError/refused(relay:reason:)``, which is ``Reason/conflict`` for an id that claimed another
    /// owner's, or why the relay could not be asked.
    public func run(at relay: RelayURL, timeout: Double = 30) throws(ClientError) -> PreKeyBundle {
        let group = RelayLink.makeGroup()
        defer { group.shutdownGracefully { _ in } }
        let deadline = Monotonic.seconds() + timeout
        var backoff = Backoff()
        while true {
            do throws(ClientError) {
                return try attempt(relay, group, until: deadline)
            } catch {
                let delay = backoff.next()
                guard error.isPassing, Monotonic.seconds() + delay < deadline else { throw error }
                _ = EventQueue<Never>().take(timeout: delay)
            }
        }
    }

    /// The seconds for one step of an attempt.
    private static let patience = 10.0

    private func attempt(
        _ relay: RelayURL, _ group: MultiThreadedEventLoopGroup, until deadline: Double
    ) throws(ClientError) -> PreKeyBundle {
        let events = EventQueue<RelayLink.Event>()
        func left() -> Double { max(0, min(Self.patience, deadline - Monotonic.seconds())) }
        let link = try RelayLink.open(to: relay, group: group, events: events, timeout: left())
        defer { link.close() }
        var others: [RelayLink.Event] = []
        let response = try link.ask(
            .claim(owner: owner, id: id), requestID: "claim", of: relay, events: events,
            others: &others, timeout: left())
        guard case .bundle(let line) = response else { throw ClientError(response, relay) }
        guard let record = try? JSON.object(parsing: line),
            let bundle = try? PreKeyBundle(record: record), bundle.owner == owner
        else { throw .forgedBundle(relay: relay.description) }
        return bundle
    }
}
