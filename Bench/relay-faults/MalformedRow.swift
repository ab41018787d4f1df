import Dispatch
import Glibc
import Sotto
import SottoDatabase
import SottoWire
import Synchronization
import TestHarness

/// Valid frames with random changes.
private struct FrameMutator {
    private let frames: [[UInt8]]
    private var generator = SystemRandomNumberGenerator()

    /// Creates frames of an owner, without logins: the relay waits after each failed login.
    init(of bob: Identity) {
        let requests: [Request] = [
            .ping, .challenge, .subscribe(), .send(Sample.envelope(to: bob.id)),
            .send(Sample.envelope(to: bob.id)),
            .fetch(max: 1, after: 0, dead: false), .claim(owner: bob.id, id: Envelope.newID()),
            .claims([.init(owner: bob.id, id: Envelope.newID())]),
            .ack(ids: [Envelope.newID(), Envelope.newID()], .delivered),
            .publish(PublishedPreKeys(Sample.preKeys(of: bob, oneTime: 1..<4))),
        ]
        frames = requests.map { $0.line(requestID: "r").dropLast() }
    }

    /// Returns a frame with up to four changes and a line feed.
    mutating func next() -> [UInt8] {
        var frame = frames.randomElement(using: &generator) ?? []
        for _ in 0..<Int.random(in: 1...4, using: &generator) where !frame.isEmpty {
            let place = Int.random(in: 0..<frame.count, using: &generator)
            let end = min(frame.count, place + Int.random(in: 1...16, using: &generator))
            switch Int.random(in: 0..<7, using: &generator) {
            case 0: frame[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
            case 1: frame[place] = UInt8.random(in: 0...255, using: &generator)
            case 2: frame.removeSubrange(place..<end)
            case 3: frame.insert(contentsOf: frame[place..<end], at: place)
            case 4: frame = Array(frame[..<place])
            case 5:
                frame.insert(
                    Array("{}[]\",:\\0e-".utf8).randomElement(using: &generator)!, at: place)
            default:
                let other = frames.randomElement(using: &generator) ?? []
                frame.replaceSubrange(place..<end, with: other.suffix(other.count / 2))
            }
        }
        return frame.filter { $0 != 0x0A } + [0x0A]
    }
}

extension Row {
    /// Malformed input from any client.
    static let malformed = Row(
        name: "malformed",
        fault: "changed frames; a line of 1 GiB; depth 100,000; NUL; bad UTF-8",
        goal: "0 crashes, at most 1 MiB more memory, a defined error"
    ) { scale in
        let frames = scale.pick(small: 20_000, full: 10_000_000)
        guard let subject = RelayUnderTest() else { return .broken("no relay") }
        // The store and the allocator reach their usual size before the measurement.
        let warm = Self.fuzz(subject.address, frames: frames)
        let before = subject.memory
        let result = Self.fuzz(subject.address, frames: frames)
        let fuzzed = subject.memory - before
        var undefined = warm.undefined.union(result.undefined)
        subject.forgetPeak()
        let memory = subject.memory
        for (what, isDefined) in Self.extremes(subject.address) where !isDefined {
            undefined.insert(what)
        }
        let grown = max(fuzzed, subject.peak - memory)
        let isAlive = RawClient(reaching: subject.address)?.ask(.ping) == .pong
        let status = subject.relay.end()
        return Outcome(
            result.answered,
            (isAlive && status == 0 ? "0 crashes" : "crashed (\(status))")
                + ", \(max(0, fuzzed) >> 10) KiB more after the frames, "
                + "\(max(0, grown) >> 10) KiB more at most, "
                + (undefined.isEmpty
                    ? "each answer defined" : "not defined: \(undefined.sorted().prefix(5))"),
            isGood: isAlive && status == 0 && undefined.isEmpty && result.answered >= frames,
            isWithin: grown <= 1 << 20)
    }

    /// Sends `frames` changed frames over four connections at a time.
    private static func fuzz(
        _ address: String, frames: Int
    ) -> (answered: Int, undefined: Set<String>) {
        let state = Mutex((answered: 0, undefined: Set<String>()))
        let group = DispatchGroup()
        for _ in 0..<4 {
            DispatchQueue(label: "fuzz").async(group: group) {
                let bob = Sample.identity()
                var mutator = FrameMutator(of: bob)
                while state.withLock({ $0.answered }) < frames {
                    // Pings in between prevent ten bad lines in a row.
                    let ping = Request.ping.line(requestID: "ping")
                    let lines = (0..<200).map { $0 % 8 == 0 ? ping : mutator.next() }
                    guard let client = RawClient(reaching: address),
                        client.login(bob)?.isSession == true
                    else { return }
                    for _ in 0..<20 {
                        client.send(Array(lines.joined()))
                        client.send(Request.ping.line(requestID: "end"))
                        var (answered, undefined, isAtEnd) = (0, Set<String>(), false)
                        while !isAtEnd, let line = client.line() {
                            let frame = try? Frame(parsing: Array(line.utf8))
                            isAtEnd = frame?.requestID == "end"
                            let isPush = frame.map { ["new_message", "empty"].contains($0.type) }
                            if frame?.requestID != "ping", isPush != true, !isAtEnd {
                                answered += 1
                            }
                            if !isDefined(frame) { undefined.insert(line) }
                        }
                        state.withLock {
                            $0.answered += answered
                            $0.undefined.formUnion(undefined)
                        }
                        if !isAtEnd { break }
                    }
                }
            }
        }
        group.wait()
        return state.withLock { $0 }
    }

    /// Whether a frame is a reply of the protocol and, if it is a refusal, has a reason of the protocol.
    private static func isDefined(_ frame: Frame?) -> Bool {
        switch frame.flatMap({ Response($0) }) {
        case .error(let refusal)?, .rejected(let refusal)?, .deferred(let refusal)?:
            Reason.allCases.contains { Refusal($0) == refusal }
        case nil: false
        default: true
        }
    }

    /// Sends extreme inputs. Returns whether each got the required answer.
    private static func extremes(_ address: String) -> [(String, Bool)] {
        func answer(_ bytes: [UInt8]) -> Response? {
            let client = RawClient(address)
            client.send(bytes + [0x0A])
            return client.response()
        }
        let badJSON = Response.error(Refusal(.badJSON))
        let tooLarge = Response.error(Refusal(.tooLarge))
        func nested(_ depth: Int) -> [UInt8] {
            [UInt8](repeating: UInt8(ascii: "["), count: depth)
        }
        let giant = RawClient(address)
        let block = [UInt8](repeating: UInt8(ascii: "a"), count: 1 << 20)
        giant.send(block)
        let refusal = giant.response()
        // The relay reads and drops input for two seconds.
        for _ in 0..<1023 where giant.send(block) {}
        let resumption = Request.resume(token: hex(randomBytes(40))).line(requestID: "0").dropLast()
        let unknown = Response.error(Refusal(.loginFailed))
        return [
            ("unknown token", answer(Array(resumption)) == unknown),
            ("1 GiB", refusal == tooLarge && giant.line() == nil),
            ("depth 100,000", answer(nested(100_000)) == tooLarge),
            ("depth 90,000", answer(nested(90_000)) == badJSON),
            ("NUL", answer([0x7B, 0x00, 0x7D]) == badJSON),
            ("escaped NUL", answer(Array(#"{"type":"a\u0000"}"#.utf8)) != nil),
            (
                "bad UTF-8",
                answer(Array("{\"type\":\"".utf8) + [0xC3, 0x28, 0x22, 0x7D]) == badJSON
            ),
        ]
    }
}
