import Foundation
import Glibc
import Sotto
import TestSupport
import Testing

/// `history --follow`: what arrives is printed at once, whatever its place is.
@Suite(.timeLimit(.minutes(60))) struct HistoryFollowTests {
    /// Starts `history --follow` of a person. Its output goes to the file `shown`.
    private func follow(_ party: Party, _ arguments: [String]) -> ChildProcess {
        ChildProcess(
            "history", arguments + ["--follow"],
            environment: party.home.environment.merging(party.environment) { $1 },
            output: party.home.files("shown"), errors: party.home.files("errors"))
    }

    /// Returns the texts that were shown, when `text` is among them.
    private func texts(_ party: Party, with text: String) throws -> [String] {
        for _ in 0..<3_000 {
            // The last line may be incomplete.
            let shown = party.home.files.lines("shown").compactMap {
                (try? JSON.object(parsing: Array($0.utf8)))?.body["text"]?.string
            }
            if shown.contains(text) { return shown }
            usleep(10_000)
        }
        return []
    }

    /// A member shows earlier messages to a new one: they are printed although their places are before others, and no
    /// number changes.
    @Test func aGrantShowsAtOnce() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob", options: ["--visibility", "granted"])
        try circle.group("alice", "grant", "team", "bob")
        try circle.group("alice", "invite", "team", "carol")
        try circle.texts("carol")
        try circle.group("carol", "accept", "team")
        try circle.settle()
        try circle.group("alice", "sync")
        try circle.settle()
        try circle.say("alice", "before carol")
        _ = circle.take("bob")
        try circle.say("carol", "for all")
        _ = circle.take("alice")
        _ = circle.take("bob")
        let carol = circle["carol"]
        func numbers() throws -> [String: Int64?] {
            let pairs = try carol.history("team").map {
                ($0.body["text"]?.string ?? "", $0["number"]?.integer)
            }
            return Dictionary(pairs) { first, _ in first }
        }
        let before = try numbers()
        let follower = follow(carol, ["team"])
        defer {
            follower.kill(SIGTERM)
            follower.wait()
        }
        let page = try texts(carol, with: "for all")
        #expect(!page.isEmpty && !page.contains("before carol"))
        try circle.group("alice", "grant", "team", "carol")
        try circle.say("alice", "for carol too")
        try circle.texts("carol")
        let shown = try texts(carol, with: "for carol too")
        #expect(shown.filter { $0 == "before carol" }.count == 1)
        #expect(shown.filter { $0 == "for all" }.count == 1)
        #expect(try carol.history("team").first?.body["text"] == .string("before carol"))
        let after = try numbers()
        for (text, number) in before { #expect(after[text] == number, "\(text)") }
        #expect(try #require(after["before carol"] ?? 0) > #require(before["for all"] ?? 0))
        // A page before a message has what is before its place.
        let number = try #require(before["for all"] ?? 0)
        let earlier = try carol.history("team", "--before", "\(number)")
        #expect(earlier.contains { $0.body["text"] == .string("before carol") })
        // A reader gets it too.
        let read = try carol.run("history", ["--as", "bot", "--from-start", "team"]).records
        #expect(read.contains { $0.body["text"] == .string("before carol") })
    }

    /// With `--changes`, each change of a list by another program is told, and a message is no change.
    @Test func aFollowerTellsWhichListsChanged() throws {
        let they = try Conversing()
        let (alice, bob) = (they.alice, they.bob)
        try they.tell(bob, "first")
        let follower = follow(alice, ["--raw", "--changes"])
        defer {
            follower.kill(SIGTERM)
            follower.wait()
        }
        #expect(try texts(alice, with: "first") == ["first"])
        func records() throws -> [JSONObject] {
            they.home.files.lines("shown").compactMap { try? JSON.object(parsing: Array($0.utf8)) }
        }
        var count = 0
        for (tool, arguments, list) in [
            ("contact", ["rename", "bob", "robert"], "contacts"),
            ("contact", ["block", "robert"], "contacts"),
            ("history", ["mute", "robert"], "conversations"),
            ("group", ["create", "team"], "groups"),
            ("contact", ["unblock", "robert"], "contacts"),
        ] {
            #expect(try alice.run(tool, arguments).status == 0)
            var new: [JSONObject] = []
            for _ in 0..<3_000 where new.isEmpty {
                usleep(10_000)
                new = Array(
                    try records().filter { $0["type"] == .string("changes") }.dropFirst(count))
            }
            #expect(
                new.first?["lists"]?.array?.contains(.string(list)) == true, "\(arguments): \(new)")
            count += new.count
        }
        #expect(try alice.run("history", ["--changes", "--raw"]).status == 64)
        #expect(try alice.run("history", ["--changes", "--follow", "--text"]).status == 64)
    }

    /// The program waits for a change of the file and does not look several times a second.
    @Test func aFollowerWaitsForAChange() throws {
        let they = try Conversing()
        try they.tell(they.bob, "first")
        let follower = follow(they.alice, ["bob"])
        defer {
            follower.kill(SIGTERM)
            follower.wait()
        }
        #expect(try texts(they.alice, with: "first") == ["first"])
        let folder = "/proc/\(follower.process)/fd"
        let targets = try FileManager.default.contentsOfDirectory(atPath: folder).map { name in
            try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)")
        }
        #expect(targets.contains("anon_inode:inotify"))
        for text in ["second", "third"] {
            try they.tell(they.bob, text)
            #expect(try texts(they.alice, with: text).last == text)
        }
    }
}
