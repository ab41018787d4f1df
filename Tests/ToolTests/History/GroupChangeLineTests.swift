import Foundation
import Sotto
import TestSupport
import Testing

/// Who did what in a group stands in its pages and exports.
struct GroupChangeLineTests {
    private let circle: Circle

    init() throws {
        circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob", "carol")
        try circle.say("bob", "hello")
        try circle.settle()
        for command in [
            ["policy", "team", "post=moderator"], ["role", "team", "bob", "moderator"],
            ["about", "team", "on fridays"], ["rename", "team", "crew"],
        ] {
            try circle.post("alice", circle.must("alice", "group", command).stdout)
            try circle.settle()
        }
        try circle.group("carol", "leave", "crew")
        try circle.settle()
        try circle.group("alice", "remove", "crew", "bob")
        try circle.settle()
    }

    private static let shown = [
        "alice": [
            "you named the group team", "bob joined the group", "carol joined the group",
            "you changed the rules: post=moderator", "you gave bob the rank moderator",
            "you changed the description", "you named the group crew", "carol left the group",
            "you removed bob",
        ],
        "bob": [
            "you joined the group", "alice changed the rules: post=moderator",
            "alice gave you the rank moderator", "alice changed the description",
            "alice named the group crew", "carol left the group", "alice removed you",
        ],
        "carol": ["you joined the group", "alice named the group crew", "you left the group"],
    ]

    @Test(arguments: ["alice", "bob", "carol"])
    func changesStandInPagesAndExports(_ who: String) throws {
        func output(_ arguments: [String]) throws -> String {
            try circle.must(who, "history", arguments).text
        }
        let text = try output(["export", "--format", "text"])
        let page = try output(["crew", "--text"])
        let html = try output(["export", "--format", "html"])
        for line in try #require(Self.shown[who]) {
            #expect(text.contains("  [\(line)]\n"), "\(line): \(text)")
            #expect(page.contains("  [\(line)]\n"), "\(line): \(page)")
            #expect(html.contains(" <bdi>[\(line)]</bdi></p>"), "\(line)")
        }
        // Each of them stands there once, and none of them is a message.
        for line in text.split(separator: "\n") where line.contains("named the group crew") {
            let change = String(line.drop { $0 != "[" })
            #expect(text.components(separatedBy: change).count == 2, "\(text)")
        }
        #expect(try circle.history(who, "crew") == ["hello"])
        #expect(try circle[who].history("crew").count == 1)
        #expect(html.components(separatedBy: "<article").count == 2)
    }

    /// The page of records has the same changes, each as one record with its author.
    @Test(arguments: ["alice", "bob", "carol"])
    func changesStandInRecords(_ who: String) throws {
        let records = try circle.must(who, "history", ["crew", "--json"]).records
        let changes = records.filter { $0["type"]?.string == "change" }
        let page = try circle.must(who, "history", ["crew", "--text"]).text
        let lines = page.split(separator: "\n").filter {
            $0.contains("  [") && $0.hasSuffix("]") && !$0.contains("hello")
        }
        #expect(changes.count == lines.count, "\(page)")
        let events = changes.flatMap { $0.body["events"]?.array ?? [] }.compactMap(\.object)
        #expect(events.count == changes.count)
        for change in changes {
            let isOwn = change["number"] == nil
            let event = change.body["events"]?.array?.first?.object ?? [:]
            let author = event["by"]?.string ?? event["who"]?.string
            #expect(isOwn == (author == "\(circle[who].identity.id)"), "\(change)")
        }
        // A page with the first message has all of them, also if its limit is reached.
        let newest = try circle.must(who, "history", ["crew", "--json", "--limit", "1"]).records
        #expect(newest == records)
    }

    /// The pages after one another have all changes, those between two pages too.
    @Test func pagesForwardHaveAllChanges() throws {
        try circle.say("alice", "alone", to: "crew")
        try circle.must("alice", "group", ["rename", "crew", "climbers"])
        try circle.say("alice", "at last", to: "climbers")
        let all = try circle.must("alice", "history", ["climbers", "--json"]).records
        var (paged, last) = ([JSONObject](), "0")
        while true {
            let run = try circle["alice"].run(
                "history", ["climbers", "--json", "--after", last, "--limit", "1"])
            guard run.status == 0 else { break }
            paged += try run.records
            last =
                try run.records.last { $0["type"]?.string == "message" }?["number"]?.integer
                .map(String.init) ?? last
        }
        #expect(paged == all)
    }

    /// A deleted message of another member keeps its author, and a group without a message has a page with its changes.
    @Test func deletedMessagesHaveTheirAuthors() throws {
        let bob = "\(circle["bob"].identity.id)"
        // Bob is a contact of Alice, and not of Carol.
        for (who, name) in [("alice", "bob"), ("carol", nil)] as [(String, String?)] {
            let number = try #require(circle[who].history("crew")[0]["number"]?.integer)
            try circle.must(who, "history", ["delete", "\(number)"])
            let page = try circle.must(who, "history", ["crew", "--json"]).records
            let deleted = page.filter { $0["deleted"] != nil }
            #expect(deleted.map { $0["from"]?.string } == [bob])
            #expect(deleted.map { $0["name"]?.string } == [name])
        }
        try circle.must("alice", "group", ["create", "empty", "carol"])
        let empty = try circle.must("alice", "history", ["empty", "--json"]).records
        #expect(empty.map { $0["type"]?.string } == ["change"])
    }

    /// A page without messages, and the other selections, have no changes.
    @Test func onlyAPageOfMessagesHasTheChanges() throws {
        let number = try #require(circle["bob"].history("crew")[0]["number"]?.integer)
        let before = try circle["bob"].run("history", ["crew", "--text", "--before", "\(number)"])
        #expect(before.status == 1 && before.stdout.isEmpty, "\(before.text)")
        for options in [["--pinned"], ["--unread"], ["--json"], ["--raw"]] {
            let run = try circle["bob"].run("history", ["crew"] + options)
            #expect(!run.text.contains("[alice removed you]"), "\(options)")
        }
    }

    /// The lines have the present name of the group.
    @Test func decryptSaysWhoDidIt() throws {
        let said = try circle["bob"].run("decrypt", ["--again", "--text"]).text
        for line in [
            "[crew: alice changed the rules: post=moderator]",
            "[crew: alice gave you the rank moderator]", "[crew: alice changed the description]",
            "[crew: alice named the group crew]", "[crew: alice removed you]",
        ] {
            #expect(said.contains(line), "\(line): \(said)")
        }
    }
}
