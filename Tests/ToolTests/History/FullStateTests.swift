import Glibc
import Sotto
import SottoState
import TestSupport
import Testing

/// C16: the state on a full disk. The error names the disk, nothing is half done, and the same command works after space
/// is freed.
@Suite(
    .enabled(if: SmallDisk.canBeMounted, "a small disk cannot be mounted here"),
    .timeLimit(.minutes(60)))
struct FullStateTests {
    let they: Conversing
    let disk: SmallDisk
    var alice: Party { they.alice }
    var bob: Party { they.bob }

    init() throws {
        they = try Conversing()
        disk = try #require(SmallDisk())
        for (party, peer) in [(they.alice, they.bob), (they.bob, they.alice)] {
            try must(party, "contact", ["add", peer.card])
            try must(party, "contact", ["set", peer.name, "receipts=on"])
        }
        they.home.files.write("bundle", try must(bob, "keygen", ["prekeys", "--bundle"]).stdout)
        let first = try must(alice, "encrypt", ["--to", "bob", "--bundle", "bundle"], "first")
        try must(bob, "decrypt", [], first.text)
    }

    /// Runs a tool whose state is on the disk.
    func run(_ party: Party, _ tool: String, _ arguments: [String], _ text: String = "") throws
        -> Run
    {
        let state = ["SOTTO_HOME": disk.scratch(party.name)]
        return try they.home.run(
            tool, arguments, stdin: .whole(Array(text.utf8)),
            environment: party.environment.merging(state) { $1 })
    }

    @discardableResult
    func must(_ party: Party, _ tool: String, _ arguments: [String], _ text: String = "") throws
        -> Run
    {
        let run = try run(party, tool, arguments, text)
        guard run.status == 0 else { throw Unexpected(run) }
        return run
    }

    func history(_ party: Party) throws -> [JSONObject] {
        try must(party, "history", [they.peer(of: party).name, "--limit", "10000"]).records
    }

    func texts(_ party: Party) throws -> [String?] {
        try history(party).map { $0.body["text"]?.string }
    }

