import Sotto
import SottoWire
import TestSupport
import Testing

@testable import SottoClient

/// A question that a user waits for is not asked again if the relay refuses the connection: the limit of a day would show it.
@Suite struct RefusedConnectionTests {
    let relay: RelayURL
    let refused = ClientError.connectionRefused(relay: "tcp://127.0.0.1:1")
    let id = Sample.identity().id

    init() throws { relay = try RelayURL("tcp://127.0.0.1:1") }

    @Test(.timeLimit(.minutes(60))) func noQuestionIsRepeated() {
        #expect(throws: refused) { try CardLookup(id).run(at: relay, timeout: 86_400) }
        #expect(throws: refused) { try RoomLookup(id).run(at: relay, timeout: 86_400) }
        #expect(throws: refused) {
            let claim = PreKeyClaim(owner: id, id: Envelope.newID(), address: nil)
            return try claim.run(at: relay, timeout: 86_400)
        }
    }

    @Test func theReasonIsShown() {
        #expect(refused.failure.message == "cannot reach tcp://127.0.0.1:1: connection refused")
        #expect(refused.failure.status == .unavailable)
        #expect(refused.isTransient && !refused.isWorthAsking)
    }
}
