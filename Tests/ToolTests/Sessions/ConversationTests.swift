import Sotto
import SottoDatabase
import SottoState
import TestSupport
import Testing

/// Tests of a session from its beginning, without a relay.
struct ConversationTests {
    let two: Couple
    var alice: Party { two.alice }
    var bob: Party { two.bob }
    init() throws { two = try Couple() }

    @Test func aSessionBeginsWithABundleAndContinues() throws {
        let begun = try alice.encrypt("hello", to: bob, "--bundle", bob.bundle())
        #expect(begun.status == 0)
        #expect(
            begun.stderr
                == "encrypt: began a session with bob: PQXDH, with a one-time prekey\n")
        #expect(try suite(begun.lines[0]) == "ratchet")
        #expect(try payload(begun.lines[0])["preKey"]?.object?["kemCiphertext"] != nil)
        // Until Bob has answered, each message can begin the session on his side.
        let second = try alice.encrypt("are you there?", to: bob)
        #expect(second.stderr.isEmpty)
        #expect(try payload(second.lines[0])["preKey"]?.object != nil)
        #expect(try bob.texts(second.lines + begun.lines) == ["are you there?", "hello"])

        let answer = try bob.encrypt("I am", to: alice)
        #expect(try suite(answer.lines[0]) == "ratchet" && answer.stderr.isEmpty)
        #expect(try alice.texts(answer.lines) == ["I am"])
        let next = try alice.encrypt("good", to: bob)
        #expect(try suite(next.lines[0]) == "ratchet")
        #expect(try payload(next.lines[0])["preKey"] == nil)
        #expect(try bob.texts(next.lines) == ["good"])
    }

    @Test func messagesArriveOutOfOrderAndOneIsLost() throws {
        try two.begin()
        let sent = try alice.write((0..<6).map { "\($0)" }, to: bob)
        let order = [3, 0, 5, 1, 4]
        #expect(try bob.texts(order.map { sent[$0] }) == order.map { "\($0)" })
        // Some messages of an old chain arrive after the next chain has begun.
        let late = try alice.write(["late", "first"], to: bob)
        #expect(try bob.texts([late[1]]) == ["first"])
        #expect(try alice.texts(bob.write(["turn"], to: alice)) == ["turn"])
        #expect(try bob.texts(alice.write(["after"], to: bob)) == ["after"])
        #expect(try bob.texts([late[0]]) == ["late"])
    }

    @Test func theSameEnvelopeAgainIsSeen() throws {
        try two.begin()
        let sent = try alice.write(["once"], to: bob)
        let first = try bob.read(sent)
        let rows = try bob.sessions()
        let again = try bob.read(sent)
        #expect(first.status == 0 && again.status == 0)
        #expect(try first.messages.map(\.isSeen) == [false])
        #expect(try again.messages.map(\.isSeen) == [true])
        let unmarked = again.text.replacing(",\"seen\":true", with: "")
        #expect(unmarked == first.text)
        #expect(try bob.sessions() == rows)
    }

    /// A message that the policy refuses, or that is only previewed, can be opened later.
    @Test func aRefusedMessageCanBeOpenedLater() throws {
        try two.begin()
        let sent = try alice.write(["patient"], to: bob)
        let rows = try bob.sessions()
        let preview = try bob.read(sent, "--preview")
        #expect(try preview.status == 0 && preview.messages.map(\.text) == ["patient"])
        let other = try bob.read(sent, "--from", bob.card)
        #expect(try other.status == 12 && other.messages.isEmpty)
        let verified = try bob.read(sent, "--trust", "verified")
        #expect(try verified.status == 12 && verified.messages.isEmpty)
        let alone = try bob.read(sent, "--stateless")
        #expect(try alone.status == 64 && alone.messages.isEmpty)
        #expect(try bob.read(sent, "-o", "missing/file").status == 73)
        #expect(try bob.sessions() == rows)
        #expect(try bob.read(sent).messages.map(\.isSeen) == [false])
    }

    @Test func theContentOfTheBundleIsReported() throws {
        let classic = try bob.bundle { $0["pqSignedPreKey"] = nil }
        let run = try alice.encrypt("x", to: bob, "--classic", "--bundle", classic)
        #expect(run.stderr.contains("X3DH, not post-quantum, with a one-time prekey"))
        #expect(try bob.texts(run.lines) == ["x"])

        let without = try bob.bundle { $0["oneTimePreKey"] = .null }
        let again = try alice.encrypt("y", to: bob, "--new-session", "--bundle", without)
        #expect(again.stderr.contains("PQXDH, without a one-time prekey: an attacker who stores"))
        #expect(try bob.texts(again.lines) == ["y"])

        let quiet = try alice.encrypt("z", to: bob, "-q", "--new-session", "--bundle", bob.bundle())
        #expect(quiet.status == 0 && quiet.stderr.isEmpty)
    }

    @Test func aPublicationIsAcceptedWithoutItsOneTimePreKeys() throws {
        let published = try bob.run("keygen", ["prekeys"])
        two.home.files.write("published", published.stdout)
        let run = try alice.encrypt("x", to: bob, "--bundle", "published")
        #expect(run.status == 0 && run.stderr.contains("PQXDH, without a one-time prekey"))
        #expect(try bob.texts(run.lines) == ["x"])
    }

    @Test func aBundleOnStdinIsAccepted() throws {
        let bundle = try two.home.files.read(bob.bundle())
        two.home.files.write("text", Array("from a file\n".utf8))
        let run = try alice.run(
            "encrypt", ["--to", bob.card, "--bundle", "-", "text"], stdin: bundle)
        #expect(try bob.texts(run.lines) == ["from a file"])
        let both = try alice.run("encrypt", ["--to", bob.card, "--bundle", "-"], stdin: bundle)
        #expect(both.status == 64 && both.stdout.isEmpty)
    }

    @Test func aSecondBundleIsNotUsed() throws {
        try two.begin()
        let run = try alice.encrypt("x", to: bob, "--bundle", bob.bundle())
        #expect(run.status == 0 && run.stderr.contains("the bundle was not used"))
        #expect(try payload(run.lines[0])["preKey"] == nil)
        #expect(try alice.sessions().count == 1)
    }

    @Test func bothSidesCanBeginAtOnce() throws {
        let mine = try alice.write(["from alice"], to: bob, "--bundle", bob.bundle())
        let theirs = try bob.write(["from bob"], to: alice, "--bundle", alice.bundle())
        #expect(try alice.texts(theirs) == ["from bob"])
        #expect(try bob.texts(mine) == ["from alice"])
        for turn in 0..<4 {
            #expect(try bob.texts(alice.write(["a \(turn)"], to: bob)) == ["a \(turn)"])
            #expect(try alice.texts(bob.write(["b \(turn)"], to: alice)) == ["b \(turn)"])
        }
        func current(_ party: Party) throws -> [UInt8] {
            try party.state { connection throws(StateError) in
                let select = try connection.statement(
                    "SELECT tag FROM session ORDER BY used DESC LIMIT 1")
                defer { select.reset() }
                return try select.step() ? select.bytes(0) : []
            }
        }
        #expect(try current(alice) == current(bob))
    }

    @Test func aNewSessionBeginsOnRequest() throws {
        try two.begin()
        let run = try alice.encrypt("anew", to: bob, "--new-session", "--bundle", bob.bundle())
        #expect(run.stderr.contains("began a session"))
        #expect(try bob.texts(run.lines) == ["anew"])
        #expect(try alice.sessions().count == 2 && bob.sessions().count == 2)
        let answer = try bob.write(["by the new one"], to: alice)
        #expect(try alice.texts(answer) == ["by the new one"])
    }

    @Test func sealedStaysPossible() throws {
        try two.begin()
        let rows = try alice.sessions()
        let run = try alice.encrypt("x", to: bob, "--suite", "sealed")
        #expect(try suite(run.lines[0]) == "sealed")
        #expect(try alice.sessions() == rows)
        #expect(try bob.texts(run.lines) == ["x"])
    }

    @Test func eachRecipientGetsTheAvailableSuite() throws {
        try two.begin()
        let carol = try Party("carol", in: two.home)
        let run = try alice.run(
            "encrypt", ["--to", bob.card, "--to", carol.card], stdin: Array("all".utf8))
        #expect(try run.lines.map(suite) == ["ratchet", "sealed"])
        #expect(try bob.texts([run.lines[0]]) == ["all"])
        #expect(try carol.texts([run.lines[1]]) == ["all"])
    }
}

