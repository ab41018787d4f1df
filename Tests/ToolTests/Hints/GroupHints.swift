import Sotto
import TestSupport
import Testing

extension HintTests {
    /// Hints of groups.
    static let groupHints: [HintCase] = [
        HintCase(
            "list the commands: sotto group --help",
            situation: { world in try world.run("group", []) },
            result: { (_, run) throws in #expect(run.text.contains("group create")) }),
        HintCase(
            "create one: sotto group create --help",
            situation: { world in try world.run("group", ["list"]) },
            result: { (_, run) throws in #expect(run.text.contains("--preset")) }),
        HintCase(
            "list the groups: sotto group list",
            situation: { world in
                try world.must("group", ["create", "team"])
                return try world.run("group", ["show", "crew"])
            },
            result: { (_, run) throws in #expect(run.text.contains("team")) }),
        HintCase(
            "the group stays in the list; when the members know, delete it here: sotto group forget …",
            situation: { world in
                try world.must("group", ["create", "team"])
                return try world.run("group", ["leave", "team"])
            },
            result: { (world, _) throws in
                #expect(try world.run("group", ["list"]).status == 1)
            }),
        HintCase(
            "list the members: sotto group participants …",
            situation: { world in
                try world.must("group", ["create", "team"])
                return try world.run("group", ["remove", "team", "nobody"])
            },
            result: { (_, run) throws in #expect(run.text.contains("owner")) }),
        HintCase(
            "ask members, and decrypt the answer: sotto group sync … | sotto encrypt | sotto send",
            situation: { world in
                try world.restoreTeam()
                return try world.run("group", ["rename", "team", "crew"])
            },
            result: { (world, _) throws in try world.expectQuestion() }),
        HintCase(
            "history: to tell your contacts that sessions were lost: sotto contact repair | sotto encrypt | sotto send",
            situation: { world in try world.restoreTeam() },
            result: { (world, _) throws in
                let mail = try world.must("bob", "recv", [])
                #expect(try world.must("bob", "decrypt", [], text: mail).contains("repair"))
            }),
        HintCase(
            "history: note: the backup can lack changes of groups; …ask members: sotto group sync | sotto encrypt | sotto send",
            situation: { world in try world.restoreTeam() },
            result: { (world, _) throws in try world.expectQuestion() }),
        HintCase(
            "sotto group accept …… | sotto encrypt… | sotto send", as: "bob",
            situation: { world in
                try world.startRelay()
                try world.addBob()
                try world.must("bob", "contact", ["add", "alice.card"])
                let invitation = try world.must("group", ["create", "team", "bob"])
                let sealed = try world.must("encrypt", ["--jsonl"], text: invitation)
                return try world.run("bob", "decrypt", ["--text"], text: sealed)
            },
            result: { (world, _) throws in
                #expect(try world.must("bob", "group", ["list"]).contains("member"))
                let news = try world.must("decrypt", [], text: world.must("recv", []))
                #expect(news.contains(#""event":"joined""#))
            }),
        HintCase(
            "sotto group grant … …… | sotto encrypt… | sotto send",
            situation: { world in
                try world.startRelay()
                try world.addBob()
                try world.must("bob", "contact", ["add", "alice.card"])
                let invitation = try world.must(
                    "group", ["create", "--visibility", "granted", "team", "bob"])
                try world.must("bob", "decrypt", [], text: world.encrypt("alice", invitation))
                let join = try world.must("bob", "group", ["accept", "team"])
                return try world.run("decrypt", ["--text"], text: world.encrypt("bob", join))
            },
            result: { (world, _) throws in
                try world.must("bob", "decrypt", [], text: world.must("bob", "recv", []))
                let sent = try world.must("encrypt", ["--group", "team"], text: "hello")
                #expect(try world.must("bob", "decrypt", ["--text"], text: sent) == "hello\n")
            }),
        HintCase(
            "the invitation was not sent to …: sotto group sync … | sotto encrypt | sotto send",
            situation: { world in
                try world.startRelay()
                try world.addBob()
                try world.must("bob", "contact", ["add", "alice.card"])
                try world.must("group", ["create", "team", "bob"])
                return try world.run("group", ["show", "team"])
            },
            result: { (world, _) throws in
                let mail = try world.must("bob", "recv", [])
                let shown = try world.must("bob", "decrypt", ["--text"], text: mail)
                #expect(shown.contains("invited"))
            }),
        HintCase(
            "… not told to …: sotto group sync … | sotto encrypt | sotto send",
            situation: { world in
                try world.makeTeam()
                try world.must("group", ["about", "team", "lost in the pipe"])
                return try world.run("group", ["show", "team"])
            },
            result: { (world, _) throws in try world.expectDescription() }),
        HintCase(
            "to send the changes and invitations: sotto group sync | sotto encrypt | sotto send",
            situation: { world in
                try world.makeTeam()
                try world.must("group", ["about", "team", "lost in the pipe"])
                return try world.run("group", ["list", "--text"])
            },
            result: { (world, _) throws in try world.expectDescription() }),
        HintCase(
            "tell them first: sotto group sync … --send, or give --anyway", as: "bob",
            situation: { world in
                try world.makeTeam()
                try world.must("bob", "group", ["leave", "team"])
                return try world.run("bob", "group", ["forget", "team"])
            },
            result: { (world, _) throws in
                let news = try world.must("decrypt", [], text: world.must("recv", []))
                #expect(news.contains(#""event":"left""#))
                try world.must("bob", "group", ["forget", "team"])
            }),
    ]
}

extension HintWorld {
    /// Encrypts the records of a person.
    fileprivate func encrypt(_ person: String, _ records: String) throws -> String {
        try must(person, "encrypt", ["--jsonl"], text: records)
    }

    /// Alice and Bob have a group.
    fileprivate func makeTeam() throws {
        try startRelay()
        try addBob()
        try must("bob", "contact", ["add", "alice.card"])
        let invitation = try must("group", ["create", "team", "bob"])
        try must("bob", "decrypt", [], text: must("encrypt", ["--jsonl"], text: invitation))
        let join = try must("bob", "group", ["accept", "team"])
        try must("decrypt", [], text: must("bob", "encrypt", ["--jsonl"], text: join))
    }

    /// Bob has Alice's description of the group.
    fileprivate func expectDescription() throws {
        try must("bob", "decrypt", [], text: must("bob", "recv", []))
        #expect(try must("bob", "group", ["show", "team"]).contains("lost in the pipe"))
    }

    /// Alice and Bob have a group. Alice's state is lost, and comes back from a backup. Returns the run that imports it.
    @discardableResult
    fileprivate func restoreTeam() throws -> Run {
        try makeTeam()
        try must("history", ["export", "--backup", "-o", "state.age"])
        try must("history", ["wipe", "--yes", "--keep-identity"])
        return try run("history", ["import", "state.age"])
    }

    /// Bob has Alice's question for the heads of his log.
    fileprivate func expectQuestion() throws {
        try must("bob", "decrypt", [], text: must("bob", "recv", []))
        #expect(try must("bob", "group", ["sync"]).contains("headsAnswer"))
    }
}
