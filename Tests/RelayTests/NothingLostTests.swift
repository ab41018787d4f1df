import Glibc
import Sotto
import SottoState
import TestSupport
import Testing

/// Mail that `recv` printed but `decrypt` did not finish is kept, whatever failed between them.
struct NothingLostTests {
    let world: Correspondence
    let texts = ["sealed 1", "sealed 2", "session 1", "session 2"]

    init() throws {
        world = try Correspondence()
        try world.expect("bob", "keygen prekeys --bundle > bundle")
    }

    /// Sends messages of both suites.
    private func send() throws {
        try world.expect(
            "alice",
            """
            printf 'sealed 1\\nsealed 2\\n' | encrypt --to bob.card --jsonl --suite sealed | send > sent && \
            printf 'session 1\\nsession 2\\n' | encrypt --to bob.card --jsonl --bundle bundle | send > sent
            """)
    }

    private func expectAgain(_ what: String) throws {
        let again = try world.expect("bob", "recv --again | decrypt")
        #expect(Correspondence.texts(again) == texts, "\(what)")
        #expect(world.shell("bob", "recv --again").status == 1)
        let nothing = world.shell("bob", "recv")
        #expect(nothing.status == 1 && nothing.lines.isEmpty)
    }

    /// A revocation holds for ever, so that the message is refused once and does not wait.
    @Test func aMessageOfARevokedSenderIsRefusedForGood() throws {
        try world.expect("alice", "keygen revoke -o revocation alice.key")
        _ = world.shell("bob", "contact add revocation")
        _ = world.shell("bob", "recv -q | decrypt -q")
        try world.expect("alice", "echo late | encrypt -q --to bob.card | send -q")
        #expect(world.shell("bob", "recv -q | decrypt").status == 12)
        #expect(world.errors.contains("revoked"), "\(world.errors)")
        #expect(world.shell("bob", "recv --again").status == 1)
    }

    @Test(
        arguments: [
            ("recv | decrypt -i alice.key", 10), ("recv | decrypt -o /nonexistent/x", 73),
            ("recv | decrypt > /dev/full", 74), ("recv | decrypt --text > /dev/full", 74),
            ("recv | decrypt -o /dev/full", 74), ("recv | decrypt --from carol.card", 12),
            ("recv | decrypt --trust verified", 12), ("recv | decrypt -i missing.key", 66),
            (
                "encrypt --passphrase @ENV:GOOD -a bob.key > locked && chmod 600 locked && "
                    + "recv | decrypt -i locked --identity-passphrase @ENV:WRONG", 10
            ),
            ("recv > /dev/null", 0), ("recv | true", 0), ("recv > cut", 0),
            ("recv | decrypt --preview > cut", 0),
        ] as [(String, Int32)])
    func aFailedReaderLosesNothing(_ line: String, _ status: Int32) throws {
        defer { world.stop() }
        try send()
        #expect(world.shell("bob", line).status == status, "\(line): \(world.errors)")
        if line == "recv | true" {
            // A closed pipe ended recv; mail that it could not write is not marked as printed.
            _ = world.shell("bob", "recv > rest")
        }
        try expectAgain(line)
    }

    @Test func aKilledReaderLosesNothing() throws {
        defer { world.stop() }
        try send()
        try world.expect("bob", "recv > printed-once")
        var generator = SeededGenerator(state: 11)
        var lifetime = 20_000.0
        for _ in 0..<40 {
            let command = world.command(
                "bob", "decrypt", [world.scratch("printed-once")], output: "cut")
            usleep(UInt32(Double.random(in: 0..<lifetime, using: &generator)))
            command.kill(SIGKILL)
            lifetime *= command.wait() == -SIGKILL ? 1.05 : 0.9
            // Whatever its progress was, its messages were printed or are printed again.
            let (status, lines) = world.shell("bob", "recv --again | decrypt --preview")
            let said = Correspondence.texts(world.scratch.lines("cut") + lines)
            #expect(Set(said) == Set(texts), "\(world.errors)")
            if status == 1 { break }
        }
        _ = world.shell("bob", "recv --again | decrypt")
        #expect(world.shell("bob", "recv --again").status == 1)
    }

    @Test func decryptedMailIsNotPrintedAgain() throws {
        defer { world.stop() }
        try send()
        #expect(try Correspondence.texts(world.expect("bob", "recv | decrypt")) == texts)
        #expect(world.shell("bob", "recv --again").status == 1)
        try send()
        try world.expect("bob", "recv | decrypt -o out")
        #expect(Correspondence.texts(world.scratch.lines("out")) == texts)
        #expect(world.shell("bob", "recv --again").status == 1)
    }

    @Test func junkLosesNoOtherMail() throws {
        defer { world.stop() }
        try send()
        let junk = Sample.record(to: world.bob.id, text: "AAAA").serialized() + [0x0A]
        world.scratch.write("junk", junk)
        try world.expect("alice", "send < junk > sent")
        #expect(world.shell("bob", "recv | decrypt -o out").status == 15)
        #expect(Correspondence.texts(world.scratch.lines("out")) == texts)
        #expect(world.scratch.lines("out").count == texts.count + 1)
        #expect(world.shell("bob", "recv --again").status == 1)
    }

    @Test func aCommandThatFailsAfterDecryptIsTriedAgain() throws {
        defer { world.stop() }
        try send()
        let failed = world.shell("bob", "recv --exec 'decrypt --text -q >> log; exit 1'")
        #expect(failed.status == 75)
        #expect(world.scratch.lines("log") == texts)
        try world.expect("bob", "recv --exec 'decrypt --text -q >> again'")
        #expect(world.scratch.lines("again") == texts)
        #expect(world.shell("bob", "recv --exec 'cat >> never'").status == 1)
        #expect(world.shell("bob", "recv --again").status == 1)
    }

    @Test(arguments: [false, true])
    func handledDeadLettersAreDeletedAtTheRelay(_ byCommand: Bool) throws {
        defer { world.stop() }
        try send()
        for _ in 0..<5 { #expect(world.shell("bob", "recv --exec false").status == 75) }
        #expect(world.shell("bob", "recv --exec 'cat >> never'").status == 1)
        #expect(world.errors.contains("recv --dead"))
        if byCommand {
            // A dead letter that fails again stays.
            let failing = "recv --dead --exec 'decrypt -q > /dev/null; exit 1'"
            #expect(world.shell("bob", failing).status == 75)
            try world.expect("bob", "recv --dead --exec 'decrypt --text -q >> log'")
            #expect(world.scratch.lines("log") == texts)
        } else {
            #expect(world.shell("bob", "recv --dead | decrypt -o /nonexistent/x").status == 73)
            let again = try world.expect("bob", "recv --again | decrypt")
            #expect(Correspondence.texts(again) == texts)
        }
        #expect(world.shell("bob", "recv --dead").status == 1)
        #expect(world.shell("bob", "recv --again").status == 1)
        // The relay no longer has them for another machine.
        try world.expect("bob", "rm -r state-bob")
        #expect(world.shell("bob", "recv").status == 1)
        #expect(world.shell("bob", "recv --dead").status == 1)
    }

    @Test func statelessDecryptDoesNotFinishMail() throws {
        defer { world.stop() }
        try send()
        let alone = world.shell("bob", "recv | decrypt --stateless")
        #expect(alone.status == 15)
        #expect(Correspondence.texts(alone.lines) == ["sealed 1", "sealed 2"])
        try expectAgain("--stateless")
    }
}
