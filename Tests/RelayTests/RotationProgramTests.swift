import Glibc
import Sotto
import SottoState
import SottoWire
import TestHarness
import TestSupport
import Testing

@testable import SottoServer

/// Successions and revocations through a relay, with the built programs.
@Suite struct RotationProgramTests {
    let running: RunningRelay
    let world: World

    init() throws {
        running = try RunningRelay()
        world = World(address: running.relay.address)
    }

    private func must(
        _ program: String, _ arguments: [String], input: String? = nil, output: String = "out"
    ) throws {
        let status = world.run(program, arguments, input: input, output: output)
        try #require(status == 0, "\(program) \(arguments): \(world.errors)")
    }

    private func lines(_ file: String) -> [JSONObject] {
        world.scratch.lines(file).compactMap { try? JSON.object(parsing: Array($0.utf8)) }
    }

    /// `keygen revoke` into a file; `send` needs neither the words nor the identity.
    @Test func aRevocationFromAFileEndsTheIDAtTheRelay() throws {
        let key = world.scratch("bob.key")
        try must("keygen", ["public", key], output: "card")
        try must("send", [], input: "card")
        try must("keygen", ["revoke", "-o", world.scratch("revocation"), key])
        try must("recv", ["--card", world.bob.id.description], output: "before")
        #expect(lines("before").map { $0["type"]?.string } == ["contact"])

        unlink(key)
        let sent = world.run(
            "send", ["--relay", "tcp://\(world.address)"], input: "revocation", output: "sent")
        #expect(sent == 0, "\(world.errors)")
        let alice = Sample.identity()
        world.scratch.write("bob.key", alice.record.serialized())
        try must("recv", ["--card", world.bob.id.description], output: "after")
        #expect(lines("after").map { $0["type"]?.string } == ["revocation"])
        // The command in the hint of a revoked bundle.
        #expect(world.run("recv", ["--bundle", world.bob.id.description]) == 12)
        #expect(world.errors.contains("is revoked by its owner"))
        try must("contact", ["add"], input: "after")
        #expect(world.run("contact", ["add", "--name", "bob"], input: "before") == 12)
    }

    /// The owner hears of it: from `whoami`, and then when writing.
    @Test func aRevokedOwnerIsTold() throws {
        let key = world.scratch("bob.key")
        try must(
            "keygen", ["set", "--relay", "tcp://\(world.address)", "-q", key], output: "card")
        try must("send", [], input: "card")
        try must("keygen", ["revoke", "-o", world.scratch("revocation"), key])
        try must("send", ["--relay", "tcp://\(world.address)"], input: "revocation")
        try must("sotto", ["whoami", "-i", key], output: "shown")
        let shown = world.scratch.lines("shown").joined(separator: "\n")
        #expect(shown.contains("revoked: contacts and relays refuse this identity"), "\(shown)")
        world.scratch.write("text", Array("hello".utf8))
        #expect(world.run("encrypt", ["--to", "me", "-i", key], input: "text") == 12)
        #expect(world.errors.contains("this identity is revoked"), "\(world.errors)")
        try must("keygen", ["public", key])
        #expect(world.errors.contains("this identity is revoked"), "\(world.errors)")
    }

    @Test func aSuccessionIsPublishedAndTheOldMailIsFetched() throws {
        let (key, new) = (world.scratch("bob.key"), world.scratch("new.key"))
        try must("keygen", ["set", "--relay", "tcp://\(world.address)", key], output: "set")
        try must("keygen", ["rotate", "-o", new, key], output: "rotation")
        try must("send", [], input: "rotation")
        try must("recv", ["--card", world.bob.id.description, "-i", new], output: "found")
        #expect(lines("found").map { $0["type"]?.string } == ["succession"])
        let next = try Succession(record: try #require(lines("found").first)).next
        try must("recv", ["--card", next.description, "-i", new], output: "card")
        #expect(lines("card").map { $0["type"]?.string } == ["contact"])

        // Mail to the old identity goes into its own inbox.
        let ids = world.envelopes("mail", 3)
        try must("send", [], input: "mail")
        #expect(world.run("recv", ["-i", new], output: "own") == 1)
        #expect(world.ids("own").isEmpty)
        #expect(
            world.errors.contains("3 messages to your former identity arrived"), "\(world.errors)")
        #expect(!world.errors.contains("state that is lost"), "\(world.errors)")
        // That recv published prekeys of the new identity too.
        try must("recv", ["--bundle", next.description, "-i", key], output: "bundle")
        try must("recv", ["--again", "-i", key], output: "again")
        #expect(world.ids("again") == ids)
    }

    /// Over HTTP too.
    @Test func aRevocationIsPublishedOverHTTP() throws {
        let url = "http://\(world.address)"
        try must("keygen", ["revoke", "-o", world.scratch("revocation"), world.scratch("bob.key")])
        #expect(
            world.run("send", [], input: "revocation", output: "sent", relay: url) == 0,
            "\(world.errors)")
        #expect(
            world.run(
                "recv", ["--card", world.bob.id.description], output: "found", relay: url) == 0)
        #expect(lines("found").map { $0["type"]?.string } == ["revocation"])
    }
}
