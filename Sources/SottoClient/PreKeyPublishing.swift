import Dispatch
import Sotto
import SottoWire

/// A publication of prekeys on the connection of a session, in parallel with the reception: a relay that does not answer it, or that
/// asks for a proof of work, delays no envelope. Its responses have a separate queue.
struct PreKeyPublishing {
    /// The id of its requests.
    static let requestID = "prekeys"

    private let result = EventQueue<ClientError?>()

    /// Begins the publication on a separate thread. `events` gets the responses with ``requestID``, and the end of the
    /// connection.
    init(
        _ publication: PreKeyPublication, over link: RelayLink, at relay: RelayURL,
        _ events: EventQueue<RelayLink.Event>
    ) {
        DispatchQueue(label: "recv.prekeys").async { [result] in
            var others: [RelayLink.Event] = []
            do throws(ClientError) {
                try link.publish(
                    publication, requestID: Self.requestID, at: relay, events: events,
                    others: &others)
                result.put(nil)
            } catch {
                result.put(error)
            }
        }
    }

    /// Waits at most `timeout` seconds for the end. Returns the error, or `nil` if the relay has the prekeys.
    func wait(timeout: Double, at relay: RelayURL) -> ClientError? {
        switch result.takeOne(timeout: timeout) {
        case .some(let error): error
        case nil: .lost(relay: relay.description)
        }
    }
}
