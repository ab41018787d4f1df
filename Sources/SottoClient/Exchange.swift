import NIOPosix
import Sotto
import SottoDatabase
import SottoState
import SottoWire

/// Requests that are answered one at a time.
extension RelayLink {
    /// Connects, and puts received events into `events`. The responses with the id `aside.id` go into `aside.events`, which
    /// also gets the end of the connection.
    static func open(
        to relay: RelayURL, group: MultiThreadedEventLoopGroup, events: EventQueue<Event>,
        aside: (id: String, events: EventQueue<Event>)? = nil, timeout: Double
    ) throws(ClientError) -> RelayLink {
        let connected = EventQueue<Result<RelayLink, ClientError>>()
        connect(to: relay, group: group) { event in
            switch event {
            case .response(_, let id?) where id == aside?.id: aside?.events.put(event)
            case .response: events.put(event)
            case .closed:
                events.put(event)
                aside?.events.put(event)
            }
        } isFull: {
            events.isFull
        } done: {
            connected.put($0)
        }
        guard let result = connected.take(timeout: timeout).first else {
            throw .unreachable(relay: relay.description, cause: "no answer")
        }
        return try result.get()
    }

    /// The most events that may arrive before a response.
    private static let mostOthers = 2_000

    /// Sends a request and waits at most `timeout` seconds for the response. Other events that arrive meanwhile, such
    /// as pushed envelopes, are appended to `others`. A relay that sends too many of them is none.
    func ask(
        _ request: Request, requestID: String, of relay: RelayURL, events: EventQueue<Event>,
        others: inout [Event], timeout: Double
    ) throws(ClientError) -> Response {
        write(request.line(requestID: requestID))
        let deadline = Monotonic.seconds() + timeout
        while true {
            let left = deadline - Monotonic.seconds()
            let batch = left > 0 ? events.take(timeout: left) : []
            if batch.isEmpty { throw .lost(relay: relay.description) }
            guard others.count <= Self.mostOthers else {
                throw .notARelay(relay: relay.description)
            }
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

    /// Publishes prekeys. Returns when the relay has stored them or has the same ones already.
    ///
    /// Throws the errors of a lost connection, ``ClientError/relayFull(relay:)`` if the relay's disk is full, and
    /// ``ClientError/refused(relay:reason:)``, with ``Reason/unknownType`` for a relay that does not support prekeys.
    func publish(
        _ publication: PreKeyPublication, requestID: String, at relay: RelayURL,
        events: EventQueue<Event>, others: inout [Event], timeout: Double = 20
    ) throws(ClientError) {
        let response = try askWithWork(
            .publish(PublishedPreKeys(publication)), requestID: requestID, of: relay,
            events: events, others: &others, timeout: timeout)
        guard case .stored = response else { throw ClientError(response, relay) }
    }

    /// Sends a request like ``ask(_:requestID:of:events:others:timeout:)``, and if the relay requires it once more after a
    /// proof of work.
    func askWithWork(
        _ request: Request, requestID: String, of relay: RelayURL, events: EventQueue<Event>,
        others: inout [Event], timeout: Double
    ) throws(ClientError) -> Response {
        let response = try ask(
            request, requestID: requestID, of: relay, events: events, others: &others,
            timeout: timeout)
        guard case .error(let refusal) = response, refusal == Refusal(.workRequired) else {
            return response
        }
        let puzzle = try ask(
            .puzzle, requestID: requestID, of: relay, events: events, others: &others,
            timeout: timeout)
        guard let solution = Request.solution(of: puzzle) else {
            throw ClientError(response, relay)
        }
        _ = try ask(
            solution, requestID: requestID, of: relay, events: events, others: &others,
            timeout: timeout)
        return try ask(
            request, requestID: requestID, of: relay, events: events, others: &others,
            timeout: timeout)
    }
}

extension Request {
    /// The maximum difficulty, in zero bits, that we solve: some seconds of one core.
    private static let mostBits = 24

    /// Solves a puzzle, which takes some seconds. Returns `nil` for another response or a puzzle above the limit.
    static func solution(of response: Response) -> Request? {
        guard case .puzzle(let nonce, let bits) = response, bits <= mostBits,
            let counter = try? ProofOfWork.solve(nonce, bits: bits)
        else { return nil }
        return .solution(nonce: nonce, counter: counter)
    }
}

extension ClientError {
    /// Creates the error for an unexpected response.
    init(_ response: Response, _ address: RelayURL) {
        let relay = address.description
        switch response {
        case .deferred(let refusal) where refusal == Refusal(.tooMany):
            self = .refused(relay: relay, reason: .tooMany)
        case .deferred: self = .relayFull(relay: relay)
        case .error(let refusal), .rejected(let refusal):
            switch Reason(rawValue: refusal.reason) {
            case .busy: self = .busy(relay: relay)
            case .diskFull: self = .relayFull(relay: relay)
            case .noBundle: self = .noBundle(relay: relay)
            case .noCard: self = .noCard(relay: relay)
            case .noRoom: self = .noRoom(relay: relay)
            case .noTurn: self = .noTurn(relay: relay)
            case .noMeeting: self = .noMeeting(relay: relay)
            case .meetingOver: self = .meetingOver(relay: relay)
            case .otherName: self = .meetingElsewhere(relay: relay)
            case .wakeForbidden: self = .wakeForbidden(relay: relay)
            case .noInvitations: self = .noInvitations(relay: relay)
            case .notAdmitted: self = .notAdmitted(relay: address, hadCode: false)
            case let reason: self = .refused(relay: relay, reason: reason)
            }
        default: self = .notARelay(relay: relay)
        }
    }
}
