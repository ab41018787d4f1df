import Sotto
import SottoWire

/// The requests about meetings.
extension ConnectionState {
    /// The numbers that are tried for a new place before the relay is busy, for each number of digits from 3.
    private static let triesPerLength = 3
    private static let mostDigits = 7

    /// Makes the place of a meeting under a random number. The number has three digits as long as such numbers are free.
    mutating func openMeeting(
        _ relay: String, _ requestID: String?, at now: Double, to sink: some ConnectionEffects
    ) throws(Reason) {
        guard names().contains(relay) else { throw .otherName }
        let isFree =
            policy.admission.isOpen && policy.meetings.isFreePlace(from: network, at: now)
        guard isFree || solvedPuzzles > 0 else { throw .workRequired }
        guard policy.meetings.allOpenings.admit(1, from: network, at: now) else { throw .tooMany }
        if !isFree { solvedPuzzles -= 1 }
        tryPlace(relay, tried: 0, requestID, to: sink)
    }

    /// Continues after the number of a new place was tried. Returns false if its outcome answers the request.
    mutating func continueMeeting(
        _ outcome: Outcome, _ step: CommitStep, _ requestID: String?,
        to sink: some ConnectionEffects
    ) -> Bool {
        guard case .openMeeting(let relay, let tried) = step,
            case .meeting(let result, let number) = outcome
        else { return false }
        if result == .opened { meeting = number }
        guard result == .taken, tried < Self.triesPerLength * (Self.mostDigits - 2) else {
            return false
        }
        tryPlace(relay, tried: tried, requestID, to: sink)
        return true
    }

    private mutating func tryPlace(
        _ relay: String, tried: Int, _ requestID: String?, to sink: some ConnectionEffects
    ) {
        let digits = min(3 + tried / Self.triesPerLength, Self.mostDigits)
        let least = (1..<digits).reduce(Int64(1)) { power, _ in power * 10 }
        let second = policy.clock.holding
        let change = MeetingChange(
            number: Int64.random(in: least..<least * 10), relay: relay,
            act: .open(until: second + WireLimits.meetingSeconds), second: second)
        commit(
            .meeting(change), requestID, then: .openMeeting(relay: relay, tried: tried + 1),
            to: sink)
    }

    /// Serves a request about the place of a meeting.
    mutating func useMeeting(
        _ request: MeetingRequest, _ requestID: String?, at now: Double,
        to sink: some ConnectionEffects
    ) throws(Reason) {
        guard names().contains(request.relay) else { throw .otherName }
        if meeting != request.number {
            // A connection pays for a place once.
            let isFree =
                policy.admission.isOpen
                && policy.meetings.uses.admit(1, from: network, at: now)
            guard isFree || solvedPuzzles > 0 else { throw .workRequired }
            if !isFree { solvedPuzzles -= 1 }
            meeting = request.number
        }
        let act: MeetingChange.Act
        switch request.act {
        case .get(let step):
            return read(
                .meeting(request.number, step: step, relay: request.relay, to: requestID),
                to: sink)
        case .put(let step, let message): act = .put(step: step, message)
        case .end: act = .end
        }
        let change = MeetingChange(
            number: request.number, relay: request.relay, act: act, second: policy.clock.holding)
        commit(.meeting(change), requestID, to: sink)
    }
}
