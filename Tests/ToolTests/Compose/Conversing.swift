import Sotto
import TestSupport
import Testing

/// Alice and Bob, who are contacts and write with `compose`.
struct Conversing: Sendable {
    let two: Couple
    var alice: Party { two.alice }
    var bob: Party { two.bob }
    var home: Home { two.home }

    init() throws {
        two = try Couple()
        for (one, other) in [(two.alice, two.bob), (two.bob, two.alice)] {
            #expect(try one.run("contact", ["add", other.card]).status == 0)
        }
    }

    func peer(of party: Party) -> Party { party.name == "alice" ? bob : alice }

    /// Writes records with `compose`, encrypts them, and opens them on the other side. Returns the opened messages.
    @discardableResult
    func say(
        _ party: Party, _ arguments: [String], text: String = "", reading: [String] = []
    ) throws -> [JSONObject] {
        let composed = try party.compose(arguments, text: text)
        let sealed = try party.run("encrypt", stdin: composed.stdout)
        guard sealed.status == 0 else { throw Unexpected(sealed) }
        let opened = try peer(of: party).run("decrypt", reading, stdin: sealed.stdout)
        guard opened.status == 0 else { throw Unexpected(opened) }
        return try opened.records
    }

    /// Sends a text. Returns the id of its envelope.
    @discardableResult
    func tell(_ party: Party, _ text: String) throws -> String {
        let opened = try say(party, ["text", peer(of: party).name], text: text + "\n")
        return try #require(opened.first?["id"]?.string)
    }

    /// A short conversation with a reply, an edit, a reaction, a deletion and a pin. Returns the ids that Bob sees.
    @discardableResult
    func talk() throws -> [String] {
        let first = try tell(alice, "Wie geht’s?")
        try say(bob, ["reply", first, "--with", "alice"], text: "gut, danke")
        let third = try tell(alice, "teh end")
        try say(alice, ["edit", third], text: "the end")
        try say(bob, ["react", third, "👍"])
        let fourth = try tell(alice, "a mistake")
        try say(alice, ["delete", fourth])
        try say(bob, ["pin", first])
        return try bob.history("alice").compactMap { $0["id"]?.string }
    }

    /// Returns the conversation as both sides see it. The sides must agree on all that is not about one side.
    func view(sourceLocation: SourceLocation = #_sourceLocation) throws -> [JSONObject] {
        let sides = try [alice, bob].map { party in
            let run = try party.run("history", [peer(of: party).name])
            guard run.status == 0 else { throw Unexpected(run) }
            return try run.records
        }
        let common = [
            "id", "from", "to", "time", "suite", "body", "edited", "reactions", "pinned", "deleted",
        ]
        func shared(_ record: JSONObject) -> [JSON?] {
            // A tombstone keeps no id.
            common.map { name in
                guard name == "edited", var edited = record[name]?.object else {
                    return record[name]
                }
                edited["time"] = nil
                return .object(edited)
            }
        }
        #expect(sides[0].map(shared) == sides[1].map(shared), sourceLocation: sourceLocation)
        return sides[0]
    }
}

extension Party {
    /// Runs `compose`, which must succeed.
    func compose(_ arguments: [String], text: String = "") throws -> Run {
        let run = try run("compose", arguments, stdin: Array(text.utf8))
        guard run.status == 0 else { throw Unexpected(run) }
        return run
    }

    /// Returns the records of `history` with these arguments, without changes of groups.
    func history(_ arguments: String...) throws -> [JSONObject] {
        let run = try run("history", arguments)
        guard [0, 1].contains(run.status) else { throw Unexpected(run) }
        return try run.records.filter { $0["type"]?.string != "change" }
    }
}

extension Run {
    /// The lines of the output as records.
    var records: [JSONObject] {
        get throws { try lines.map { try JSON.object(parsing: Array($0.utf8)) } }
    }
}

extension JSONObject {
    /// The body of a message record.
    var body: JSONObject { self["body"]?.object ?? [:] }
}