    /// Runs a tool on the full disk, which must fail without output. Then frees the space.
    func refused(
        _ party: Party, _ tool: String, _ arguments: [String], _ text: String = "",
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let filler = disk.fill()
        defer { unlink(filler) }
        let run = try run(party, tool, arguments, text)
        #expect(run.status == 74, "\(run.stderr)", sourceLocation: sourceLocation)
        #expect(run.stdout.isEmpty, sourceLocation: sourceLocation)
        #expect(
            run.stderr.contains("no space left on the disk of \(disk.scratch(party.name))"),
            "\(run.stderr)", sourceLocation: sourceLocation)
        #expect(run.stderr.contains("free some space"), sourceLocation: sourceLocation)
    }

    @Test func c16EncryptOnAFullDisk() throws {
        try refused(alice, "encrypt", ["--to", "bob"], "again")
        #expect(try texts(alice) == ["first"])
        let sealed = try must(alice, "encrypt", ["--to", "bob"], "again")
        try must(bob, "decrypt", [], sealed.text)
        for party in [alice, bob] { #expect(try texts(party) == ["first", "again"]) }
    }

    @Test func c16DecryptOnAFullDisk() throws {
        let sealed = try must(alice, "encrypt", ["--to", "bob"], "again")
        try refused(bob, "decrypt", ["--receipts", they.home.files("receipts")], sealed.text)
        #expect(try texts(bob) == ["first"])
        #expect((try? they.home.files.read("receipts"))?.isEmpty ?? true)
        let opened = try must(bob, "decrypt", [], sealed.text).records
        #expect(opened[0]["seen"] == nil && opened[0].body["text"] == .string("again"))
        #expect(try texts(bob) == ["first", "again"])
    }

    /// A pipe brings the mail only once: the hint has the command that reads it again.
    @Test func whatAPipeBroughtIsReadAgain() throws {
        let sealed = try must(alice, "encrypt", ["--to", "bob"], "again")
        let line = Array(sealed.lines[0].utf8)
        let id = try #require(JSON.object(parsing: line)["id"]?.string)
        let directory = try StateDirectory(path: disk.scratch("bob"))
        func store() throws -> IdentityStore {
            try IdentityStore(directory: directory, identity: bob.identity, lockTimeout: 20)
        }
        #expect(try store().receive([(id, line)], to: .print) == [.new])
        try store().markPrinted([id])
        let filler = disk.fill()
        let refused = try run(bob, "decrypt", [], sealed.text)
        unlink(filler)
        #expect(refused.status == 74, "\(refused.stderr)")
        #expect(
            refused.stderr.contains(
                "free some space; to decrypt what recv printed: sotto recv --again | sotto decrypt"),
            "\(refused.stderr)")
        try must(bob, "decrypt", [], must(bob, "recv", ["--again"]).text)
        #expect(try texts(bob) == ["first", "again"])
    }

    @Test func c16ReadingOnAFullDisk() throws {
        try refused(bob, "history", ["read", "alice"])
        #expect(try must(bob, "history", ["unread", "--text"]).text == "alice  1\n")
        #expect(try must(bob, "history", ["read", "-q", "alice"]).lines.count == 1)
        #expect(try run(bob, "history", ["unread", "--text"]).status == 1)
    }

    @Test func c16SendOnAFullDisk() throws {
        let sealed = try must(alice, "encrypt", ["--to", "bob"], "again")
        // Nothing listens there.
        let relay = ["--relay", "tcp://127.0.0.1:1"]
        try refused(alice, "send", relay, sealed.text)
        #expect(try run(alice, "send", ["--list"]).status == 1)
        #expect(try run(alice, "send", relay, sealed.text).status == 75)
        #expect(try must(alice, "send", ["--list", "--json"]).lines.count == 1)
    }

    /// Fills the disk but for some bytes. Returns the path of the file that does.
    func fill(leaving bytes: Int) -> String {
        let path = disk.fill()
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_size > bytes)
        #expect(truncate(path, status.st_size - bytes) == 0)
        return path
    }

    /// Runs a tool on 200 lines at a time until the disk is full. Returns all lines of its output.
    private func runUntilFull(
        _ party: Party, _ tool: String, _ arguments: [String], _ lines: [String]
    ) throws -> [String] {
        var output: [String] = []
        for start in stride(from: 0, to: lines.count, by: 200) {
            let part = lines[start...].prefix(200).joined(separator: "\n") + "\n"
            let run = try run(party, tool, arguments, part)
            output += run.lines
            if run.status != 0 {
                #expect(run.status == 74 && run.stderr.contains("no space left on the disk"))
                return output
            }
        }
        Issue.record("the disk did not become full")
        return output
    }

    /// The disk becomes full while many messages are encrypted and decrypted. What is printed is what is stored.
    @Test func c16TheDiskBecomesFullInTheMiddle() throws {
        let padding = String(repeating: "x", count: 400)
        let new = (0..<3_000).map { "\($0) \(padding)" }
        // The disk has space for the states of both with all of these messages, and for their logs.
        var filler = fill(leaving: 700_000)
        let sealed = try runUntilFull(alice, "encrypt", ["--to", "bob", "--jsonl"], new)
        unlink(filler)
        #expect(!sealed.isEmpty && sealed.count < new.count)
        #expect(try texts(alice) == ["first"] + new.prefix(sealed.count))
        let last = try must(alice, "encrypt", ["--to", "bob"], "goes on").text
        filler = fill(leaving: 300_000)
        let opened = try runUntilFull(bob, "decrypt", ["-q"], sealed)
        unlink(filler)
        #expect(opened.count < sealed.count)
        #expect(try texts(bob) == ["first"] + new.prefix(opened.count))
        let all = sealed.joined(separator: "\n") + "\n" + last
        let again = try must(bob, "decrypt", ["-q"], all).records
        #expect(again.count { $0["seen"] != nil } == opened.count)
        #expect(try texts(bob) == ["first"] + new.prefix(sealed.count) + ["goes on"])
        #expect(try texts(alice) == texts(bob))
    }
}
