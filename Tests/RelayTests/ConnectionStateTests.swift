import Sotto
import SottoWire
import TestSupport
import Testing

@testable import SottoServer

/// The state machine of a connection, without a socket, a thread or a clock.
@Suite struct ConnectionStateTests {
    let bob = Sample.identity()

    /// A connection whose results are there at once, except outcomes of changes.
    final class Line: ConnectionEffects {
        var state: ConnectionState
        var now = 1_000.0
        var responses: [Response] = []
        var changes: [Change] = []
        /// The next step of the last change.
        var step: CommitStep?
        var passed: [AddressedEnvelope] = []
        var blobs: [BlobWork] = []
        var subscribed: [KeyID] = []
        var pauses: [Double] = []
        var isClosed = false
        /// The lines that the connection has not taken yet.
        var lines: [[UInt8]] = []
        private var work: [() -> Void] = []
        private let clock = RelayClock(nil)

        init(_ change: (inout RelayConfiguration) -> Void = { _ in }) {
            var configuration = RelayConfiguration(
                listen: RelayURL(host: "127.0.0.1", port: 0), store: "")
            configuration.connectionRate = 0
            change(&configuration)
            state = ConnectionState(
                RelayPolicy(configuration, clock), network: [127, 0, 0], at: now,
                names: { ["relay.example:1"] })
        }

        func perform(_ effect: ConnectionEffect) {
            switch effect {
            case .respond(let response, _): responses.append(response)
            case .commit(let change, _, let step):
                changes.append(change)
                self.step = step
            case .note(let change): changes.append(change)
            case .pass(let envelope): passed.append(envelope)
            case .read(let query):
                work.append { [self] in
                    guard let result = try? query.run(StubStore(), clock) else { return }
                    state.take(result, at: now, to: self)
                }
            case .blob(let piece, let requestID):
                blobs.append(piece)
                work.append { [self] in
                    state.take(blob: .blob(BlobState(size: 1, have: 1)), requestID, to: self)
                }
            case .verify(let verification):
                work.append { [self] in state.take(verification.run(), at: now, to: self) }
            case .subscribe(let mailbox): subscribed.append(mailbox)
            case .pause(let seconds, let response):
                pauses.append(seconds)
                if let (response, _) = response { responses.append(response) }
            case .close: isClosed = true
            }
        }

        /// Handles the lines that wait, and the results that follow.
        func process() {
            repeat {
                state.process(at: now, to: self) {
                    lines.isEmpty
                        ? .incomplete(hasBegun: false) : .frame(IncomingFrame(lines.removeFirst()))
                }
                while !work.isEmpty { work.removeFirst()() }
            } while state.canWork && !lines.isEmpty
        }

        func send(_ requests: Request...) {
            lines += requests.map { $0.line(requestID: "1").dropLast() }
            process()
        }

        /// Returns the response to a request.
        func ask(_ request: Request) -> Response? {
            responses = []
            send(request)
            return responses.last
        }

        func nonce() -> [UInt8] {
            guard case .challenge(let nonce, _)? = ask(.challenge) else { return [] }
            return nonce
        }

        func logIn(_ identity: Identity, nonce: [UInt8]? = nil, relay: String = "relay.example:1")
            -> Response?
        {
            let nonce = nonce ?? self.nonce()
            return ask(.login(Login(key: identity.signingKey, nonce: nonce, relay: relay)))
        }

        /// Gives the last change its outcome.
        func complete(_ outcome: Outcome) {
            state.take(
                outcome, "1", weight: changes.last?.weight ?? 0, then: step, at: now, to: self)
            process()
        }

        func endPause() {
            now += pauses.last ?? 0
            state.endPause()
            process()
        }
    }

    let loginFailed = Response.error(Refusal(.loginFailed))

