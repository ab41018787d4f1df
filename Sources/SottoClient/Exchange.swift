import NIOPosix
import Sotto
import SottoState
import SottoWire

/// Requests that are answered one at a time.
extension RelayLink {
    /// Connects, and has what comes put into `events`.
    static func open(
        to relay: RelayURL, group: MultiThreadedEventLoopGroup, events: EventQueue<Event>,
        timeout: Double
    ) throws(ClientError) -> RelayLink {
        let connected = EventQueue<Result<RelayLink, ClientError>>()
        connect(to: relay, group: group) {
            events.put($0)
        } done: {
            connected.put($0)
        }
        guard let result = connected.take(timeout: timeout).first else {
            throw .unreachable(relay: relay.description, cause: "no answer")
        }
        return try result.get()
    }

    /// Asks, and waits at most `timeout` seconds for the reply. What else comes meanwhile, pushes for instance,
    /// is added to `others`.
    func ask(
        _ request: Request, requestID: String, of relay: RelayURL, events: EventQueue<Event>,
        others: inout [Event], timeout: Double
    ) throws(ClientError) -> Response {
        write(request.line(requestID: requestID))
        let deadline = Monotonic.seconds() + timeout
        while true {
            let batch = events.take(timeout: deadline - Monotonic.seconds())
            if batch.isEmpty { throw .lost(relay: relay.description) }
            var answer: Response?
            var end: ClientError?
            for event in batch {
                switch event {
                case .response(let response, requestID): answer = response
                case .response(.error(let refusal), nil)
                where refusal.reason == Reason.busy.rawValue:
                    end = end ?? .busy(relay: relay.description)
                case .closed(let error):
                    end = end ?? error
                    others.append(event)
                case .response: others.append(event)
                }
            }
            if let answer { return answer }
            if let end { throw end }
        }
    }

    /// Publishes prekeys, and returns when the relay has them, or has nothing to learn from them.
    ///
    /// Throws, beside the ends of connections, ``ClientError/putOff(relay:)`` when the relay's disk is full, and
    /// ``ClientError/refused(relay:reason:)``, which is ``Reason/unknownType`` with a relay that knows no prekeys.
    func publish(
        _ publication: PreKeyPublication, requestID: String, at relay: RelayURL,
        events: EventQueue<Event>, others: inout [Event], timeout: Double = 20
    ) throws(ClientError) {
        let response = try ask(
            .publish(PublishedPreKeys(publication)), requestID: requestID, of: relay,
            events: events, others: &others, timeout: timeout)
        guard case .stored = response else { throw ClientError(response, relay) }
    }
}

extension ClientError {
    /// The error that an answer is which was not hoped for.
    init(_ response: Response, _ relay: RelayURL) {
        let relay = relay.description
        switch response {
        case .deferred: self = .putOff(relay: relay)
        case .error(let refusal), .rejected(let refusal):
            switch Reason(rawValue: refusal.reason) {
            case .busy: self = .busy(relay: relay)
            case .diskFull: self = .putOff(relay: relay)
            case .noBundle: self = .noBundle(relay: relay)
            case let reason: self = .refused(relay: relay, reason: reason)
            }
        default: self = .notARelay(relay: relay)
        }
    }
}
