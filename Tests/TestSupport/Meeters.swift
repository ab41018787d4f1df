import Sotto

/// Alice and Bob, each with a home, who meet at a relay with `sotto meet`.
package struct Meeters: Sendable {
    package let alice: Home
    package let bob: Home

    package init() throws {
        alice = try Home(people: "alice")
        bob = try Home(people: "bob")
    }

    /// Begins a meeting of Alice at a relay. Returns it and the two forms of the code.
    package func begin(
        at relay: String, _ arguments: [String] = []
    ) throws -> (meeting: Pipeline, codes: [String]) {
        let meeting = try Pipeline([
            alice.command(
                "sotto", ["meet", "-i", "alice.key"] + arguments,
                environment: ["SOTTO_RELAY": relay])
        ])
        var codes: [String] = []
        try meeting.collectErrors { text in
            codes = text.split(separator: "\n").filter { $0.hasPrefix("  ") }.compactMap {
                $0.split(separator: " ").first.map(String.init)
            }
            return text.contains("Waiting")
        }
        return (meeting, codes)
    }

    /// Joins a meeting as Bob.
    package func join(
        _ code: String, at relay: String, _ arguments: [String] = []
    ) throws -> Run {
        try bob.run(
            "sotto", ["meet", "-i", "bob.key", code] + arguments,
            environment: ["SOTTO_RELAY": relay])
    }

    /// Returns the trust of a contact, or `nil`.
    package static func trust(_ name: String, _ home: Home, _ key: String) throws -> String? {
        let shown = try home.run("contact", ["show", "--json", name, "-i", key])
        guard shown.status == 0, let line = shown.lines.first else { return nil }
        return try JSON.object(parsing: Array(line.utf8))["trust"]?.string
    }

    /// Returns the trust of Bob at Alice, and of Alice at Bob.
    package func trusts() throws -> [String?] {
        [
            try Self.trust("bob", alice, "alice.key"), try Self.trust("alice", bob, "bob.key"),
        ]
    }
}
