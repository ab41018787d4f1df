import Foundation
import Sotto
import SottoState
import TestSupport
import Testing

/// Alice at a shell with a default identity, people whom she may add, and a relay if a hint needs one.
final class HintWorld {
    let home: Home
    private var relay: HintRelay?

    init() throws {
        home = try Home(people: "alice", "bob", "carol")
        mkdir(home.files("bin"), 0o755)
        symlink(Programs.path("sotto"), home.files("bin/sotto"))
    }

    // MARK: People

    func environment(_ person: String) -> [String: String] {
        var environment = [
            "SOTTO_IDENTITY": home.files("\(person).key"),
            "SOTTO_HOME": home.files("state-\(person)"),
            // As after an installation, the short names are not on the path.
            "PATH": home.files("bin") + ":/usr/bin:/bin",
        ]
        environment["SOTTO_RELAY"] = relay?.url
        return environment
    }

    @discardableResult
    func run(
        _ person: String, _ tool: String, _ arguments: [String], text: String = ""
    ) throws -> Run {
        try home.run(
            tool, arguments, stdin: .whole(Array(text.utf8)), environment: environment(person))
    }

    /// Runs a program as alice.
    @discardableResult
    func run(_ tool: String, _ arguments: [String], text: String = "") throws -> Run {
        try run("alice", tool, arguments, text: text)
    }

    /// Runs a program as Alice. It must succeed; returns its output.
    @discardableResult
    func must(_ tool: String, _ arguments: [String], text: String = "") throws -> String {
        try must("alice", tool, arguments, text: text)
    }

    /// Runs a program that must succeed, and returns its output.
    @discardableResult
    func must(
        _ person: String, _ tool: String, _ arguments: [String], text: String = ""
    ) throws -> String {
        let run = try run(person, tool, arguments, text: text)
        guard run.status == 0 else { throw Unexpected(run) }
        return run.text
    }

    func identity(_ person: String) throws -> Identity {
        try Identity(record: JSON.object(parsing: home.files.read("\(person).key")))
    }

    func id(_ person: String) throws -> String { try identity(person).id.description }

    func store(_ person: String = "alice") throws -> IdentityStore {
        try IdentityStore(
            directory: StateDirectory(path: home.files("state-\(person)")),
            identity: identity(person), lockTimeout: 10)
    }

    func contact(_ name: String) throws -> JSONObject {
        try JSON.object(parsing: Array(must("contact", ["show", "--json", name]).utf8))
    }

    func safetyNumber(_ one: String, _ other: String) throws -> String {
        try must("fingerprint", ["--with", "\(one).card", "\(other).card"])
    }

    // MARK: Situations

    /// Starts a relay, which all programs use from now on.
    func startRelay() throws {
        relay = HintRelay()
        try #require(relay != nil)
    }

    /// The relay's URL.
    var relayURL: String? { relay?.url }

    /// Publishes people's cards and prekeys.
    func publish(_ people: String...) throws {
        for person in people {
            let card = try must("keygen", ["public", "\(person).key"])
            try must("send", ["-q"], text: card)
            try must(person, "send", ["-q"], text: must(person, "keygen", ["prekeys"]))
        }
    }

    func addBob() throws { try must("contact", ["add", "bob.card"]) }

    /// Creates another person named bob, `other.key` and `other.card`, and offers the key as a changed key.
    func offerOtherKey() throws {
        try addBob()
        try makeOther("bob")
        let run = try run("contact", ["add", "other.card"])
        #expect(run.status == 12)
    }

    func makeOther(_ name: String) throws {
        try must("keygen", ["-q", "--name", name, "-o", "other.key"])
        try home.files.write("other.card", Array(must("keygen", ["public", "other.key"]).utf8))
    }

    /// Returns a sealed message of a person to Alice.
    func message(_ person: String, _ text: String = "hello") throws -> String {
        try must(person, "encrypt", ["--to", "alice.card"], text: text)
    }

    /// Makes a message of a person, without a card, wait as a request.
    func wait(for person: String) throws {
        let message = try must(
            person, "encrypt", ["--stateless", "--to", "alice.card"], text: "hello")
        try must("decrypt", ["-q"], text: message)
    }

    // MARK: Pasting

    /// Runs a line in a shell as a person, with `sotto` in PATH, but not the other programs.
    func paste(_ line: String, as person: String = "alice", text: String = "") throws -> Run {
        var shell = home.other("/bin/bash", ["-o", "pipefail", "-c", line])
        shell.environment.merge(environment(person)) { $1 }
        return try shell.run(stdin: .whole(Array(text.utf8)))
    }
}

extension Run {
    /// All lines of stderr and stdout, without a terminal's carriage returns.
    var said: [String] {
        (stderr + "\n" + text).split(whereSeparator: \.isNewline).map(String.init)
    }
}
