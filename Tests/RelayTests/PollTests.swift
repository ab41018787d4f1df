import TestSupport
import Testing

/// The time between two polls of a relay over HTTP.
@Suite struct PollTests {
    let they: Correspondence

    init() throws { they = try Correspondence() }

    @Test func mailArrivesWithTheNextPoll() throws {
        try they.expect("alice", "contact add bob.card 2>/dev/null")
        try they.expect("bob", "contact add alice.card 2>/dev/null")
        // The second message is sent when the first one was printed, after the first poll.
        let line = """
            echo one | encrypt -q --to bob.card | send -q >/dev/null && \
            SOTTO_IDENTITY=bob.key SOTTO_HOME=state-bob \
            recv -q --follow --poll-every 1 --max 2 --relay http://\(they.relay.address) \
            | while read -r envelope; do printf '%s\\n' "$envelope"; \
            [ -e sent ] || { touch sent; echo two | encrypt -q --to bob.card | send -q >/dev/null; }; done
            """
        let run = they.shell("alice", line)
        #expect(run.status == 0 && run.lines.count == 2, "\(run.lines) \(they.errors)")
    }

    @Test func onlyHTTPIsPolled() throws {
        for (options, status) in [
            ("--poll-every 0", Int32(64)), ("--poll-every 86401", 64), ("--poll-every 5", 64),
            ("--poll-every 5 --relay http://\(they.relay.address)", 1),
        ] {
            let run = they.shell("alice", "recv -q \(options)")
            #expect(run.status == status, "\(options): \(they.errors)")
        }
    }
}