/// A session that was requested is never replaced by a weaker suite.
struct NoDowngradeTests {
    let two: Couple
    var alice: Party { two.alice }
    var bob: Party { two.bob }
    init() throws { two = try Couple() }

    @Test(arguments: [["--suite", "ratchet"], ["--new-session"], ["--require-opk"]])
    func withoutABundleItIs10(_ options: [String]) throws {
        let run = try alice.run("encrypt", ["--to", bob.card] + options, stdin: [0x78])
        #expect(run.status == 10 && run.stdout.isEmpty)
        #expect(run.stderr.contains("recv --bundle \(bob.identity.id)"))
    }

    @Test func aNewSessionNeedsABundleEvenIfOneExists() throws {
        try two.begin()
        let rows = try alice.sessions()
        let run = try alice.encrypt("x", to: bob, "--new-session")
        #expect(run.status == 10 && run.stdout.isEmpty)
        #expect(try alice.sessions() == rows)
    }

    @Test func aContactsSuiteIsUsed() throws {
        #expect(try alice.encrypt("x", to: bob).status == 0)
        let store = try IdentityStore(
            directory: StateDirectory(path: two.home.files(alice.stateDirectory)),
            identity: alice.identity, lockTimeout: 10)
        var contact = Contact(name: "bob", id: bob.identity.id, card: bob.identity.card())
        contact.suite = .ratchet
        try store.transaction { try $0.save(contact) }
        let run = try alice.encrypt("x", to: bob)
        #expect(run.status == 10 && run.stdout.isEmpty)
        let sealed = try alice.encrypt("x", to: bob, "--suite", "sealed")
        #expect(try suite(sealed.lines[0]) == "sealed")
    }

