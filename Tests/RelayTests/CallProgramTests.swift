import Glibc
import Sotto
import SottoDatabase
import SottoState
import TestSupport
import Testing

@testable import SottoServer

/// Calls through the built programs and a relay.
@Suite(.timeLimit(.minutes(60))) struct CallProgramTests {
    let world: Correspondence

    init() throws {
        world = try Correspondence()
        try world.expect("alice", "contact add --name bob bob.card")
        try world.expect("bob", "contact add --name alice alice.card")
        world.scratch.write("sdp", Array("v=0\r\nm=video 9 RTP/AVP 96\r\n".utf8))
    }

    func body(_ lines: [String]) throws -> (record: JSONObject, body: JSONObject) {
        let record = try JSON.object(parsing: Array(try #require(lines.first).utf8))
        return (record, record["body"]?.object ?? [:])
    }

    @Test func aCallIsSignalledThroughTheRelay() throws {
        try world.expect("alice", "compose call offer --to bob < sdp | encrypt | send -q")
        let offer = try body(world.expect("bob", "recv -q | decrypt -q"))
        #expect(offer.record["ringing"] == .bool(true))
        #expect(offer.body["media"] == .string("video"))
        try world.expect("bob", "compose call answer --to alice < sdp | encrypt | send -q")
        let answer = try body(world.expect("alice", "recv -q | decrypt -q"))
        #expect(answer.body["kind"] == .string("answer"))
        #expect(answer.body["call"] == offer.body["call"])
        try world.expect("alice", "compose call hangup --to bob | encrypt | send -q")
        try world.expect("bob", "recv -q | decrypt -q")
        let shown = try body(world.expect("bob", "history alice"))
        #expect(shown.body["state"] == .string("ended"))
        world.stop()
    }

    /// The relay measures how long it holds an offer by its own clock. Nothing of it remains after a minute.
    @Test func c11AnOfferThatTheRelayHeldForTooLongNeverRings() throws {
        for (seconds, status) in [(30, Int32(0)), (61, 1)] {
            let world = try Correspondence()
            try world.expect("alice", "contact add --name bob bob.card")
            try world.expect("bob", "contact add --name alice alice.card")
            world.scratch.write("sdp", Array("v=0\r\n".utf8))
            try world.expect("alice", "compose call offer --to bob < sdp | encrypt | send -q")
            world.stop()
            let database = try DurableDatabase(
                path: world.storePath, migrations: [], lockTimeout: 20)
            try database.transaction { connection throws(StateError) in
                try connection.run("UPDATE envelope SET until = until - ?", Int64(seconds))
            }
            try database.close()
            let relay = try #require(RelayProcess(TemporaryDirectory(), store: world.storePath))
            #expect(world.shell("bob", "recv -q --relay tcp://\(relay.address)").status == status)
            #expect(relay.end() == 0)
        }
        world.stop()
    }
}
