import Sotto
import SottoDatabase
import SottoState
import TestSupport
import Testing

/// A person with a separate installation: an identity in the home, and a state that no other party uses.
struct Party: Sendable {
    let home: Home
    let name: String
    let identity: Identity
    /// The clock of the programs, or `nil` for the machine's.
    var clock: MovedClock?

    init(_ name: String, in home: Home) throws {
        try home.makePerson(name)
        self.home = home
        self.name = name
        identity = try Identity(record: JSON.object(parsing: home.files.read("\(name).key")))
    }

    /// Creates a party whose files exist.
    init(name: String, identity: Identity, home: Home) {
        self.home = home
        self.name = name
        self.identity = identity
    }

    var card: String { "\(name).card" }
    var stateDirectory: String { "state-\(name)" }
    var database: String { "\(stateDirectory)/\(identity.id).db" }
    var environment: [String: String] {
        [
            "SOTTO_HOME": home.files(stateDirectory),
            "SOTTO_IDENTITY": home.files("\(name).key"),
        ].merging(clock?.environment ?? [:]) { $1 }
    }

    func command(_ tool: String, _ arguments: [String]) -> Command {
        home.command(tool, arguments, environment: environment)
    }

    @discardableResult
    func run(_ tool: String, _ arguments: [String] = [], stdin: [UInt8] = []) throws -> Run {
        try command(tool, arguments).run(stdin: .whole(stdin))
    }

    /// Makes the state old, so that it is no new one.
    func ageState() throws {
        try state { connection throws(StateError) in
            try connection.run("UPDATE number SET value = 1 WHERE name = 'made'")
        }
    }

    /// The reason for which the state is a new one, or `nil`.
    func causeOfNewState() throws -> NewState.Cause? {
        try store().preview { try $0.newState()?.cause }
    }

    // MARK: Shell

    /// Returns a line of shell in the folder of the home, with the programs by their names and a relay.
    func command(line: String, at relay: RelayProcess) -> Command {
        let environment = home.environment.merging(self.environment) { $1 }.merging([
            "PATH": Programs.path("").dropLast() + ":/usr/bin:/bin",
            "SOTTO_RELAY": "tcp://\(relay.address)", "LC_ALL": "C.UTF-8",
        ]) { $1 }
        return Command(
            path: Peer.bash.path, ["-o", "pipefail", "-c", line], environment: environment,
            directory: home.files.path)
    }

    /// Runs a line of shell with a text on its standard input.
    func run(line: String, at relay: RelayProcess, _ text: String = "") throws -> Run {
        try command(line: line, at: relay).run(stdin: .whole(Array(text.utf8)))
    }

    /// Runs a line of shell, which must succeed.
    @discardableResult
    func shell(_ line: String, at relay: RelayProcess, _ text: String = "") throws -> Run {
        let run = try run(line: line, at: relay, text)
        guard run.status == 0 else { throw Unexpected(run) }
        return run
    }

    // MARK: Messages

    /// Encrypts one message with `encrypt --to`.
    func encrypt(_ text: String, to peer: Party, _ more: String...) throws -> Run {
        try run("encrypt", ["--to", peer.card] + more, stdin: Array(text.utf8))
    }

    /// Returns the envelopes of messages, all of which must be encrypted.
    func write(_ texts: [String], to peer: Party, _ more: String...) throws -> [String] {
        let run = try run(
            "encrypt", ["--to", peer.card, "--jsonl"] + more, stdin: lines(texts))
        guard run.status == 0, run.lines.count == texts.count else {
            throw Unexpected(run)
        }
        return run.lines
    }

    /// Runs `decrypt` on envelopes.
    func read(_ envelopes: [String], _ more: String...) throws -> Run {
        try run("decrypt", more, stdin: lines(envelopes))
    }

    /// Returns the texts of envelopes, all of which must open.
    func texts(_ envelopes: [String]) throws -> [String] {
        let run = try read(envelopes)
        guard run.status == 0 else { throw Unexpected(run) }
        return try run.messages.map(\.text)
    }

