import Foundation
import Sotto
import TestSupport
import Testing

/// Alice, who has the contact Bob, a message from him and a group with him and Carol, at a relay.
struct FrontWorld {
    let world: HintWorld

    init() throws {
        world = try HintWorld()
        try world.startRelay()
        try world.publish("alice", "bob", "carol")
        try world.addBob()
        try world.must("contact", ["set", "bob", "receipts=on"])
        try world.must("contact", ["add", "carol.card"])
        for person in ["bob", "carol"] { try world.must(person, "contact", ["add", "alice.card"]) }
        try must("sotto group create -q team bob carol | sotto encrypt -q | sotto send -q")
        for person in ["bob", "carol"] {
            try must(
                """
                sotto recv | sotto decrypt -q > /dev/null
                sotto group accept -q team | sotto encrypt -q | sotto send -q
                """, as: person)
        }
        try must("echo hello | sotto encrypt -q --to alice | sotto send -q", as: "bob")
        try must("sotto recv | sotto decrypt -q > /dev/null")
        try must("sotto group sync -q | sotto encrypt -q | sotto send -q")
        try must("echo 'hi bob' | sotto encrypt -q --to bob | sotto send -q")
        for person in ["bob", "carol"] {
            try must("sotto recv | sotto decrypt -q > /dev/null", as: person)
        }
        world.home.files.write("photo.txt", Array("sunset\n".utf8))
    }

    /// Runs a line of shell that must succeed. Returns what it prints.
    @discardableResult
    func must(_ line: String, as person: String = "alice", text: String = "") throws -> Run {
        let run = try world.paste(line, as: person, text: text)
        try #require(run.status == 0, "\(line): \(run.status) \(run.stderr)")
        return run
    }

    /// Runs one of the programs as Alice, with a terminal for its output and without one for its input.
    func onTerminal(_ tool: String, _ arguments: [String], text: String = "") throws -> Run {
        world.home.files.write("typed", Array(text.utf8))
        return try TerminalSession(
            world.home.command(tool, arguments, environment: world.environment("alice")),
            stdin: world.home.files("typed"), columns: 200
        ).finish()
    }

    /// Runs a program on a terminal, types `text` when it shows `prompt`, and returns all that it shows.
    func typing(
        _ text: String, at prompt: String, _ tool: String, _ arguments: [String]
    ) throws -> Run {
        let session = try TerminalSession(
            world.home.command(tool, arguments, environment: world.environment("alice")),
            columns: 200)
        try session.expect(prompt)
        try session.type(text)
        return try session.finish()
    }

    /// Keeps Alice's state, or puts the kept one in its place.
    func keepState() throws { try must("rm -rf kept && cp -a state-alice kept") }
    func restoreState() throws { try must("rm -rf state-alice && cp -a kept state-alice") }

    /// All messages of Alice, without what differs between two runs.
    func history() throws -> [String] {
        let run = try world.run("history", ["--raw", "--limit", "1000"])
        return Self.comparable(run.text)
    }

    /// The lines of an output without ids, times and other random parts.
    static func comparable(_ text: String) -> [String] {
        let uuid = #/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/#
        let time = #/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]+Z/#
        // Keys and digests; the id of a person, of 66 digits, stays.
        let random = #/"[A-Za-z0-9+/=_-]{40,}"/#
        // The beginnings of the ids of groups.
        let short = #/id [0-9a-f]{16}|continues [0-9a-f]{16}|\([0-9a-f]{8}\)/#
        return text.split(separator: "\n").map { line in
            String(line).replacing(uuid, with: "ID").replacing(time, with: "TIME")
                .replacing(short, with: "SHORT")
                .replacing(random) { match in
                    let isPerson = match.output.count == 68 && match.output.hasPrefix("\"05")
                    return isPerson ? String(match.output) : "RANDOM"
                }
        }
    }

    /// A relay that does not run.
    static let noRelay = ["SOTTO_RELAY": "tcp://127.0.0.1:1"]
}
