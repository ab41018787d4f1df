import Sotto
import TestSupport
import Testing

/// Random actions of several people, whose mail arrives in any order and repeatedly, and whose changes are sometimes not
/// sent. At the end all have one state. The people who were members for the author of a message have read it, and no others but
/// invited people who had entered before, of which the author learned later. A message may be refused if its author was removed or
/// demoted about that time.
@Suite(.timeLimit(.minutes(60))) struct GroupSimulationTests {
    private static let names = ["alice", "bob", "carol", "dave", "erin"]

    @Test(arguments: [1, 2]) func allHonestMembersAgree(seed: UInt64) throws {
        var generator = SeededGenerator(state: seed)
        let circle = try Circle("alice", "bob", "carol", "dave", "erin")
        try circle.team("alice", "bob", "carol", "dave", "erin")
        try circle.group("alice", "role", "team", "bob", "admin")
        try circle.group("alice", "role", "team", "carol", "moderator")
        try circle.settle()
        let id = try #require(
            circle.must("alice", "group", ["list", "--json"]).records[0]["id"]?.string)
        /// For each text its author, the latest time of the message, and the members and the invited people for the author when it
        /// was written.
        var sent:
            [String: (
                step: Int, author: String, time: Timestamp, readers: Set<String>,
                invited: Set<String>
            )] = [:]
        /// For each person the steps at which they were removed or demoted.
        var cuts: [String: [Int]] = [:]
        /// For each person the earliest times of their entries.
        var entries: [String: [Timestamp]] = [:]
        for step in 0..<80 {
            let who = Self.names.randomElement(using: &generator)!
            switch Int.random(in: 0..<10, using: &generator) {
            case 0...4:
                let text = "\(step) of \(who)"
                let run = try circle[who].run(
                    "encrypt", ["--group", id, "--elsewhere"], stdin: Array(text.utf8))
                guard run.status == 0 else { break }
                sent[text] = (
                    step, who, .now(), try members(circle, who, id).subtracting([who]),
                    try members(circle, who, id, standing: "invited")
                )
                try circle.deliver(run, shuffledBy: &generator)
            case 5: try change(circle, who, ["rename", id, "name \(step)"], &generator)
            case 6:
                let other = Self.names.randomElement(using: &generator)!
                let rank = ["reader", "member", "moderator"].randomElement(using: &generator)!
                if rank == "reader" { cuts[other, default: []].append(step) }
                try change(
                    circle, who, ["role", id, circle[other].identity.id.description, rank],
                    &generator)
            case 7:
                let other = Self.names.dropFirst().randomElement(using: &generator)!
                guard other != who else { break }
                cuts[other, default: []].append(step)
                try change(
                    circle, who, ["remove", id, circle[other].identity.id.description], &generator)
            case 8:
                let other = Self.names.dropFirst().randomElement(using: &generator)!
                try change(circle, "alice", ["invite", id, other], &generator)
            default:
                let time = Timestamp.now()
                if try change(circle, who, ["accept", id], &generator) {
                    entries[who, default: []].append(time)
                }
            }
            if step % 3 == 0 {
                let someone = Self.names.randomElement(using: &generator)!
                try circle.post(someone, circle[someone].run("group", ["sync"]).stdout)
            }
            for reader in Self.names where Int.random(in: 0..<3, using: &generator) == 0 {
                try read(circle, reader, &generator)
            }
        }
        // The members tell the others what they lack.
        for _ in 0..<6 {
            for who in Self.names {
                try read(circle, who, &generator)
                let run = try circle[who].run("group", ["sync"])
                #expect(run.status == 0, "\(run.stderr)")
                try circle.post(who, run.stdout)
            }
            for who in Self.names { try read(circle, who, &generator) }
        }
        let present = try members(circle, "alice", id)
        let states = try present.map { ($0, try circle.state($0, id)) }
        #expect(Set(states.map(\.1)).count == 1, "\(states)")
        var arrived = 0
        for (text, message) in sent {
            let isCut = (cuts[message.author] ?? []).contains { abs($0 - message.step) < 25 }
            for name in Self.names where name != message.author {
                let has = try circle.history(name, id).contains(text)
                if !message.readers.contains(name) {
                    // An entry in the second of the message counts as before it.
                    let isOwed =
                        message.invited.contains(name)
                        && (entries[name] ?? []).contains { $0 <= message.time }
                    #expect(!has || isOwed, "\(name) reads \(text)")
                } else if !isCut, present.contains(name), present.contains(message.author) {
                    arrived += 1
                    #expect(has, "\(name) does not read \(text)")
                }
            }
        }
        #expect(arrived > 5, "only \(arrived) messages had to arrive")
    }

    /// Returns the members as one of them sees them, or the people with another standing.
    private func members(
        _ circle: Circle, _ who: String, _ id: String, standing: String? = nil
    ) throws -> Set<String> {
        let people = try circle.must(who, "group", ["participants", "--json", id]).records
        let ids = Set(
            people.filter { $0["standing"]?.string == standing }.compactMap { $0["id"]?.string })
        return Set(Self.names.filter { ids.contains(circle[$0].identity.id.description) })
    }

    /// Makes a change, which may be refused. Its records are sometimes lost. Returns whether it was made.
    @discardableResult
    private func change(
        _ circle: Circle, _ who: String, _ arguments: [String], _ generator: inout SeededGenerator
    ) throws -> Bool {
        let run = try circle[who].run("group", arguments)
        guard run.status == 0 else { return false }
        guard !run.stdout.isEmpty else { return true }
        // A removed person must be told, else they continue to write.
        let isCut = ["remove", "role"].contains(arguments[0])
        if !isCut, Int.random(in: 0..<4, using: &generator) == 0 { return true }
        let sealed = try circle[who].run(
            "encrypt", ["--jsonl", "--elsewhere"], stdin: run.stdout)
        try circle.deliver(sealed, shuffledBy: &generator)
        return true
    }

    private func read(
        _ circle: Circle, _ who: String, _ generator: inout SeededGenerator
    ) throws {
        let lines = circle.take(who)
        guard !lines.isEmpty else { return }
        // Some envelopes arrive again.
        let again = lines.filter { _ in Int.random(in: 0..<5, using: &generator) == 0 }
        let run = try circle.read(who, (lines + again).shuffled(using: &generator))
        #expect([0, 12, 13, 15].contains(run.status), "\(run.status): \(run.stderr)")
    }
}
