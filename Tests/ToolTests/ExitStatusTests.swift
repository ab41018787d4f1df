import Glibc
import Sotto
import SottoDatabase
import SottoState
import TestSupport
import Testing

/// One test for each row of the exit-status table that a tool can reach without a network. 69 is tested with the
/// relay's clients, and no known input causes 70.
struct ExitStatusTests {
    let home: Home
    init() throws { home = try Home(people: "alice", "bob") }

    func envelope(_ text: String = "x") throws -> [UInt8] {
        try home.output(
            "encrypt", ["--to", "bob.card", "-i", "alice.key"], stdin: Array(text.utf8))
    }

    func decrypt(_ input: [UInt8], _ more: String...) throws -> Run {
        try home.run("decrypt", ["-i", "bob.key"] + more, stdin: .whole(input))
    }

    @Test func done() throws {
        // Without it a note says how to answer a sender who is no contact.
        let run = try decrypt(try envelope(), "-q")
        #expect(run.status == 0 && run.stderr.isEmpty)
    }

    @Test func aNegativeResult() throws { #expect(try decrypt([]).status == 1) }

    @Test func noKeyMatches() throws {
        let run = try home.run("decrypt", ["-i", "alice.key"], stdin: .whole(try envelope()))
        #expect(run.status == 10)
    }

    @Test func authenticationFailed() throws {
        let file = try home.output("encrypt", ["-r", "bob.card"], stdin: [1, 2, 3])
        #expect(try decrypt(file.flipping(bit: (file.count - 1) * 8)).status == 11)
    }

    @Test func truncated() throws {
        let file = try home.output("encrypt", ["-r", "bob.card"], stdin: [1, 2, 3])
        let run = try decrypt(file.dropLast())
        #expect(run.status == 11)
    }

    @Test func notTheRequiredSigner() throws {
        #expect(try decrypt(try envelope(), "--from", "bob.card").status == 12)
    }

    @Test func aReplay() throws {
        let bob = try Identity(record: JSON.object(parsing: home.files.read("bob.key")))
        let id = Envelope.newID()
        for (text, status) in [("one", Int32(0)), ("two", 13)] {
            let envelope = try Sealed.seal(
                body: Message.textBody(text), from: bob, to: bob.card(), time: .now(), id: id)
            #expect(try decrypt(envelope.record.serialized()).status == status)
        }
    }

    @Test func aMismatch() throws {
        let run = try home.run(
            "fingerprint", ["--check", String(repeating: "1", count: 30), "bob.card"])
        #expect(run.status == 14)
    }

    @Test func someLinesFailed() throws {
        #expect(try decrypt(try envelope() + Array("{}\n".utf8)).status == 15)
    }

    @Test func usage() throws { #expect(try home.run("encrypt", [], text: "x").status == 64) }

    @Test func malformedInput() throws { #expect(try decrypt(Array("{}".utf8)).status == 65) }

    @Test func noSuchInput() throws { #expect(try home.run("pad", ["missing"]).status == 66) }

    @Test func cannotCreate() throws {
        #expect(try home.run("keygen", ["-o", "bob.key"]).status == 73)
        #expect(try home.run("pad", ["-o", "missing/file"], text: "x").status == 73)
    }

    @Test func inputOutputError() throws {
        #expect(try home.run("pad", ["-o", "/dev/full"], text: "x").status == 74)
        // Reading a process's memory at address 0 fails even for root.
        #expect(try home.run("pad", ["/proc/self/mem"]).status == 74)
    }

    @Test func anotherProcessHoldsTheState() throws {
        let line = try envelope()
        #expect(try decrypt(line).status == 0)
        let id = try #require(JSON.object(parsing: home.files.read("bob.card"))["id"]?.string)
        let database = try DurableDatabase(
            path: home.files("state/\(id).db"),
            migrations: [], lockTimeout: 1)
        let run = try database.transaction { _ throws(StateError) in
            Result { try decrypt(envelope("y"), "--lock-timeout", "0.2") }
        }.get()
        #expect(run.status == 75 && run.stdout.isEmpty, "\(run.stderr)")
        // Messages that were opened before can still be read.
        #expect(try decrypt(line).status == 0)
    }

    @Test func permissionDenied() throws {
        chmod(home.files("bob.key"), 0o644)
        #expect(try decrypt([123]).status == 77)
    }

    @Test func theStateIsAccessibleToOthers() throws {
        let line = try envelope()
        #expect(try decrypt(line).status == 0)
        chmod(home.files("state"), 0o755)
        let run = try decrypt(line)
        #expect(run.status == 77 && run.stdout.isEmpty && run.stderr.contains("chmod 700"))
    }

    @Test func aConfigurationError() throws {
        var command = home.command("keygen", ["public"])
        command.environment = ["PATH": "/usr/bin"]
        #expect(try command.run().status == 78)
    }
}
