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
        let request = Request.publish(PublishedPreKeys(publication))
        var response = try ask(
            request, requestID: requestID, of: relay, events: events, others: &others,
            timeout: timeout)
        if case .error(let refusal) = response, refusal.reason == Reason.workRequired.rawValue {
            let puzzle = try ask(
                .puzzle, requestID: requestID, of: relay, events: events, others: &others,
                timeout: timeout)
            guard let solution = Request.solution(of: puzzle) else {
                throw ClientError(response, relay)
            }
            _ = try ask(
                solution, requestID: requestID, of: relay, events: events, others: &others,
                timeout: timeout)
            response = try ask(
                request, requestID: requestID, of: relay, events: events, others: &others,
                timeout: timeout)
        }
        guard case .stored = response else { throw ClientError(response, relay) }
    }
}

extension Request {
    /// The most zero bits that we look for, some seconds of one core.
    private static let mostBits = 24

    /// The solution of a puzzle, after some seconds; `nil` for another response, and for too much work.
    static func solution(of response: Response) -> Request? {
        guard case .puzzle(let nonce, let bits) = response, bits <= mostBits,
            let counter = try? ProofOfWork.solve(nonce, bits: bits)
        else { return nil }
        return .solution(nonce: nonce, counter: counter)
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
            case .noCard: self = .noCard(relay: relay)
            case .notAdmitted: self = .notAdmitted(relay: relay, hadCode: false)
            case let reason: self = .refused(relay: relay, reason: reason)
            }
        default: self = .notARelay(relay: relay)
        }
    }
}
