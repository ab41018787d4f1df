import Foundation
import Sotto
import SottoDatabase
import SottoState
import TestSupport
import Testing

/// The owner's profile and those of contacts, with the built programs.
@Suite(.timeLimit(.minutes(60))) struct ProfileTests {
    let circle: Circle

    init() throws { circle = try Circle("alice", "bob", "carol") }

    private var alice: Party { circle["alice"] }

    /// Sets the profile of a person.
    private func set(_ who: String, _ arguments: String...) throws {
        try circle.must(who, "contact", ["profile", "set"] + arguments)
    }

    /// Prints the messages with the profile of a person that are due.
    private func due(_ who: String, _ names: String...) throws -> Run {
        try circle[who].run("contact", ["profile", "send"] + names)
    }

    /// Sends the profile of a person to those who lack it, and opens all mail.
    private func send(_ who: String, _ names: String...) throws {
        let run = try circle[who].run("contact", ["profile", "send"] + names)
        guard run.status == 0 else { throw Unexpected(run) }
        try circle.post(who, run.stdout)
        try circle.settle()
    }

    /// The profile of a person as another one has it, or `nil`.
    private func profile(of name: String, at who: String) throws -> JSONObject? {
        let run = try circle[who].run("contact", ["profile", "show", "--json", name])
        guard run.status != 1 else { return nil }
        guard run.status == 0 else { throw Unexpected(run) }
        return try run.records[0]
    }

    /// Returns the envelopes of bodies, which only a hostile program writes.
    private func seal(
        _ bodies: [JSONObject], from who: String, to reader: String = "alice"
    ) throws -> [String] {
        try bodies.map { body in
            let envelope = try Sealed.seal(
                body: body, from: circle[who].identity, to: circle[reader].identity.card(),
                time: .now())
            return String(decoding: envelope.record.serialized(), as: UTF8.self)
        }
    }

    /// Returns a body of the type `profile`.
    private func body(_ members: JSONObject, issued: Int64 = 1_795_000_000) -> JSONObject {
        var body: JSONObject = [
            "type": .string("profile"),
            "issued": .string(Timestamp(seconds: issued).description),
        ]
        for (name, value) in members.members { body[name] = value }
        return body
    }

    // MARK: Who gets what

    @Test func aContactSeesOnlyWhatItIsShown() throws {
        try set(
            "alice", "--name", "Alicia", "--about", "at sea\nuntil May", "--phone",
            "+420 123 456 789", "--location", "Brno")
        try circle.must("alice", "contact", ["set", "bob", "phone=on"])
        let run = try due("alice")
        let records = try run.records
        #expect(run.status == 0 && records.count == 2)
        // A hidden part is in no message: no server and no reader has to filter it.
        for record in records {
            let isBob = record["to"]?.string == circle["bob"].identity.id.description
            #expect((record.body["phone"] != nil) == isBob && record.body["location"] == nil)
        }
        try send("alice")
        let (bob, carol) = (
            try profile(of: "alice", at: "bob"), try profile(of: "alice", at: "carol")
        )
        #expect(bob?["phone"]?.string == "+420 123 456 789" && bob?["location"] == nil)
        #expect(carol?["name"]?.string == "Alicia" && carol?["phone"] == nil)
        #expect(carol?["about"]?.string == "at sea\nuntil May")
        let own = try profile(of: "me", at: "alice")
        #expect(own?["location"]?.string == "Brno" && own?["due"]?.integer == 0)
        // Both names are shown.
        let shown = try circle.must("bob", "contact", ["show", "--text", "alice"]).text
        #expect(shown.contains("alice\n") && shown.contains("calls itself  \"Alicia\"\n"))
        #expect(shown.contains("about         \"at sea until May\"\n"), "\(shown)")
        let list = try circle.must("bob", "contact", ["list", "--text"]).text
        #expect(list.contains("calls itself \"Alicia\""), "\(list)")
        let record = try circle.must("bob", "contact", ["list", "--json"]).records[0]
        #expect(record["claimedName"]?.string == "Alicia")
        // A setting of a contact is in its entry, and off again it takes the number away.
        let entry = try circle.must("alice", "contact", ["show", "--json", "bob"]).records[0]
        #expect(entry["seenDetails"] == .array([.string("phone")]))
        try circle.must("alice", "contact", ["set", "--all", "phone=off", "location=on"])
        try send("alice")
        let after = try profile(of: "alice", at: "bob")
        #expect(after?["phone"] == nil && after?["location"]?.string == "Brno")
    }

    @Test func onlyAChangeOrANewContactIsSent() throws {
        #expect(try due("alice").status == 1)
        try set("alice", "--name", "Alicia")
        // A message that was not encrypted was not sent.
        for _ in 0..<2 { #expect(try due("alice").lines.count == 2) }
        try send("alice")
        let none = try due("alice")
        #expect(none.status == 1 && none.stdout.isEmpty)
        try set("alice", "--name", "Alicia")
        #expect(try due("alice").status == 1)
        // One contact changes what it sees; a part that is not there changes nothing.
        try circle.must("alice", "contact", ["set", "bob", "phone=on"])
        #expect(try due("alice").status == 1)
        try set("alice", "--phone", "123")
        #expect(
            try due("alice").records.map { $0["to"]?.string } == [
                circle["bob"].identity.id.description
            ])
        try send("alice")
        try circle.must("alice", "contact", ["remove", "carol"])
        try circle.must("alice", "contact", ["add", "carol.card"])
        #expect(try due("alice").lines.count == 1)
        try circle.must("alice", "contact", ["block", "carol"])
        #expect(try due("alice").status == 1 && due("alice", "carol").status == 1)
        #expect(try due("alice", "bob").lines.count == 1)
        // In a pipe, set prints what is due.
        try circle.must("alice", "contact", ["unblock", "carol"])
        let changed = try circle.must("alice", "contact", ["profile", "set", "--about", "here"])
        #expect(changed.lines.count == 2)
    }

    @Test func aRemovedProfileIsGoneOnTheOtherSide() throws {
        try set("alice", "--name", "Alicia")
        try send("alice", "bob")
        try circle.must("alice", "contact", ["profile", "remove"])
        // Carol got none.
        #expect(try due("alice").lines.count == 1)
        try send("alice")
        #expect(try profile(of: "alice", at: "bob") == nil)
        #expect(try profile(of: "me", at: "alice") == nil)
        #expect(try due("alice").status == 1)
    }

    @Test func onATerminalNothingIsPrintedForATool() throws {
        let session = try TerminalSession(
            alice.command("contact", ["profile", "set", "--name", "Alicia"]))
        try session.expect("sotto contact profile send | sotto encrypt | sotto send")
        let run = try session.finish()
        #expect(run.status == 0 && !run.text.contains("{"))
        let sending = try TerminalSession(alice.command("contact", ["profile", "send"])).finish()
        #expect(sending.status == 64 && sending.text.contains("sotto contact profile send --send"))
        let forced = try TerminalSession(alice.command("contact", ["profile", "send", "--json"]))
            .finish()
        #expect(forced.status == 0 && forced.text.contains("Alicia"))
    }

    // MARK: What is kept

    /// C4: mail that is late or is repeated puts no earlier profile back.
    @Test func c4AnEarlierProfileIsNotPutBack() throws {
        var envelopes: [String] = []
        for name in ["first", "second", "third"] {
            try set("bob", "--name", name)
            let run = try due("bob")
            try circle.post("bob", run.stdout)
            envelopes += circle.take("alice")
        }
        #expect(envelopes.count == 3)
        #expect(try circle.read("alice", [envelopes[1]]).status == 0)
        #expect(try circle.read("alice", [envelopes[0]]).status == 0)
        #expect(try profile(of: "bob", at: "alice")?["name"]?.string == "second")
        #expect(try circle.read("alice", [envelopes[2], envelopes[1]]).status == 0)
        #expect(try profile(of: "bob", at: "alice")?["name"]?.string == "third")
        // The same time with other parts does not replace it either.
        let issued = try #require(
            try profile(of: "bob", at: "alice")?["issued"]?.string.flatMap { Timestamp($0) })
        let same = try seal(
            [body(["name": .string("fourth")], issued: issued.seconds)], from: "bob")
        #expect(try circle.read("alice", same).status == 0)
        #expect(try profile(of: "bob", at: "alice")?["name"]?.string == "third")
    }

    /// A clock that was wrong once does not keep later profiles from being shown.
    @Test func aProfileIsLaterThanTheOneBeforeWhateverTheClockSays() throws {
        let store = try alice.store()
        let far = Timestamp(seconds: 4_000_000_000)
        try store.transaction { transaction in
            _ = try transaction.changeOwnProfile(at: far) { $0.name = "future" }
        }
        try send("alice")
        try set("alice", "--name", "present")
        try send("alice")
        let kept = try profile(of: "alice", at: "bob")
        #expect(kept?["name"]?.string == "present")
        #expect(kept?["issued"]?.string == Timestamp(seconds: far.seconds + 1).description)
        try circle.must("alice", "contact", ["set", "bob", "phone=on"])
        try set("alice", "--phone", "123")
        try send("alice")
        #expect(try profile(of: "alice", at: "bob")?["phone"]?.string == "123")
    }

    /// The profile of a sender who is no contact is not kept. That of a request waits in the message.
    @Test func onlyTheProfileOfAContactIsKept() throws {
        let profile = body(["name": .string("Bob")])
        // Bob and Carol know only Alice.
        let waiting = try circle.read("bob", seal([profile], from: "carol", to: "bob"))
        #expect(waiting.status == 0 && waiting.text.contains(#""type":"request""#))
        #expect(try count("profile", of: "bob") == 0)
        let accepted = try circle.must("bob", "contact", ["accept", "carol.card"])
        #expect(try circle["bob"].run("decrypt", stdin: accepted.stdout).status == 0)
        #expect(try self.profile(of: "carol", at: "bob")?["name"]?.string == "Bob")
        // A blocked contact changes nothing, and a removed one leaves nothing.
        try circle.must("bob", "contact", ["block", "carol"])
        let later = body(["name": .string("later")], issued: 1_795_000_001)
        _ = try circle.read("bob", seal([later], from: "carol", to: "bob"))
        #expect(try self.profile(of: "carol", at: "bob")?["name"]?.string == "Bob")
        try circle.must("bob", "contact", ["remove", "carol"])
        #expect(try count("profile", of: "bob") == 0)
    }

    private func count(_ table: String, of who: String) throws -> Int64 {
        try circle[who].state { connection throws(StateError) in
            try connection.integer("SELECT count(*) FROM \(table)")
        }
    }

    /// A profile in a message to a group, or to oneself, changes nothing.
    @Test func aProfileIsForOnePerson() throws {
        try circle.team("alice", "bob")
        let record: JSONObject = ["body": .object(body(["name": .string("grouped")]))]
        let sealed = try circle.must(
            "bob", "encrypt", ["--group", "team", "--jsonl"],
            String(decoding: record.serialized(), as: UTF8.self) + "\n")
        try circle.deliver(sealed)
        try circle.settle()
        #expect(try profile(of: "bob", at: "alice") == nil)
        let own = try seal([body(["name": .string("own")])], from: "alice")
        _ = try circle.read("alice", own)
        #expect(try profile(of: "me", at: "alice") == nil)
    }

    @Test func aBackupHasTheProfiles() throws {
        try set("alice", "--name", "Alicia", "--phone", "123")
        try circle.must("alice", "contact", ["set", "bob", "phone=on"])
        try send("alice")
        try set("bob", "--name", "Bobby")
        try send("bob")
        try circle.must("alice", "history", ["export", "--backup", "-o", "backup.age"])
        try FileManager.default.removeItem(atPath: circle.home.files(alice.stateDirectory))
        try circle.must("alice", "history", ["import", "backup.age"])
        #expect(try profile(of: "bob", at: "alice")?["name"]?.string == "Bobby")
        let own = try profile(of: "me", at: "alice")
        #expect(own?["name"]?.string == "Alicia" && own?["phone"]?.string == "123")
        // The sent profiles are known, and the settings of the contact.
        #expect(try due("alice").status == 1)
        // An older backup puts nothing back.
        try set("alice", "--name", "Alice")
        try circle.must("alice", "history", ["import", "backup.age"])
        #expect(try profile(of: "me", at: "alice")?["name"]?.string == "Alice")
    }

    /// The author of a message in an export is a claim, also after it was in the owner's backup.
    @Test func aClaimInABackupChangesNoProfile() throws {
        let (owner, bob) = (alice.identity.id, circle["bob"].identity.id)
        let record: JSONObject = [
            "v": .integer(1), "type": .string("message"), "id": .string(Envelope.newID()),
            "from": .string(bob.description), "to": .string(owner.description),
            "time": .string("2026-11-26T09:30:00Z"),
            "body": .object(body(["name": .string("claimed")])),
        ]
        circle.home.files.write("export.ndjson", record.serialized() + [10])
        try circle.must("alice", "history", ["import", "export.ndjson"])
        #expect(try profile(of: "bob", at: "alice") == nil)
        try circle.must("alice", "history", ["export", "--backup", "-o", "backup.age"])
        try FileManager.default.removeItem(atPath: circle.home.files(alice.stateDirectory))
        try circle.must("alice", "history", ["import", "backup.age"])
        #expect(try alice.history("--raw", "bob").count == 1)
        #expect(try profile(of: "bob", at: "alice") == nil)
    }

    @Test func anAcceptedKeySeesNoDetails() throws {
        try circle.must("alice", "contact", ["set", "bob", "phone=on", "receipts=on"])
        let mallory = try Party("mallory", in: circle.home)
        #expect(
            try alice.run("contact", ["add", "--name", "bob", mallory.card]).status == 12)
        try circle.must("alice", "contact", ["accept-key", "bob"])
        let entry = try circle.must("alice", "contact", ["show", "--json", "bob"]).records[0]
        #expect(entry["receipts"] == .bool(true) && entry["seenDetails"] == nil)
    }

    // MARK: What is shown

    @Test func aChangeStandsInTheHistory() throws {
        try set("bob", "--name", "Bobby", "--about", "here")
        try send("bob")
        try set("bob", "--about", "there")
        try circle.post("bob", due("bob").stdout)
        let text = try circle.read("alice", circle.take("alice"), ["--text", "-q"]).text
        #expect(text == "[sent a profile: name \"Bobby\", description]\n")
        let lines = try circle.must("alice", "history", ["--text", "bob"]).text
        #expect(
            lines.contains("[changed the profile: name \"Bobby\", description]")
                && lines.contains("[changed the profile: description]"), "\(lines)")
        // Bob did it. A reader and a wait for an answer take messages only.
        let event = try #require(try alice.history("bob").first { $0.body["event"] != nil })
        #expect(event["from"] == .string(circle["bob"].identity.id.description))
        #expect(event["direction"] == .string("received") && event["name"] == .string("bob"))
        #expect(event["status"] == nil && event["unread"] == nil)
        #expect(
            try alice.run("history", ["--as", "bot", "--from-start", "--json"]).records
                .allSatisfy { $0.body["type"] != .string("system") })
        // It is not unread.
        #expect(try alice.run("history", ["unread"]).status == 1)
        // The same parts with a later time are no change.
        let count = try alice.history("bob").count
        try circle.post("bob", due("bob", "alice").stdout)
        try circle.settle()
        #expect(try alice.history("bob").count == count)
    }

    @Test func aPictureIsMadeSmallAndPrinted() throws {
        try circle.must("alice", "qr", ["-t", "png", "-o", "me.png"], "a picture")
        try set("alice", "--avatar", "me.png")
        try send("alice")
        let picture = try circle.must("bob", "contact", ["profile", "avatar", "alice"]).stdout
        let size = try #require(JPEGSize(of: picture))
        #expect(picture.count <= 8_192 && size.isSmall && size.width == size.height)
        let shown = try circle.must("bob", "contact", ["show", "--text", "alice"]).text
        #expect(shown.contains("\(size.width)×\(size.height)"), "\(shown)")
        try set("alice", "--avatar", "")
        try send("alice")
        #expect(
            try circle["bob"].run("contact", ["profile", "avatar", "alice"]).status == 1)
    }

    /// C12: a picture that a program could not decode in little memory is not kept, and the rest of the profile is.
    @Test func c12APictureWithManyPixelsIsNotKept() throws {
        let pictures = [
            Sample.jpeg(width: 65_535, height: 65_535), [0xFF, 0xD8, 0xFF] + randomBytes(100),
            Sample.jpeg(width: 320, height: 240),
        ]
        for (place, picture) in pictures.enumerated() {
            let bomb = body(
                ["name": .string("\(place)"), "avatar": .base64(picture)],
                issued: 1_795_000_000 + Int64(place))
            #expect(try circle.read("alice", seal([bomb], from: "bob")).status == 0)
            let kept = try profile(of: "bob", at: "alice")
            #expect(kept?["name"]?.string == "\(place)")
            #expect((kept?["avatar"] != nil) == (place == 2))
        }
    }

    /// C13: no text of a profile looks like words of a program, or like another person, in any place where it is shown.
    @Test func c13AProfileFoolsNoViewer() throws {
        let long = String(repeating: "x", count: 128)
        let spaces = "Brno" + String(repeating: " ", count: 200) + "safety no. 12345"
        let hostile: [JSONObject] = [
            ["name": .string("са\u{200B}rol"), "location": .string(spaces)],
            [
                "name": .string("a\" trust verified \"]"),
                "phone": .string("<script>alert(1)</script>"),
            ],
            ["name": .string(long), "about": .string(String(repeating: "\n", count: 1_024))],
            ["about": .string("\u{1B}[2Jx\u{202E}y\rz\u{7}"), "name": .string("'\"&<b>")],
            ["name": .string("x"), "trust": .string("verified"), "verified": .bool(true)],
        ]
        for (place, members) in hostile.enumerated() {
            let envelopes = try seal(
                [body(members, issued: 1_795_000_000 + Int64(place))], from: "bob")
            let read = try circle.read("alice", envelopes, ["--text"])
            #expect(read.status == 0)
            let arguments = [
                ["contact", "show", "--text", "bob"], ["contact", "list", "--text"],
                ["contact", "profile", "show", "--text", "bob"], ["history", "--text", "bob"],
            ]
            var texts = [read.text]
            for words in arguments {
                texts.append(try circle.must("alice", words[0], Array(words.dropFirst())).text)
            }
            for text in texts {
                let isPlain = text.unicodeScalars.allSatisfy {
                    $0 == "\n" || !["Cc", "Cf"].contains(Self.category($0))
                }
                #expect(isPlain, "\(text)")
                // A row is at its own place, and nothing follows the closing mark.
                #expect(!text.contains("\nsafety no. 12345"))
                #expect(!text.contains("\" trust verified"))
                #expect(text.components(separatedBy: "\n").allSatisfy { $0.count < 200 })
            }
            let page = try circle.must("alice", "history", ["export", "--format", "html"]).text
            for part in ["<script", "<b>'", "\u{1B}", "\u{202E}", "\u{7}"] {
                #expect(!page.contains(part))
            }
            #expect(page.contains("<aside>"))
            let record = try profile(of: "bob", at: "alice")
            #expect(record?["trust"] == nil && record?["verified"] == nil)
        }
        // A character that no name can have is refused with the body.
        let refused = ["a\nb", "a\u{202E}b", "a\u{7}", long + "x", ""].map {
            body(["name": .string($0)], issued: 1_796_000_000)
        }
        let run = try circle.read("alice", seal(refused, from: "bob"))
        #expect(run.status == 65 && run.lines.count == 5)
        #expect(try profile(of: "bob", at: "alice")?["name"]?.string == "x")
    }

    private static func category(_ scalar: Unicode.Scalar) -> String {
        switch scalar.properties.generalCategory {
        case .control: "Cc"
        case .format: "Cf"
        default: "-"
        }
    }

    @Test func aNameThatLooksLikeAContactIsMarked() throws {
        // The first two letters are Cyrillic.
        let claim = body(["name": .string("\u{441}\u{430}rol")])
        #expect(try circle.read("alice", seal([claim], from: "bob")).status == 0)
        let mark = "looks like your contact carol"
        for words in [
            ["show", "--text", "bob"], ["list", "--text"], ["profile", "show", "--text", "bob"],
        ] {
            let text = try circle.must("alice", "contact", words).text
            #expect(text.contains(mark), "\(text)")
        }
        #expect(try profile(of: "bob", at: "alice")?["looksLike"]?.string == "carol")
        // Its own name at the reader is no other one.
        let own = body(["name": .string("Bob")], issued: 1_795_000_001)
        #expect(try circle.read("alice", seal([own], from: "bob")).status == 0)
        #expect(!(try circle.must("alice", "contact", ["list", "--text"]).text.contains("calls")))
    }

    @Test(arguments: [
        ["set"], ["set", "--name", "a\u{202E}b"], ["set", "--phone", "1\n2"],
        ["set", "--about", "a\u{7}"], ["set", "--name", String(repeating: "x", count: 129)],
        ["set", "--about", String(repeating: "x", count: 1_025)], ["set", "--name", "x", "bob"],
        ["show", "--name", "x"], ["remove", "bob"], ["show", "bob", "carol"],
        ["avatar", "--json"], ["send", "--text"], ["unset"],
    ])
    func aWrongCommandLineChangesNothing(_ arguments: [String]) throws {
        let run = try alice.run("contact", ["profile"] + arguments)
        #expect(run.status == 64, "\(run.stderr)")
        #expect(try profile(of: "me", at: "alice") == nil)
    }
}
