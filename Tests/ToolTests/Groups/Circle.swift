import Foundation
import Sotto
import TestSupport
import Testing

/// People who know the first one of them, and the mail between them. Each keeps what arrived in order.
final class Circle {
    let home = Home()
    private(set) var people: [String: Party] = [:]
    private var mail: [KeyID: [String]] = [:]

    /// Creates people. The first one and each other one are contacts of each other.
    convenience init(_ names: String...) throws { try self.init(names) }

    /// Creates people like ``init(_:)`` whose programs use a clock.
    convenience init(_ names: String..., clock: MovedClock) throws {
        try self.init(names)
        use(clock)
    }

    /// Creates people like ``init(_:)``.
    init(_ names: [String]) throws {
        for name in names { people[name] = try Party(name, in: home) }
        for name in names.dropFirst() {
            try must(names[0], "contact", ["add", self[name].card])
            try must(name, "contact", ["add", self[names[0]].card])
        }
    }

    subscript(_ name: String) -> Party { people[name]! }

    /// Gives the programs of all people a clock.
    func use(_ clock: MovedClock) {
        for name in people.keys { people[name]?.clock = clock }
    }

    /// Encrypts a text or records for `send`. Returns the envelopes.
    func encrypt(_ who: String, _ input: String, _ arguments: [String]) throws -> [String] {
        let run = try self[who].run("encrypt", arguments, stdin: Array(input.utf8))
        guard run.status == 0 else { throw Unexpected(run) }
        return run.lines
    }

    /// Runs a tool that must succeed. Returns its output. A message to or about a group does not go to `send`.
    @discardableResult
    func must(
        _ who: String, _ tool: String, _ arguments: [String], _ text: String = ""
    ) throws -> Run {
        let isHandedOn =
            tool == "encrypt" && (arguments.contains("--group") || arguments == ["--jsonl"])
        let run = try self[who].run(
            tool, arguments + (isHandedOn ? ["--elsewhere"] : []), stdin: Array(text.utf8))
        guard run.status == 0 else { throw Unexpected(run) }
        return run
    }

    /// Encrypts records and posts the envelopes.
    func post(_ who: String, _ records: [UInt8]) throws {
        guard !records.isEmpty else { return }
        let sealed = try self[who].run("encrypt", ["--jsonl", "--elsewhere"], stdin: records)
        guard sealed.status == 0 else { throw Unexpected(sealed) }
        try deliver(sealed)
    }

    /// Puts envelopes into the mailboxes that they name, and shuffles these mailboxes.
    func deliver(_ sealed: Run, shuffledBy generator: inout some RandomNumberGenerator) throws {
        for line in sealed.lines where line.contains(#""type":"envelope""#) {
            let envelope = try JSON.object(parsing: Array(line.utf8))
            let to = try Fields<FieldError>(envelope)["to"].keyID()
            mail[to, default: []].append(line)
            mail[to]?.shuffle(using: &generator)
        }
    }

    /// Puts envelopes into the mailboxes that they name.
    func deliver(_ sealed: Run) throws {
        for line in sealed.lines { try deliver(line: line) }
    }

    /// Puts an envelope into the mailbox that it names.
    func deliver(line: String) throws {
        let envelope = try JSON.object(parsing: Array(line.utf8))
        mail[try Fields<FieldError>(envelope)["to"].keyID(), default: []].append(line)
    }

    /// Runs `group` on a terminal, with its records in a file, and types an answer to a question.
    func answer(
        _ answer: String, to question: String, _ who: String, _ arguments: String...
    ) throws -> Run {
        let session = try TerminalSession(
            home.command("group", arguments, environment: self[who].environment),
            stdout: home.files("records"))
        try session.expect(question)
        try session.type(answer)
        return try session.finish()
    }

    /// Runs `group`, which must succeed, and posts its records.
    @discardableResult
    func group(_ who: String, _ arguments: String...) throws -> Run {
        let run = try must(who, "group", arguments)
        try post(who, run.stdout)
        return run
    }