    /// Stores envelopes in the inbox like `recv` after printing them.
    func receive(_ envelopes: [String]) throws {
        let store = try IdentityStore(
            directory: StateDirectory(path: home.files(stateDirectory)), identity: identity,
            lockTimeout: 20)
        let items = try envelopes.map { line in
            let record = try JSON.object(parsing: Array(line.utf8))
            return (id: try #require(record["id"]?.string), envelope: Array(line.utf8))
        }
        _ = try store.receive(items, to: .print)
        try store.markPrinted(items.map(\.id))
    }

    /// Returns the envelopes that are still in the inbox.
    func unread() throws -> [String] { try run("recv", ["--again"]).lines }

    // MARK: Prekeys

    /// Writes a bundle of this person to a file.
    func bundle(_ change: (inout JSONObject) throws -> Void = { _ in }) throws -> String {
        let run = try run("keygen", ["prekeys", "--bundle"])
        guard run.status == 0 else { throw Unexpected(run) }
        var record = try JSON.object(parsing: run.stdout)
        try change(&record)
        let name = "bundle-\(name)-\(Envelope.newID())"
        home.files.write(name, record.serialized())
        return name
    }

    // MARK: The state

    /// A row of the table of sessions.
    struct Row: Equatable {
        let number: Int64
        let sealed: [UInt8]
    }

    /// Returns the sessions as stored in the file.
    func sessions() throws -> [Row] {
        try state { connection throws(StateError) in
            try connection.rows(
                "SELECT number, sealed FROM session ORDER BY number"
            ) { Row(number: $0.integer(0), sealed: $0.bytes(1)) }
        }
    }

    /// Accesses the database file directly.
    func state<T>(_ body: (StateConnection) throws(StateError) -> T) throws -> T {
        let store = try DurableDatabase(
            path: home.files(database),
            migrations: [], lockTimeout: 20)
        let value = try store.use(body)
        try store.close()
        return value
    }
}

/// Alice and Bob, each with a separate installation.
struct Couple {
    let home: Home
    let alice: Party
    let bob: Party

    init() throws {
        home = Home()
        alice = try Party("alice", in: home)
        bob = try Party("bob", in: home)
    }

    /// Alice begins a session and Bob answers: from then on messages contain no prekey data.
    func begin() throws {
        try begin(alice.write(["first"], to: bob, "--bundle", bob.bundle()))
    }

    /// The same with X3DH, as for another messenger.
    func beginClassical() throws {
        let bundle = try bob.bundle { $0["pqSignedPreKey"] = nil }
        try begin(alice.write(["first"], to: bob, "--classic", "--bundle", bundle))
    }

    private func begin(_ first: [String]) throws {
        #expect(try bob.texts(first) == ["first"])
        #expect(try alice.texts(bob.write(["answer"], to: alice)) == ["answer"])
    }
}

/// The failure of a program that must succeed.
struct Unexpected: Error, CustomStringConvertible {
    let description: String

    init(_ run: Run) { description = "exit \(run.status): \(run.stderr)" }
}

/// A message that `decrypt` printed.
struct Printed: Hashable {
    let id: String
    let text: String
    let isSeen: Bool
}

extension Run {
    /// The messages in the output, without a truncated last line.
    var messages: [Printed] {
        get throws {
            let end = stdout.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
            return try stdout[..<end].split(separator: UInt8(ascii: "\n")).compactMap { line in
                let record = try JSON.object(parsing: Array(line))
                guard record["type"]?.string == "message",
                    let text = record["body"]?.object?["text"]?.string
                else { return nil }
                return Printed(
                    id: record["id"]?.string ?? "", text: text,
                    isSeen: record["seen"] == .bool(true))
            }
        }
    }

    /// The complete lines.
    var wholeLines: [String] { stdout.last == UInt8(ascii: "\n") ? lines : lines.dropLast() }
}

func lines(_ lines: [String]) -> [UInt8] { Array(lines.map { $0 + "\n" }.joined().utf8) }

/// Returns an envelope that was changed in transit.
func changing(_ line: String, _ change: (inout JSONObject) throws -> Void) throws -> String {
    var record = try JSON.object(parsing: Array(line.utf8))
    try change(&record)
    return String(decoding: record.serialized(), as: UTF8.self)
}

/// Returns an envelope whose payload was changed in transit.
func changing(payload line: String, _ change: (inout JSONObject) throws -> Void) throws -> String {
    try changing(line) { record in
        var payload = try #require(record["payload"]?.object)
        try change(&payload)
        record["payload"] = .object(payload)
    }
}

func payload(_ line: String) throws -> JSONObject {
    try #require(JSON.object(parsing: Array(line.utf8))["payload"]?.object)
}

func suite(_ line: String) throws -> String? {
    try JSON.object(parsing: Array(line.utf8))["suite"]?.string
}

/// Returns a text that identifies the message key of an envelope.
func messageKey(_ line: String) throws -> String {
    let payload = try payload(line)
    let key = try #require(payload["ratchetPublicKey"]?.string)
    return "\(key) \(try #require(payload["chainLength"]?.integer))"
}
