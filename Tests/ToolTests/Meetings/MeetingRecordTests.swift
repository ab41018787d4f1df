import Sotto
import TestSupport
import Testing

/// `contact meet` without a relay: records that travel by hand, and records of an attacker.
@Suite(.timeLimit(.minutes(60))) struct MeetingRecordTests {
    let alice: Home
    let bob: Home

    init() throws { (alice, bob) = (try Home(people: "alice"), try Home(people: "bob")) }

    /// One side of a meeting, fed by hand.
    final class Side {
        let pipeline: Pipeline
        private var taken = 0

        init(_ home: Home, _ arguments: [String]) throws {
            pipeline = try Pipeline([home.command("contact", ["meet"] + arguments)])
        }

        func feed(_ lines: String...) throws {
            try pipeline.feed(.whole(Array(lines.joined(separator: "\n").utf8) + [0x0A]))
        }

        /// Returns the next line that the side prints.
        func line() throws -> String {
            var lines: [String] = []
            let wanted = taken
            try pipeline.collect { bytes in
                let text = String(decoding: bytes, as: UTF8.self)
                lines = text.split(separator: "\n").map(String.init)
                return lines.count > wanted && text.hasSuffix("\n")
            }
            taken += 1
            return lines.count > wanted ? lines[wanted] : ""
        }

        func code() throws -> String {
            var code = ""
            try pipeline.collectErrors { text in
                code =
                    text.split(separator: "\n").first { $0.hasPrefix("  ") }.map(String.init)?
                    .split(separator: " ").first.map(String.init) ?? ""
                return text.contains("Waiting")
            }
            return code
        }

        func finish() throws -> Run { try pipeline.finish()[0] }
    }

    static let place =
        #"{"v":1,"type":"meeting","number":417,"relay":"tcp://by.hand:1","part":"place"}"#

    private func begin() throws -> (side: Side, offer: String, code: String) {
        let side = try Side(alice, ["-i", "alice.key"])
        try side.feed(Self.place)
        return (side, try side.line(), try side.code())
    }

    private func join(_ offer: String, _ code: String) throws -> Side {
        bob.files.write("code", Array("\(code)\n".utf8))
        let side = try Side(bob, ["-i", "bob.key", "--code", "@FILE:code"])
        try side.feed(offer)
        return side
    }

    @Test func theRecordsTravelByHand() throws {
        let (one, offer, code) = try begin()
        #expect(code.hasPrefix("417-"))
        let other = try join(offer, code)
        try one.feed(try other.line())
        let first = try one.line()
        #expect(!first.contains("alice"))
        try other.feed(first)
        let second = try other.line()
        let joined = try other.finish()
        #expect(joined.status == 0, "\(joined.stderr)")
        try one.feed(second)
        let made = try one.finish()
        #expect(made.status == 0, "\(made.stderr)")
        #expect(try MeetTests.Pair.trust("bob", alice, "alice.key") == "verified")
        #expect(try MeetTests.Pair.trust("alice", bob, "bob.key") == "verified")
    }

    /// `recv --meeting new | send`, without `contact meet`, stores nothing.
    @Test func aPlaceIsNoMessageToSend() throws {
        let run = try alice.run("send", [], text: Self.place + "\n")
        #expect(run.status == 65 && run.stdout.isEmpty, "\(run.text)")
        #expect(run.stderr.contains("only names the place"), "\(run.stderr)")
    }

    /// If the last message is lost, one side has the contact, and the other one says so.
    @Test func aLostLastMessageIsSaid() throws {
        let (one, offer, code) = try begin()
        let other = try join(offer, code)
        try one.feed(try other.line())
        try other.feed(try one.line())
        _ = try other.line()
        #expect(try other.finish().status == 0)
        let made = try one.finish()
        #expect(made.status == 1 && made.stderr.contains("may already have you"), "\(made.stderr)")
        // The end of the input ends the meeting for the other side.
        #expect(made.lines.last?.contains(#""part":"end""#) == true, "\(made.text)")
        #expect(try MeetTests.Pair.trust("alice", bob, "bob.key") == "verified")
    }

    /// A relay that swaps, repeats or invents messages ends the meeting, and gets no card that it can read.
    @Test(arguments: [
        #"{"v":1,"type":"meeting","number":418,"relay":"tcp://by.hand:1","part":"end"}"#,
        #"{"v":1,"type":"meeting","number":417,"relay":"tcp://by.hand:1","part":"other"}"#,
        #"{"v":1,"type":"meeting","number":417,"relay":"tcp://by.hand:1","part":"place"}"#,
        #"{"v":1,"type":"meeting","number":417,"relay":"tcp://by.hand:1","part":"answer","share":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=","proof":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}"#,
        "offer",
    ]) func anInventedMessageEndsTheMeeting(_ message: String) throws {
        let (one, offer, _) = try begin()
        try one.feed(message == "offer" ? offer : message)
        #expect(try one.line().contains(#""part":"end""#))
        let made = try one.finish()
        #expect([14, 65].contains(made.status), "\(made.stderr)")
        #expect(try MeetTests.Pair.trust("bob", alice, "alice.key") == nil)
    }

    @Test func aSwappedCardEndsTheMeeting() throws {
        let (one, offer, code) = try begin()
        let other = try join(offer, code)
        try one.feed(try other.line())
        let first = try one.line()
        // The card and the proof of another meeting at the same place.
        let (elsewhere, otherOffer, otherCode) = try begin()
        let third = try join(otherOffer, otherCode)
        try elsewhere.feed(try third.line())
        try other.feed(try elsewhere.line())
        #expect(try other.line().contains(#""part":"end""#))
        #expect(try other.finish().status == 14)
        #expect(try MeetTests.Pair.trust("alice", bob, "bob.key") == nil)
        // A card that comes back to its sender is not the other side's.
        try one.feed(first.replacing("first-card", with: "second-card"))
        #expect(try one.line().contains(#""part":"end""#))
        #expect(try one.finish().status == 14)
        _ = try elsewhere.finish()
        _ = try third.finish()
    }

    @Test func theCodeIsReadBeforeAnythingElse() throws {
        let wrong = try Side(bob, ["-i", "none.key", "--code", "@FILE:code"])
        #expect(try wrong.finish().status == 66)
        bob.files.write("code", Array("417-orbit\n".utf8))
        let short = try bob.run("contact", ["meet", "-i", "none.key", "--code", "@FILE:code"])
        #expect(short.status == 65)
        let exposed = try bob.run("contact", ["meet", "-i", "bob.key", "--code", "417-a-b-c"])
        #expect(exposed.status == 64)
        // Without a record there is nothing to say: recv has said why.
        let empty = try bob.run("contact", ["meet", "-i", "bob.key"])
        #expect(empty.status == 1 && empty.stderr.isEmpty && empty.stdout.isEmpty)
        let (one, offer, _) = try begin()
        let bare = try bob.run("contact", ["meet", "-i", "bob.key"], text: offer + "\n")
        #expect(bare.status == 64 && bare.stderr.contains("--code"))
        _ = try one.finish()
    }
}
