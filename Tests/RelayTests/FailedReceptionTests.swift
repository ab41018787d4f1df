import SottoBytes
import TestSupport
import Testing

/// A pipe of `recv` and `decrypt` tells why nothing was received.
@Suite struct FailedReceptionTests {
    private func pipe(_ line: String) -> String { "bash -c 'set -o pipefail; \(line)'" }

    @Test func thePipeEndsWithTheStatusOfRecv() throws {
        let world = try Correspondence(["--invited"])
        try world.expect(
            "bob", "keygen new --protect --passphrase @ENV:GOOD -o locked.key 2> /dev/null")
        let decrypt = "decrypt -q --text"
        for (recv, status) in [
            ("recv -q --relay tcp://127.0.0.1:1", 69), ("recv -q --relay nonsense", 78),
            ("recv -q", 77), ("recv -q --again", 1),
            ("recv -q --stateless --relay tcp://127.0.0.1:1", 69),
            ("SOTTO_IDENTITY=locked.key recv -q", 78), ("recv -q -i absent.key", 66),
        ] {
            let before = world.errors.count
            #expect(world.shell("bob", pipe("\(recv) | \(decrypt)")).status == status, "\(recv)")
            let errors = String(world.errors.dropFirst(before))
            let whole = errors.split(separator: "\n").filter { $0.contains("error:") }
            // The second program does not repeat the error of the first one.
            #expect(whole.count == (status == 1 ? 0 : 1), "\(recv): \(errors)")
            #expect(!errors.contains("decrypt:"), "\(recv): \(errors)")
        }
        world.stop()
    }

    @Test func theErrorIsARecordInAPipeAndNotInAFile() throws {
        let world = try Correspondence()
        let recv = "recv -q --relay tcp://127.0.0.1:1"
        let (_, lines) = world.shell("bob", "\(recv) | cat")
        #expect(lines.count == 1)
        let record = try JSON.object(parsing: Array((lines.first ?? "").utf8))
        #expect(record["type"] == .string("error") && record["line"] == .integer(0))
        #expect(record["status"] == .integer(69))
        #expect(world.shell("bob", recv).status == 69)
        #expect(world.shell("bob", "\(recv) > file; cat file").lines.isEmpty)
        // An empty mailbox is no error.
        #expect(world.shell("bob", "recv -q | cat").lines.isEmpty)
        world.stop()
    }

    /// Envelopes after the record are opened: another `recv` wrote them.
    @Test func aFailureHidesNoEnvelope() throws {
        let world = try Correspondence()
        try world.expect("alice", "contact add -q --name bob bob.card")
        try world.expect("bob", "contact add -q --name alice alice.card")
        try world.expect("alice", "echo hello | encrypt -q --to bob | send -q > /dev/null")
        let both = "{ recv -q --relay tcp://127.0.0.1:1; recv -q; } | decrypt -q --text"
        let (status, lines) = world.shell("bob", both)
        #expect(status == 15 && lines == ["hello"], "\(world.errors)")
        // What was printed before the failure keeps the status of decrypt.
        world.stop()
        #expect(world.shell("bob", pipe("recv -q | decrypt -q")).status == 69)
    }
}
