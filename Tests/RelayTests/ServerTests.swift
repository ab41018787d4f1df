import Dispatch
import Glibc
import Sotto
import SottoDatabase
import SottoState
import TestSupport
import Testing

@testable import SottoServer
@testable import SottoWire

/// A relay in this process, on a free port.
final class RunningRelay: Sendable {
    let relay: Relay
    let scratch = TemporaryDirectory()

    init(_ change: (inout RelayConfiguration) -> Void = { _ in }) throws {
        var configuration = RelayConfiguration(
            listen: RelayURL(host: "127.0.0.1", port: 0), store: scratch("relay.db"))
        configuration.surgeBits = 1
        change(&configuration)
        relay = try Relay.start(configuration) { Issue.record("the store failed: \($0)") }
    }

    deinit { try? relay.stop() }

    func client() -> RawClient { RawClient(relay.address) }
}

@Suite struct BadInputTests {
    @Test func badLinesAreAnsweredAndTheTenthInARowCloses() throws {
        let running = try RunningRelay()
        let client = running.client()
        let bad = [
            "nonsense", #"{"type":"ping","type":"ping"}"#, "", "[1", "\u{0}",
            String(repeating: "[", count: 1_000), #"{"type":"\ud800"}"#,
        ]
        for line in bad {
            client.send(line)
            #expect(client.response() == .error(Refusal(.badJSON)))
        }
        client.send(Array("{\"type\":\"".utf8) + [0xFF, 0xFE] + Array("\"}\n".utf8))
        #expect(client.response() == .error(Refusal(.badJSON)))
        #expect(client.ask(.ping) == .pong)
        for _ in 0..<10 {
            client.send("nonsense")
            #expect(client.response() == .error(Refusal(.badJSON)))
        }
        #expect(client.line() == nil)
    }

    @Test func aLineOverTheLimitCloses() throws {
        let running = try RunningRelay()
        let client = running.client()
        client.send([UInt8](repeating: 0x20, count: 64 << 20))
        #expect(client.response() == .error(Refusal(.tooLarge)))
        #expect(client.line() == nil)
    }

    @Test func anEnvelopeOverTheLimitIsRejectedAndTheConnectionStays() throws {
        let running = try RunningRelay()
        let client = running.client()
        let record = Sample.record(
            to: Sample.identity().id, text: String(repeating: "A", count: 66_000))
        client.send(Request.sendLine(record.serialized(), requestID: "1"))
        #expect(client.response() == .rejected(Refusal(.tooLarge)))
        #expect(client.ask(.ping) == .pong)
    }

    @Test func silentAndSlowClientsAreDropped() throws {
        let running = try RunningRelay { $0.lineTimeout = 0.2 }
        let silent = running.client()
        let slow = running.client()
        #expect(slow.ask(.ping) == .pong)
        slow.send(Array("{\"type\"".utf8))
        #expect(silent.line() == nil)
        #expect(slow.line() == nil)
    }

    @Test func connectionsAreLimited() throws {
        let running = try RunningRelay { $0.maximumConnections = 1 }
        let first = running.client()
        #expect(first.ask(.ping) == .pong)
        let second = running.client()
        #expect(second.response() == .error(Refusal(.busy)))
        #expect(second.line() == nil)
    }
}

@Suite struct LoginTests {
    let identity = Sample.identity()

