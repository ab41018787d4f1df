import Sotto
import SottoDatabase
import SottoState
import TestSupport
import Testing

/// Tests of authentic messages that cannot be opened yet, because of the recipient's policy or missing earlier
/// messages.
struct EarlyMessageTests {
    let two: Couple
    var alice: Party { two.alice }
    var bob: Party { two.bob }
    static let texts = (0...300).map { "message \($0)" }

    init() throws { two = try Couple() }

    private func verifyAlice() throws {
        let digits = try bob.run("fingerprint", ["--with", alice.card, bob.card])
        #expect(digits.status == 0, "\(digits.stderr)")
        let number = digits.text.split(whereSeparator: \.isWhitespace).map(String.init)
        let verified = try bob.run("contact", ["verify", "alice"] + number)
        #expect(verified.status == 0, "\(verified.stderr)")
    }

    @Test func refusedMessagesAreReadInOrderAfterVerification() throws {
        #expect(try bob.run("contact", ["add", alice.card]).status == 0)
        let sent = try alice.write(Self.texts, to: bob, "--bundle", bob.bundle())
        try bob.receive(sent)
        for _ in 0..<2 {
            let refused = try bob.read(bob.unread(), "--trust", "verified")
            #expect(try refused.status == 12 && refused.messages.isEmpty)
            #expect(try bob.unread() == sent)
        }
        try verifyAlice()
        let read = try bob.read(bob.unread(), "--trust", "verified")
        #expect(read.status == 0, "\(read.stderr)")
        #expect(try read.messages.map(\.text) == Self.texts)
        #expect(try bob.unread().isEmpty)
    }

    @Test func requestsAndLaterMessagesAreReadAfterAcceptance() throws {
        let carol = try Party("carol", in: two.home)
        #expect(try bob.run("contact", ["add", carol.card]).status == 0)
        let sent = try alice.write(Self.texts, to: bob, "--bundle", bob.bundle())
        try bob.receive(sent)
        let waiting = try bob.read(sent)
        #expect(try waiting.status == 15 && waiting.messages.isEmpty)
        // Without the session only the messages with `kem` are authentic: they are requests. The inbox keeps the others.
        let begins = try sent.filter { try payload($0)["kem"] != nil }
        #expect(begins.count == 11)
        #expect(try bob.unread() == sent.filter { !begins.contains($0) })
        let accepted = try bob.run(
            "contact", ["accept", alice.identity.id.description, alice.card])
        #expect(accepted.lines == begins, "\(accepted.stderr)")
        let read = try bob.read(accepted.lines)
        #expect(read.status == 0, "\(read.stderr)")
        let texts = try read.messages.map(\.text)
        #expect(texts.count == Self.texts.count && Set(texts) == Set(Self.texts))
        #expect(try bob.unread().isEmpty)
    }

    @Test func anEarlyMessageIsOpenedWhenTheSkipLimitReachesIt() throws {
        try two.begin()
        let sent = try alice.write(Self.texts, to: bob)
        try bob.receive(sent)
        let early = try bob.read([sent[300]])
        #expect(try early.status == 11 && early.messages.isEmpty)
        #expect(early.stderr.contains("waits in the inbox for 30 days"), "\(early.stderr)")
        #expect(try bob.unread() == sent)
        let more = try bob.read(Array(sent[..<43]))
        #expect(try more.messages.map(\.text) == Array(Self.texts[..<43]))
        #expect(try bob.unread() == Array(sent[43...]))
        // 256 messages before it are missing after this one.
        let next = try bob.read([sent[43]])
        #expect(try next.messages.map(\.text) == [Self.texts[43], Self.texts[300]])
        let rest = try bob.read(Array(sent[44..<300]))
        #expect(try rest.status == 0 && rest.messages.map(\.text) == Array(Self.texts[44..<300]))
        #expect(try bob.unread().isEmpty)
    }

    @Test func aForgedEarlyMessageIsDeletedWhenItIsTried() throws {
        try two.begin()
        let sent = try alice.write(Self.texts, to: bob)
        let forged = try changing(
            payload: changing(sent[0]) { $0["id"] = .string(Envelope.newID()) }
        ) {
            $0["chainLength"] = .integer(280)
        }
        let lost = try changing(payload: changing(sent[0]) { $0["id"] = .string(Envelope.newID()) })
        {
            $0["ratchetPublicKey"] = .string(Base64.standard.encode(randomBytes(32)))
            $0["chainLength"] = .integer(5_000)
        }
        try bob.receive([forged, lost] + sent)
        let refused = try bob.read([forged, lost])
        #expect(try refused.status == 11 && refused.messages.isEmpty)
        #expect(try bob.unread().count == 303)
        let read = try bob.read(sent)
        #expect(try read.status == 0 && read.messages.map(\.text) == Self.texts)
        // A message of an unknown chain waits until it expires.
        #expect(try bob.unread() == [lost])
        try bob.state { connection throws(StateError) in
            try connection.run("UPDATE inbox SET arrived = arrived - 32 * 86400")
        }
        let store = try IdentityStore(
            directory: StateDirectory(path: two.home.files(bob.stateDirectory)),
            identity: bob.identity, lockTimeout: 20)
        let now = Timestamp.now().seconds
        #expect(try store.forgetOld(at: Timestamp(seconds: now)) == 0)
        #expect(try store.forgetOld(at: Timestamp(seconds: now + 86_400)) == 1)
        #expect(try bob.unread().isEmpty)
    }

    @Test func earlyEnvelopesAreBoundedAndDisplaceNoOthers() throws {
        let home = Home()
        let store = try IdentityStore(
            directory: StateDirectory(path: home.files("state")), identity: bob.identity,
            lockTimeout: 20)
        let ids = (0..<1_101).map { _ in Envelope.newID() }
        let envelopes = ids.map { (id: $0, envelope: Array($0.utf8)) }
        _ = try store.receive(envelopes, to: .print)
        try store.markPrinted(ids)
        let message = try RatchetMessage(
            payload: payload(alice.write(["x"], to: bob, "--bundle", bob.bundle())[0]))
        try store.transaction { transaction in
            for (id, envelope) in envelopes[1...] {
                let isMarked = try transaction.markEarly(
                    id: id, envelope: envelope, from: alice.identity.id,
                    position: message.position)
                #expect(isMarked)
            }
        }
        #expect(try store.forgetOld() == 100)
        let kept = try store.kept(.unfinished, after: 0, limit: 2_000).map(\.id)
        #expect(kept == [ids[0]] + ids[101...])
    }
}
