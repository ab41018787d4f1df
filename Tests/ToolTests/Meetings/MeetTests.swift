import Foundation
import Sotto
import TestSupport
import Testing

/// `sotto meet` between two homes, through a relay.
@Suite(.timeLimit(.minutes(60))) struct MeetTests {
    /// Two people and a relay.
    final class Pair {
        private let people: Meeters
        var alice: Home { people.alice }
        var bob: Home { people.bob }
        let relay: RelayProcess

        init(tls: Bool = false, store: String? = nil) throws {
            people = try Meeters()
            let scratch = people.alice.files
            let options =
                tls
                ? [
                    "--tls-cert", scratch("cert.pem"), "--tls-key", scratch("key.pem"),
                    "--tls-self-signed",
                ] : []
            let process = RelayProcess(scratch, options, store: store)
            relay = try #require(process)
        }

        deinit { relay.end() }

        /// Begins a meeting of Alice. Returns it and the two forms of the code.
        func begin(
            _ scheme: String = "tcp", _ arguments: [String] = []
        ) throws -> (meeting: Pipeline, codes: [String]) {
            try people.begin(at: "\(scheme)://\(relay.address)", arguments)
        }

        /// Joins as Bob.
        func join(
            _ code: String, _ scheme: String = "tcp", _ arguments: [String] = []
        ) throws -> Run {
            try people.join(code, at: "\(scheme)://\(relay.address)", arguments)
        }

        /// Returns the trust of a contact, or `nil`.
        static func trust(_ name: String, _ home: Home, _ key: String) throws -> String? {
            try Meeters.trust(name, home, key)
        }

        func bothKnow() throws -> Bool { try people.trusts() == ["verified", "verified"] }
    }

    @Test(arguments: ["tcp", "tls", "http", "https", "ws"])
    func bothHaveAVerifiedContact(_ scheme: String) throws {
        let pair = try Pair(tls: scheme == "tls" || scheme == "https")
        let (meeting, codes) = try pair.begin(scheme)
        let code = try #require(codes.first)
        #expect(code.contains(#/^[1-9][0-9]{2}-[a-z]+-[a-z]+-[a-z]+$/#))
        #expect(codes.last == code + "@" + pair.relay.address)
        let joined = try pair.join(code, scheme)
        #expect(joined.status == 0, "\(joined.stderr)")
        #expect(joined.stderr.contains("alice is a verified contact"), "\(joined.stderr)")
        let made = try #require(try meeting.finish().first)
        #expect(made.status == 0, "\(made.stderr)")
        #expect(made.stderr.contains("bob is a verified contact"))
        #expect(try pair.bothKnow())
        // The code replaces a certificate that cannot be checked, and says so once.
        let isSecure = scheme == "tls" || scheme == "https"
        for text in [made.stderr, joined.stderr] {
            #expect(text.components(separatedBy: "cannot be checked").count == (isSecure ? 2 : 1))
        }
    }

    @Test func theLongCodeNeedsNoRelayInCommon() throws {
        for isSecure in [true, false] {
            let pair = try Pair(tls: isSecure)
            let (meeting, codes) = try pair.begin(isSecure ? "tls" : "tcp")
            let joined = try pair.bob.run(
                "sotto", ["meet", "-i", "bob.key", "--name", "al", try #require(codes.last)],
                environment: ["SOTTO_RELAY": "tcp://127.0.0.1:9"])
            #expect(joined.status == 0, "\(joined.stderr)")
            #expect(joined.stderr.contains("is not encrypted by TLS") != isSecure)
            #expect(try meeting.finish().first?.status == 0)
            #expect(try Pair.trust("al", pair.bob, "bob.key") == "verified")
        }
    }

    /// Authorities that the user names hold in a meeting too.
    @Test func givenAuthoritiesHold() throws {
        let (pair, other) = (try Pair(tls: true), try Pair(tls: true))
        let address = pair.relay.address
        for place in [["new", "--relay", "tls://\(address)"], ["417@\(address)"]] {
            let run = try pair.bob.run(
                "recv", ["--meeting"] + place + ["--ca", other.alice.files("cert.pem")])
            #expect(run.status != 0 && run.stdout.isEmpty, "\(run.stderr)")
        }
    }

    @Test(arguments: ["tcp", "tls", "http"])
    func aWrongCodeEndsTheMeetingOnBothSides(_ scheme: String) throws {
        try guess(at: Pair(tls: scheme == "tls"), scheme)
    }

    private func guess(at pair: Pair, _ scheme: String) throws {
        let (meeting, codes) = try pair.begin(scheme)
        let number = try #require(codes.first?.split(separator: "-").first)
        let guess = "\(number)-abandon-ability-able"
        let joined = try pair.join(guess, scheme)
        let made = try #require(try meeting.finish().first)
        #expect(joined.status == 14 && joined.stderr.contains("begin again"), "\(joined.stderr)")
        #expect(made.status == 14 && made.stderr.contains("begin again"), "\(made.stderr)")
        // The right code is too late, because the attacker may have more guesses.
        let late = try pair.join(try #require(codes.first), scheme)
        #expect(late.status == 14, "\(late.stderr)")
        #expect(try Pair.trust("alice", pair.bob, "bob.key") == nil)
        #expect(try Pair.trust("bob", pair.alice, "alice.key") == nil)
    }

    /// Joining spends nothing: somebody who only reads cannot end a meeting, and learns no name.
    @Test(arguments: ["tcp", "tls", "http"])
    func readingAPlaceSpendsNothing(_ scheme: String) throws {
        try read(at: Pair(tls: scheme == "tls"), scheme)
    }

    /// Reads the offer of a meeting as somebody who knows its number. Returns the program, which waits for more, and the line.
    private func offer(
        of code: String, at pair: Pair, _ scheme: String
    ) throws -> (reading: Pipeline, line: String) {
        let number = String(code.prefix { $0 != "-" })
        let reading = try Pipeline([
            pair.bob.command(
                "recv", ["--meeting", number, "--relay", "\(scheme)://\(pair.relay.address)"])
        ])
        var line = ""
        try reading.collect { bytes in
            line = String(decoding: bytes, as: UTF8.self)
            return line.hasSuffix("\n")
        }
        return (reading, line)
    }

    private func read(at pair: Pair, _ scheme: String) throws {
        let (meeting, codes) = try pair.begin(scheme)
        let code = try #require(codes.first)
        let (reading, offer) = try offer(of: code, at: pair, scheme)
        #expect(offer.contains("\"offer\"") && !offer.contains("alice"))
        reading.closeOutput()
        #expect(try pair.join(code, scheme).status == 0)
        #expect(try meeting.finish().first?.status == 0)
        #expect(try reading.finish().first?.status == 141)
    }

    @Test(.needs(.postgres)) func attacksOnAPlaceInPostgreSQL() throws {
        let cluster = try #require(PostgresCluster.shared)
        try guess(at: Pair(store: cluster.url(cluster.database())), "tcp")
        try read(at: Pair(store: cluster.url(cluster.database())), "tcp")
    }

    /// An attacker who reads the offer answers without the code, twice: the first answer is the only guess.
    @Test(arguments: ["tcp", "tls", "http"])
    func anInventedAnswerEndsTheMeeting(_ scheme: String) throws {
        let pair = try Pair(tls: scheme == "tls")
        let (meeting, codes) = try pair.begin(scheme)
        let code = try #require(codes.first)
        let (reading, offer) = try offer(of: code, at: pair, scheme)
        reading.closeOutput()
        var answer = try JSON.object(parsing: Array(offer.utf8))
        answer["part"] = .string("answer")
        answer["session"] = nil
        answer["proof"] = answer["share"]
        let line = answer.serialized() + [0x0A]
        _ = try pair.bob.run("send", [], stdin: .whole(line + line))
        let made = try #require(try meeting.finish().first)
        #expect(made.status == 14 && made.stderr.contains("begin again"), "\(made.stderr)")
        #expect(try pair.join(code, scheme).status == 14)
        #expect(try Pair.trust("bob", pair.alice, "alice.key") == nil)
        _ = try reading.finish()
    }

    /// A code with a wrong word never reaches the network.
    @Test(arguments: [
        ("417-orbit-velvet", "2 words"), ("417-orbit-velvet-sunsett", "word 3"),
        ("orbit-velvet-sunset", "number"),
    ]) func aMistypedCodeIsRefusedHere(_ code: String, _ reason: String) throws {
        let home = try Home(people: "bob")
        let run = try home.run(
            "sotto", ["meet", "-i", "bob.key", code],
            environment: ["SOTTO_RELAY": "tcp://127.0.0.1:9"])
        #expect(run.status == 65 && run.stderr.contains(reason), "\(run.stderr)")
        #expect(!run.stderr.contains("reach"))
    }

    @Test func anUnknownNumberHintsAtTheLongCode() throws {
        let pair = try Pair()
        let run = try pair.join("999-orbit-velvet-sunset")
        #expect(run.status == 1 && run.stderr.contains("long form of the code"), "\(run.stderr)")
        let offline = try pair.bob.run(
            "sotto", ["meet", "-i", "bob.key"],
            environment: ["SOTTO_RELAY": "tcp://127.0.0.1:9"])
        #expect(offline.status == 69 && offline.stderr.contains("cannot reach"))
        #expect(offline.stderr.components(separatedBy: "error:").count == 2, "\(offline.stderr)")
    }

    /// Somebody puts an answer into the place first: the own one is refused, and nothing that could come is waited for.
    @Test func aRefusedMessageEndsTheMeeting() throws {
        let pair = try Pair()
        let url = "tcp://\(pair.relay.address)"
        let holding = try Pipeline([
            pair.alice.command("recv", ["--meeting", "new", "--relay", url])
        ])
        var line = ""
        try holding.collect { bytes in
            line = String(decoding: bytes, as: UTF8.self)
            return line.hasSuffix("\n")
        }
        let place = try MeetingRecord(JSON.object(parsing: Array(line.utf8)))
        let code = MeetingCode(randomFor: place.number)
        let spoken = code.text()
        let initiator = MeetingInitiator(code, relay: pair.relay.address)
        let offer = initiator.offer
        let other = MeetingMessage.answer(
            share: [UInt8](repeating: 1, count: 32), proof: [UInt8](repeating: 1, count: 32))
        func record(_ message: MeetingMessage) -> String {
            let record = MeetingRecord(
                number: place.number, relay: place.relay, .message(message)
            ).record
            return String(decoding: record.serialized(), as: UTF8.self) + "\n"
        }
        let put = try pair.alice.run("send", [], text: record(offer) + record(other))
        #expect(put.status == 0, "\(put.stderr)")
        let joined = try pair.join("<\(spoken)>")
        #expect(joined.status != 0 && joined.stderr.contains("error:"), "\(joined.stderr)")
        #expect(try Pair.trust("alice", pair.bob, "bob.key") == nil)
        // send does not read on after a message that was refused.
        let sending = try Pipeline([pair.bob.command("send", [])])
        let late = MeetingMessage.answer(
            share: [UInt8](repeating: 2, count: 32), proof: [UInt8](repeating: 2, count: 32))
        try sending.feed(.whole(Array(record(late).utf8)))
        try sending.collect()
        #expect(try sending.finish().first?.status == joined.status)
        holding.closeOutput()
        _ = try holding.finish()
    }

    @Test func anInterruptEndsTheMeetingOnBothSides() throws {
        let pair = try Pair()
        let session = try TerminalSession(
            pair.alice.command(
                "sotto", ["meet", "-i", "alice.key"],
                environment: ["SOTTO_RELAY": "tcp://\(pair.relay.address)"]))
        try session.expect("Code, or Enter to make one: ")
        try session.type("\n")
        try session.expect("Waiting for the other person")
        try session.type("\u{3}")
        let ended = try session.finish()
        #expect(ended.status == 128 + 2, "\(ended.text)")
        let code = try #require(
            ended.lines.first { $0.hasPrefix("  ") }?.split(separator: " ").first.map(String.init))
        let late = try pair.join(code)
        #expect(late.status == 14, "\(late.stderr)")
    }

    @Test(.needs(.postgres)) func thePlaceIsInPostgreSQL() throws {
        let cluster = try #require(PostgresCluster.shared)
        let pair = try Pair(store: cluster.url(cluster.database()))
        let (meeting, codes) = try pair.begin()
        #expect(try pair.join(try #require(codes.first)).status == 0)
        #expect(try meeting.finish().first?.status == 0)
        #expect(try pair.bothKnow())
    }

    // MARK: Contacts

    @Test func aKnownContactBecomesVerified() throws {
        let pair = try Pair()
        pair.bob.files.write("alice.card", try pair.alice.files.read("alice.card"))
        try pair.bob.run("contact", ["add", "--name", "ally", "alice.card", "-i", "bob.key"])
        let (meeting, codes) = try pair.begin()
        let joined = try pair.join(try #require(codes.first))
        #expect(joined.status == 0 && joined.stderr.contains("ally is a verified contact"))
        #expect(try meeting.finish().first?.status == 0)
        #expect(try Pair.trust("ally", pair.bob, "bob.key") == "verified")
    }

    /// The name of another contact, and a blocked id: nothing is replaced.
    @Test func noContactIsReplaced() throws {
        let pair = try Pair()
        let other = try Home(people: "alice")
        pair.bob.files.write("other.card", try other.files.read("alice.card"))
        pair.bob.files.write("alice.card", try pair.alice.files.read("alice.card"))
        try pair.bob.run("contact", ["add", "other.card", "-i", "bob.key"])
        let before = try pair.bob.output("contact", ["show", "--card", "alice", "-i", "bob.key"])
        let (meeting, codes) = try pair.begin()
        let joined = try pair.join(try #require(codes.first))
        #expect(joined.status == 64 && joined.stderr.contains("--name NAME"), "\(joined.stderr)")
        let made = try #require(try meeting.finish().first)
        #expect(made.status == 14 && made.stderr.contains("may already have you"))
        let after = try pair.bob.output("contact", ["show", "--card", "alice", "-i", "bob.key"])
        #expect(after == before)
        // No other key is offered to the contact.
        let shown = try pair.bob.run("contact", ["show", "--json", "alice", "-i", "bob.key"])
        #expect(!shown.text.contains(#""changed""#), "\(shown.text)")

        try pair.bob.run("contact", ["block", "alice.card", "-i", "bob.key"])
        let again = try pair.begin()
        let refused = try pair.join(try #require(again.codes.first), "tcp", ["--name", "al"])
        #expect(
            refused.status == 12 && refused.stderr.contains("sotto contact unblock "),
            "\(refused.stderr)")
        #expect(try again.meeting.finish().first?.status == 14)
    }

    /// The other person has the initiator already when the initiator cannot store the card.
    @Test func aClaimedNameThatIsLikeAnotherIsRefusedAndSaid() throws {
        let pair = try Pair()
        let other = try Home(people: "alice")
        pair.alice.files.write("other.card", try other.files.read("alice.card"))
        try pair.alice.run("contact", ["add", "--name", "bobby", "other.card", "-i", "alice.key"])
        let early = try pair.alice.run(
            "sotto", ["meet", "-i", "alice.key", "--name", "bobby"],
            environment: ["SOTTO_RELAY": "tcp://\(pair.relay.address)"])
        #expect(early.status == 64 && !early.stderr.contains("Say this code"), "\(early.stderr)")
        let (meeting, codes) = try pair.begin()
        #expect(try pair.join(try #require(codes.first)).status == 0)
        let made = try #require(try meeting.finish().first)
        #expect(made.status == 64 && made.stderr.contains("bobby"), "\(made.stderr)")
        #expect(made.stderr.contains("may already have you") && made.stderr.contains("begin again"))
        // The beginning of bobby finds bobby.
        #expect(try Pair.trust("bob", pair.alice, "alice.key") == "trusted")
    }

    @Test func onATerminalTheCodeIsAskedForAndANameIsChosen() throws {
        let pair = try Pair()
        let other = try Home(people: "alice")
        pair.bob.files.write("other.card", try other.files.read("alice.card"))
        try pair.bob.run("contact", ["add", "other.card", "-i", "bob.key"])
        let (meeting, codes) = try pair.begin()
        let session = try TerminalSession(
            pair.bob.command(
                "sotto", ["meet", "-i", "bob.key"],
                environment: ["SOTTO_RELAY": "tcp://\(pair.relay.address)"]))
        try session.expect("Code, or Enter to make one: ")
        try session.type(try #require(codes.first) + "\n")
        try session.expect("another contact has the name alice")
        try session.expect("A name for this person: ")
        // A name that cannot be used does not lose the meeting.
        try session.type("me\n")
        try session.expect("the name is me")
        try session.expect("A name for this person: ")
        try session.type("al\n")
        #expect(try session.finish().status == 0)
        #expect(try meeting.finish().first?.status == 0)
        #expect(try Pair.trust("al", pair.bob, "bob.key") == "verified")
        #expect(try Pair.trust("alice", pair.bob, "bob.key") == "trusted")
    }

    @Test func aProtectedIdentityIsOpenedBeforeTheCodeIsShown() throws {
        let pair = try Pair()
        pair.alice.files.write("p", Array("correct horse\n".utf8))
        pair.alice.files.write("q", Array("wrong horse\n".utf8))
        try pair.alice.run("keygen", ["passwd", "alice.key", "--passphrase", "@FILE:p"])
        let wrong = try pair.alice.run(
            "sotto", ["meet", "-i", "alice.key", "--identity-passphrase", "@FILE:q"],
            environment: ["SOTTO_RELAY": "tcp://\(pair.relay.address)"])
        #expect(wrong.status != 0 && !wrong.stderr.contains("Say this code"), "\(wrong.stderr)")
        let (meeting, codes) = try pair.begin("tcp", ["--identity-passphrase", "@FILE:p"])
        #expect(try pair.join(try #require(codes.first)).status == 0)
        #expect(try meeting.finish().first?.status == 0)
    }
}