    @Test(arguments: [["--suite", "ratchet"], ["--bundle", "b"], ["--new-session"]])
    func statelessAndASessionAreIncompatible(_ options: [String]) throws {
        try two.home.files.write("b", two.home.files.read(bob.bundle()))
        let run = try alice.run(
            "encrypt", ["--to", bob.card, "--stateless"] + options, stdin: [0x78])
        #expect([10, 64].contains(run.status) && run.stdout.isEmpty, "\(run.stderr)")
    }

    @Test func anUnreadableStateDoesNotDowngrade() throws {
        try two.begin()
        let bytes = try two.home.files.read(alice.database)
        two.home.files.write(
            alice.database, Array(bytes[..<100]) + [UInt8](repeating: 1, count: bytes.count - 100))
        let run = try alice.encrypt("x", to: bob)
        #expect(run.status == 74 && run.stdout.isEmpty, "\(run.status) \(run.stderr)")
    }

    @Test func aURIFindsTheSession() throws {
        try two.begin()
        let uri = try two.home.run("keygen", ["public", "--uri", "bob.key"]).lines[0]
        let run = try alice.run("encrypt", ["--to", uri], stdin: [0x78])
        #expect(try suite(run.lines[0]) == "ratchet")
        #expect(try bob.texts(run.lines) == ["x"])
    }

    @Test func aSessionWithOneselfIsRefused() throws {
        let run = try alice.encrypt("x", to: alice, "--suite", "ratchet")
        #expect(run.status == 64 && run.stdout.isEmpty)
    }
}