    @Test func aLoginOpensTheMailbox() {
        let line = Line()
        #expect(
            line.ask(.fetch(max: 1, after: 0, dead: false))
                == .error(Refusal(.loginRequired)))
        #expect(line.logIn(bob)?.isSession == true)
        #expect(
            line.ask(.fetch(max: 1, after: 0, dead: false, of: bob.id))
                == .messages([], more: false))
        #expect(
            line.ask(.fetch(max: 1, after: 0, dead: false, of: Sample.identity().id))
                == .error(Refusal(.loginRequired)))
    }

    @Test func aLoginNeedsTheNonceOfItsConnection() {
        let line = Line()
        #expect(line.logIn(bob, nonce: randomBytes(32)) == loginFailed)
        line.endPause()
        // A wrong login uses the nonce up.
        let nonce = line.nonce()
        #expect(line.logIn(bob, nonce: nonce, relay: "other.example:1") == loginFailed)
        line.endPause()
        #expect(line.logIn(bob, nonce: nonce) == loginFailed)
        line.endPause()
        // It is valid for a minute.
        let late = line.nonce()
        line.now += WireLimits.nonceSeconds
        #expect(line.logIn(bob, nonce: late) == loginFailed)
        line.endPause()
        #expect(line.logIn(bob)?.isSession == true)
    }

    @Test func failedLoginsPauseLongerAndThenClose() {
        let line = Line()
        for _ in 1...5 {
            #expect(!line.isClosed)
            #expect(line.logIn(bob, nonce: randomBytes(32)) == loginFailed)
            if !line.isClosed { line.endPause() }
        }
        #expect(line.pauses == [1, 2, 4, 8])
        #expect(line.isClosed && !line.state.canWork)
    }

    @Test func overHTTPAFailedLoginIsAnsweredAfterThePause() {
        let line = Line()
        line.state.isHTTP = true
        line.send(
            .login(Login(key: bob.signingKey, nonce: randomBytes(32), relay: "relay.example:1")))
        #expect(line.pauses == [1] && line.responses == [loginFailed])
        #expect(!line.state.canWork)
        line.endPause()
        #expect(line.ask(.subscribe()) == .error(Refusal(.unknownType)))
        // Any connection may use a nonce over HTTP.
        let nonce = line.nonce()
        line.state.beginRequest()
        #expect(line.logIn(bob, nonce: nonce)?.isSession == true)
        line.state.beginRequest()
        #expect(
            line.ask(.ack(ids: [Envelope.newID()], .delivered)) == .error(Refusal(.loginRequired)))
    }

    /// The answer does not depend on the rate of the mailbox either.
    @Test func aSignalIsAnsweredAlikeAndNotStored() {
        let line = Line { $0.mailboxRate = 2 }
        let signals = (0..<4).map { _ in Sample.envelope(to: bob.id, ttl: 0) }
        for signal in signals { #expect(line.ask(.send(signal)) == .accepted) }
        #expect(line.passed == Array(signals[..<2]))
        #expect(line.changes.isEmpty)
        #expect(line.ask(.send(Sample.envelope(to: bob.id))) == .deferred(Refusal(.tooMany)))
    }

    @Test func aTimeToLiveEndsByTheHoldingTime() throws {
        let line = Line()
        let before = line.state.policy.clock.holding
        line.send(.send(Sample.envelope(to: bob.id, ttl: 90)), .send(Sample.envelope(to: bob.id)))
        let ends = line.changes.map { change -> Int64? in
            if case .store(_, let until) = change { until } else { nil }
        }
        #expect(ends.count == 2 && ends[1] == nil)
        let after = line.state.policy.clock.holding
        #expect((before + 90...after + 90).contains(try #require(ends[0])))
    }

    @Test func aSignalIsPushedToASubscriberThatReads() {
        let line = Line()
        let signal = Sample.envelope(to: bob.id, ttl: 0)
        #expect(line.logIn(bob) != nil)
        #expect(!line.state.push(signal: signal, to: line))
        _ = line.ask(.subscribe())
        #expect(line.state.push(signal: signal, to: line))
        #expect(line.responses.last == .signal(signal.bytes))
        #expect(
            !line.state.push(signal: Sample.envelope(to: Sample.identity().id, ttl: 0), to: line))
        line.state.noteWritable(false, at: line.now)
        #expect(!line.state.push(signal: signal, to: line))
    }

    @Test func aReplacedSubscriberIsToldAndClosed() {
        let line = Line()
        _ = line.logIn(bob)
        line.responses = []
        line.send(.subscribe())
        #expect(line.subscribed == [bob.id])
        #expect(line.responses == [.subscribed, .empty])
        line.state.replace(line)
        #expect(line.responses.last == .replaced)
        #expect(line.isClosed)
        line.state.replace(line)
        line.send(.ping)
        #expect(line.responses.count == 3)
    }

    @Test func aConnectionOverItsRatePauses() {
        let line = Line { $0.connectionRate = 10 }
        line.send(.ping, .ping, .ping, .ping, .ping, .ping, .ping, .ping, .ping, .ping)
        #expect(line.responses.count == 10 && line.pauses.isEmpty)
        line.send(.ping)
        #expect(line.responses.count == 10)
        #expect(line.pauses.count == 1 && (0.1...0.102).contains(line.pauses[0]))
        #expect(!line.state.canWork)
        line.endPause()
        #expect(line.responses.count == 11 && line.state.canWork)
        // Pings of WebSocket cost as much as requests.
        line.state.noteEmptyFrame()
        line.process()
        #expect(line.pauses.count == 2)
        line.endPause()
        #expect(line.pauses.count == 2 && line.state.canWork)
    }

    @Test func aConnectionWaitsForItsOutcomes() throws {
        let line = Line()
        for _ in 0..<300 { line.lines.append(sendLine()) }
        line.process()
        #expect(line.changes.count == 256 && line.lines.count == 44)
        #expect(!line.state.canWork)
        line.state.take(
            .stored, "1", weight: line.changes[0].weight, then: nil, at: line.now, to: line)
        #expect(line.responses == [.stored])
        line.process()
        #expect(line.changes.count == 257)
    }

    @Test func aConnectionWaitsForTheBytesOfItsOutcomes() {
        let line = Line()
        let large = String(repeating: "A", count: 60_000)
        for _ in 0..<30 { line.lines.append(sendLine(large)) }
        line.process()
        let weights = line.changes.reduce(0) { $0 + $1.weight }
        #expect(weights >= 1 << 20 && weights < 1 << 20 + 61_000)
        #expect(!line.state.canWork)
    }

    private func sendLine(_ text: String = "AA==") -> [UInt8] {
        Request.send(Sample.envelope(to: bob.id, text: text)).line(requestID: "1").dropLast()
    }

    @Test func theTenthBadLineCloses() {
        let line = Line()
        for _ in 0..<9 { line.lines.append(Array("{".utf8)) }
        line.process()
        line.send(.ping)
        for _ in 0..<9 { line.lines.append(Array("{".utf8)) }
        line.process()
        #expect(!line.isClosed)
        line.lines.append(Array("{".utf8))
        line.process()
        #expect(line.isClosed)
        #expect(line.responses.last == .error(Refusal(.badJSON)))
    }

    @Test func aSlowLineAnIdleAndAStalledConnectionTimeOut() {
        let line = Line()
        #expect(!line.state.isTimedOut(at: line.now + 10))
        #expect(line.state.isTimedOut(at: line.now + 10.1))
        line.send(.ping)
        #expect(!line.state.isTimedOut(at: line.now + 300))
        #expect(line.state.isTimedOut(at: line.now + 300.1))
        line.state.noteWritable(false, at: line.now)
        #expect(!line.state.canWork)
        #expect(!line.state.isTimedOut(at: line.now + 60))
        #expect(line.state.isTimedOut(at: line.now + 60.1))
        line.state.noteWritable(true, at: line.now)
        line.state.noteBegun(at: line.now)
        #expect(line.state.isTimedOut(at: line.now + 10.1))
    }
}