    /// Invites a person, who enters the group at once.
    func invite(_ who: String, by inviter: String) throws {
        try group(inviter, "invite", "team", who)
        try texts(who)
        try group(who, "accept", "team")
    }

    /// Writes a text to a group.
    func say(_ who: String, _ text: String, to group: String = "team") throws {
        try deliver(must(who, "encrypt", ["--group", group], text))
    }

    /// Writes a message with `compose`.
    func compose(_ who: String, _ arguments: [String], _ text: String = "") throws {
        try post(who, must(who, "compose", arguments, text).stdout)
    }

    /// Takes the mail of a person.
    func take(_ who: String) -> [String] {
        defer { mail[self[who].identity.id] = nil }
        return mail[self[who].identity.id] ?? []
    }

    /// Opens the mail of a person, or these lines.
    @discardableResult
    func read(
        _ who: String, _ lines: [String]? = nil, _ arguments: [String] = []
    ) throws -> Run {
        let lines = (lines ?? take(who)).map { $0 + "\n" }
        return try self[who].run("decrypt", arguments, stdin: Array(lines.joined().utf8))
    }

    /// Opens the mail of a person, all of it with success. Returns the texts.
    @discardableResult
    func texts(_ who: String) throws -> [String] {
        let lines = take(who)
        guard !lines.isEmpty else { return [] }
        let run = try read(who, lines)
        guard run.status == 0 else { throw Unexpected(run) }
        return try run.records.compactMap { $0.body["text"]?.string }
    }

    /// Opens all mail, until no mailbox has any.
    func settle() throws {
        while let who = people.keys.sorted().first(where: { mail[self[$0].identity.id] != nil }) {
            try texts(who)
        }
    }

    /// Creates a group with its first member, all others of whom join.
    func team(_ names: String..., options: [String] = []) throws {
        try team(names, options: options)
    }

    /// Creates a group like ``team(_:options:)``.
    func team(_ names: [String], options: [String] = []) throws {
        let made = try must(
            names[0], "group", ["create"] + options + ["team"] + Array(names.dropFirst()))
        try post(names[0], made.stdout)
        for name in names.dropFirst() {
            try texts(name)
            try group(name, "accept", "team")
        }
        try settle()
        try group(names[0], "sync")
        try settle()
    }

    /// Alice gives Carol the rank to write to their group with Bob, who does not learn of it. Returns the mail that he lacks.
    static func withWithheldRank() throws -> (circle: Circle, withheld: [String]) {
        let circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob", "carol")
        try circle.group("alice", "policy", "team", "post=moderator")
        try circle.settle()
        try circle.group("alice", "role", "team", "carol", "moderator")
        let withheld = circle.take("bob")
        try circle.settle()
        return (circle, withheld)
    }

    /// The id of the only group of a person.
    func onlyGroup(_ who: String) throws -> String {
        try must(who, "group", ["list", "--json"]).records[0]["id"]?.string ?? ""
    }

    /// The texts of a group in the history of a person.
    func history(_ who: String, _ group: String = "team") throws -> [String] {
        try self[who].history(group).compactMap { $0.body["text"]?.string }
    }

    /// The place of the last message of a person to a group.
    func place(ofLastBy who: String, _ group: String = "team") throws -> JSONObject? {
        let own = try self[who].history(group).last { $0["direction"]?.string == "sent" }
        return own?["details"]?.object?["place"]?.object
    }

    /// Takes the mail of a person without the envelopes of a suite.
    func take(_ who: String, without suite: String) -> [String] {
        take(who).filter { !$0.contains("\"suite\":\"\(suite)\"") }
    }

    /// The digest of a group's state at a person.
    func state(_ who: String, _ group: String = "team") throws -> String {
        try must(who, "group", ["show", group]).records[0]["state"]?.string ?? ""
    }
}
