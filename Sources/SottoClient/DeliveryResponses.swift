import SottoState
import SottoWire

/// The answers of the relay.
extension DeliveryState {
    /// The most puzzles of one connection: each takes some seconds of a core.
    private static let mostPuzzles = 2
    private static let workID = "work"

    /// Takes a response on the current connection.
    mutating func take(_ response: Response, _ requestID: String?, at now: Double) {
        if requestID == Self.workID, !awaitingWork.isEmpty { return work(response, at: now) }
        let number = requestID.flatMap { Int64($0) }
        if response.requiresWork, let number, inFlight[number] != nil, puzzles < Self.mostPuzzles {
            lastHeard = now
            if awaitingWork.isEmpty { perform(.write(Request.puzzle.line(requestID: Self.workID))) }
            awaitingWork.append(number)
            return
        }
        guard let number, let item = inFlight.removeValue(forKey: number) else {
            if case .error(let refusal) = response, refusal.reason == Reason.busy.rawValue {
                lose(.busy(relay: relay), at: now)
            }
            return
        }
        inFlightBytes -= item.envelope.count
        // Only an answer about an item counts: a relay that sends anything else delays the end no longer.
        lastHeard = now
        switch response {
        case .stored: done(number, item, .stored)
        case .duplicate: done(number, item, .duplicate)
        case .accepted where item.kind == .signal: done(number, item, .accepted)
        case .error(let refusal) where response.requiresWork:
            return postpone(number, item, refusal, at: now)
        case .rejected(let refusal), .error(let refusal): done(number, item, .rejected, refusal)
        case .deferred(let refusal) where item.kind == .signal:
            done(number, item, .dropped, refusal)
        case .deferred(let refusal): postpone(number, item, refusal, at: now)
        default: return lose(.notARelay(relay: relay), at: now)
        }
        backoff.reset()
        hasProgressed = true
    }

    /// Takes the answer to a request for a puzzle, or to a solution. One solution is valid for one new id.
    private mutating func work(_ response: Response, at now: Double) {
        lastHeard = now
        guard case .accepted = response else { return ask(.solve(response)) }
        let lines = awaitingWork.compactMap { number in
            inFlight[number]?.line(requestID: "\(number)")
        }
        awaitingWork = []
        perform(.write(Array(lines.joined())))
    }

    /// Takes a solution; without one the relay is refused.
    mutating func take(_ solution: Request?, at now: Double) {
        guard link == .open, !awaitingWork.isEmpty else { return }
        guard let solution else {
            return lose(.refused(relay: relay, reason: .workRequired), at: now)
        }
        puzzles += 1
        lastHeard = now
        perform(.write(solution.line(requestID: Self.workID)))
    }
}

extension Response {
    /// Whether the relay refuses a request until a puzzle is solved.
    fileprivate var requiresWork: Bool {
        if case .error(let refusal) = self {
            refusal.reason == Reason.workRequired.rawValue
        } else {
            false
        }
    }
}