    @Test func theOwnerLogsIn() throws {
        let running = try RunningRelay()
        let client = running.client()
        #expect(client.ask(.subscribe()) == .error(Refusal(.loginRequired)))
        #expect(
            client.ask(.fetch(max: 1, after: 0, dead: false)) == .error(Refusal(.loginRequired)))
        #expect(
            client.ask(.ack(ids: [Envelope.newID()], .delivered))
                == .error(Refusal(.loginRequired)))
        #expect(client.login(identity)?.isSession == true)
        #expect(client.ask(.subscribe()) == .subscribed)
    }

    @Test func everyLoginFailureLooksTheSame() throws {
        let running = try RunningRelay()
        let refused = Response.error(Refusal(.loginFailed))
        let name = running.relay.address
        /// Returns the answer to a login with one error.
        func attempt(_ change: (RawClient, Identity, [UInt8]) -> Login) -> Response? {
            let client = running.client()
            guard case .challenge(let nonce, _) = client.ask(.challenge) else { return nil }
            return client.ask(.login(change(client, Sample.identity(), nonce)))
        }
        // A nonce that was not issued.
        #expect(
            attempt { _, identity, _ in
                Login(key: identity.signingKey, nonce: randomBytes(32), relay: name)
            } == refused)
        // A signature for another relay.
        #expect(
            attempt { _, identity, nonce in
                Login(key: identity.signingKey, nonce: nonce, relay: "other.example:7667")
            } == refused)
        // A signature for another relay, presented as one for this relay.
        #expect(
            attempt { _, identity, nonce in
                let other = Login(
                    key: identity.signingKey, nonce: nonce, relay: "other.example:7667")
                return Login(
                    id: other.id, nonce: nonce, relay: name, proof: other.proof)
            } == refused)
        // A signature with another key.
        #expect(
            attempt { _, identity, nonce in
                let other = Login(
                    key: Sample.identity().signingKey, nonce: nonce, relay: name)
                return Login(
                    id: identity.id, nonce: nonce, relay: name, proof: other.proof)
            } == refused)
        // A login without a challenge.
        let client = running.client()
        #expect(
            client.ask(.login(Login(key: identity.signingKey, nonce: randomBytes(32), relay: name)))
                == refused)
    }

    @Test func aNonceIsValidOnceOnItsConnection() throws {
        let running = try RunningRelay()
        let refused = Response.error(Refusal(.loginFailed))
        let client = running.client()
        guard case .challenge(let nonce, let names) = client.ask(.challenge) else {
            Issue.record("no challenge")
            return
        }
        let login = Login(key: identity.signingKey, nonce: nonce, relay: names[0])
        #expect(client.ask(.login(login))?.isSession == true)
        #expect(client.ask(.login(login)) == refused)
        // A recorded login, replayed on a connection with another nonce.
        let other = running.client()
        _ = other.ask(.challenge)
        #expect(other.ask(.login(login)) == refused)
    }

    /// Logs in with another owner's signature.
    private func fail(_ client: RawClient, name: String) -> Response? {
        guard case .challenge(let nonce, _) = client.ask(.challenge) else { return nil }
        let other = Login(key: Sample.identity().signingKey, nonce: nonce, relay: name)
        return client.ask(
            .login(
                Login(id: identity.id, nonce: nonce, relay: name, proof: other.proof)))
    }

    @Test func failuresOfOthersDoNotLockOutTheOwner() throws {
        let running = try RunningRelay()
        let strangers = (0..<30).map { _ in running.client() }
        for stranger in strangers {
            #expect(
                fail(stranger, name: running.relay.address) == .error(Refusal(.loginFailed)))
        }
        let client = running.client()
        #expect(client.login(identity)?.isSession == true)
        #expect(client.ask(.subscribe()) == .subscribed)
    }

    @Test func failedLoginsDelayAndCloseTheConnection() throws {
        let running = try RunningRelay { $0.failedLoginPause = 0.05 }
        let client = running.client()
        let begin = Monotonic.seconds()
        for attempt in 0..<5 {
            #expect(fail(client, name: running.relay.address) == .error(Refusal(.loginFailed)))
            // 0.05 + 0.1 + 0.2 + 0.4
            let waited = 0.05 * (Double(1 << attempt) - 1)
            #expect(Monotonic.seconds() - begin >= waited)
        }
        #expect(client.line() == nil)
    }
}

@Suite struct MailboxTests {
    let bob = Sample.identity()

    /// Stores envelopes and returns their ids.
    func fill(_ running: RunningRelay, _ count: Int) -> [String] {
        let sender = running.client()
        let envelopes = (0..<count).map { _ in Sample.envelope(to: bob.id) }
        for envelope in envelopes { sender.send(Request.send(envelope).line(requestID: "s")) }
        for _ in envelopes { #expect(sender.response() == .stored) }
        return envelopes.map(\.id)
    }

    func pushed(_ client: RawClient) -> String? {
        guard case .newMessage(let delivered) = client.response() else { return nil }
        return Sample.id(String(decoding: delivered.envelope, as: UTF8.self))
    }

    @Test func waitingAndNewMailIsPushedInOrder() throws {
        let running = try RunningRelay()
        let ids = fill(running, 5)
        let client = running.client()
        #expect(client.login(bob)?.isSession == true)
        #expect(client.ask(.subscribe()) == .subscribed)
        for id in ids { #expect(pushed(client) == id) }
        #expect(client.response() == .empty)
        for _ in 0..<3 {
            let later = fill(running, 1)
            #expect(pushed(client) == later[0])
        }
        #expect(client.ask(.ack(ids: ids, .delivered)) == .acked)
        #expect(client.ask(.ack(ids: ids + [Envelope.newID()], .delivered)) == .acked)
    }

    @Test func theWindowWaitsForAcknowledgements() throws {
        let running = try RunningRelay()
        let ids = fill(running, WireLimits.window + 2)
        let client = running.client()
        #expect(client.login(bob)?.isSession == true)
        #expect(client.ask(.subscribe()) == .subscribed)
        for id in ids.prefix(WireLimits.window) { #expect(pushed(client) == id) }
        // Nothing more is pushed: the next line is the answer to a request.
        #expect(client.ask(.ping) == .pong)
        client.send(Request.ack(ids: [ids[0]], .delivered).line(requestID: "a"))
        var seen: [Response?] = [client.response(), client.response()]
        seen.sort { _, second in second == .acked }
        #expect(seen.contains(.acked))
        #expect(seen.contains { if case .newMessage = $0 { true } else { false } })
    }

    @Test func aReconnectionRedeliversUnacknowledgedMail() throws {
        let running = try RunningRelay()
        let ids = fill(running, 3)
        for round in 0..<3 {
            let client = running.client()
            #expect(client.login(bob)?.isSession == true)
            #expect(client.ask(.subscribe()) == .subscribed)
            for id in ids.dropFirst(round) { #expect(pushed(client) == id) }
            #expect(client.response() == .empty)
            #expect(client.ask(.ack(ids: [ids[round]], .delivered)) == .acked)
        }
    }

    @Test func theNewestConsumerWins() throws {
        let running = try RunningRelay()
        let first = running.client()
        #expect(first.login(bob)?.isSession == true)
        #expect(first.ask(.subscribe()) == .subscribed)
        #expect(first.response() == .empty)
        let second = running.client()
        #expect(second.login(bob)?.isSession == true)
        #expect(second.ask(.subscribe()) == .subscribed)
        #expect(second.response() == .empty)
        #expect(first.response() == .replaced)
        #expect(first.line() == nil)
        let ids = fill(running, 1)
        #expect(pushed(second) == ids[0])
    }

    @Test func fetchingDeletesNothing() throws {
        let running = try RunningRelay()
        let ids = fill(running, 3)
        let client = running.client()
        #expect(client.login(bob)?.isSession == true)
        for _ in 0..<2 {
            guard
                case .messages(let found, let more) = client.ask(
                    .fetch(max: 2, after: 0, dead: false))
            else {
                Issue.record("no messages")
                return
            }
            #expect(more && found.count == 2)
            guard
                case .messages(let rest, false) = client.ask(
                    .fetch(max: 2, after: found[1].sequence, dead: false))
            else {
                Issue.record("no messages")
                return
            }
            #expect(Sample.id(String(decoding: rest[0].envelope, as: UTF8.self)) == ids[2])
        }
        for _ in 0..<5 { #expect(client.ask(.ack(ids: [ids[0]], .failed)) == .acked) }
        guard case .messages(let dead, false) = client.ask(.fetch(max: 9, after: 0, dead: true))
        else {
            Issue.record("no messages")
            return
        }
        #expect(dead.count == 1)
    }

    @Test func onlyDeletedMailCountsAsDelivered() throws {
        let running = try RunningRelay()
        let ids = fill(running, 3)
        let mallory = running.client()
        #expect(mallory.login(Sample.identity())?.isSession == true)
        #expect(mallory.ask(.ack(ids: ids, .delivered)) == .acked)
        let client = running.client()
        #expect(client.login(bob)?.isSession == true)
        #expect(client.ask(.ack(ids: [ids[0]], .failed)) == .acked)
        for _ in 0..<2 {
            #expect(
                client.ask(.ack(ids: Array(ids.prefix(2)) + [Envelope.newID()], .delivered))
                    == .acked)
        }
        #expect(running.relay.summary.contains("2 delivered"))
    }

    @Test func anotherOwnersMailboxCannotBeEmptied() throws {
        let running = try RunningRelay()
        let ids = fill(running, 1)
        let mallory = running.client()
        #expect(mallory.login(Sample.identity())?.isSession == true)
        #expect(mallory.ask(.ack(ids: ids, .delivered)) == .acked)
        #expect(mallory.ask(.fetch(max: 9, after: 0, dead: false)) == .messages([], more: false))
        let client = running.client()
        #expect(client.login(bob)?.isSession == true)
        guard case .messages(let found, _) = client.ask(.fetch(max: 9, after: 0, dead: false))
        else {
            Issue.record("no messages")
            return
        }
        #expect(found.count == 1)
    }
}

@Suite struct FailureTests {
    /// The relay's periodic work must not use a closed store.
    @Test func aRelayStopsCleanlyRightAfterItsStart() throws {
        for _ in 0..<100 { _ = try RunningRelay() }
    }

    @Test func afterAFailedSyncNothingIsAcknowledged() throws {
        let failed = EventBox()
        let relay = try Relay(
            RelayConfiguration(listen: RelayURL(host: "127.0.0.1", port: 0), store: ""),
            store: StubStore(failure: StubStore.diskError)
        ) { failed.put($0) }
        let client = RawClient(relay.address)
        client.send(Request.send(Sample.envelope(to: Sample.identity().id)).line(requestID: "1"))
        #expect(client.line() == nil)
        #expect(failed.wait() == StubStore.diskError)
        try relay.stop()
    }
}

/// Passes one error between threads.
final class EventBox: @unchecked Sendable {
    private let arrived = DispatchSemaphore(value: 0)
    private var error: StoreError?

    func put(_ error: StoreError) {
        self.error = error
        arrived.signal()
    }

    func wait() -> StoreError? {
        _ = arrived.wait(timeout: .now() + 20)
        return error
    }
}
