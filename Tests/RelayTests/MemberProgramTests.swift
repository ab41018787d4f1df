import Glibc
import Sotto
import SottoBytes
import SottoState
import SottoWire
import TestSupport
import Testing

@testable import SottoServer

/// A relay for members, and its directory, through the built programs.
@Suite struct MemberProgramTests {
    @Test(arguments: ["tcp", "ws", "http"])
    func fromACodeToAMessage(_ scheme: String) throws {
        let world = try Correspondence(["--invited"])
        let relay = "--relay \(scheme)://\(world.relay.address)"
        #expect(world.shell("bob", "recv \(relay)").status == 77)
        // The command that joins names the relay: another one would be the default.
        #expect(
            world.errors.contains(
                ": sotto recv --relay '\(scheme)://\(world.relay.address)' --invitation @FILE:code\n"
            ),
            "\(world.errors)")
        try world.expect("bob", "relay invite --store \(world.storePath) > code")
        #expect(world.shell("bob", "recv \(relay) --invitation @FILE:code").status == 0)
        // The relay has the card and the prekeys of the new member.
        #expect(world.errors.contains("has your card and prekeys"), "\(world.errors)")
        try world.expect("alice", "recv \(relay) --card \(world.bob.id)")
        #expect(world.shell("bob", "recv \(relay)").status == 1)
        #expect(world.shell("carol", "recv \(relay) --invitation @FILE:code").status == 77)
        #expect(world.errors.contains("was used before"))
        #expect(world.shell("carol", "echo a b c > bad; recv --invitation @FILE:bad").status == 65)
        // Bob's send address gets mail too, and Alice needs no membership to write to it.
        try world.expect("bob", "contact add --name alice alice.card")
        try world.expect("bob", "contact address alice > for-alice.card")
        try world.expect("alice", "contact add --name bob for-alice.card")
        try world.expect("alice", "recv \(relay) --bundle bob > /dev/null")
        try world.expect(
            "alice", "echo hello | encrypt --to bob --suite ratchet | send \(relay)")
        let got = try world.expect("bob", "recv \(relay) | decrypt")
        #expect(Correspondence.texts(got) == ["hello"])
        #expect(world.shell("alice", "keygen prekeys | send \(relay)").status != 0)
        try world.expect("alice", "relay admit --quiet --store \(world.storePath) alice.card")
        try world.expect("alice", "keygen prekeys | send \(relay)")
        world.stop()
    }

    /// Prekeys are made once for the relay, also by an identity that had some before, and before mail is received.
    @Test func aNewMemberPublishesOnce() throws {
        let world = try Correspondence(["--invited"])
        try world.expect("bob", "keygen prekeys > earlier")
        try world.expect("bob", "relay invite --store \(world.storePath) > code")
        let following = world.command(
            "bob", "/bin/sh",
            ["-c", "cd \"$CARDS\" && exec recv --follow --invitation @FILE:code"],
            output: "followed")
        var tries = 0
        while tries < 1_000, !world.errors.contains("has your card and prekeys") {
            world.shell("alice", "recv --card \(world.bob.id)")
            tries += 1
        }
        try world.expect("alice", "recv --card \(world.bob.id)")
        following.kill(SIGTERM)
        following.wait()
        let published = try world.published()
        #expect(published.oneTime == StateTransaction.batch, "\(world.errors)")
        let lines = try world.expect("bob", "cat earlier")
        let earlier = try JSON.object(parsing: Array(lines[0].utf8))
        let last = earlier["oneTimePreKeys"]?.array?.last?.object?["id"]?.integer
        #expect(last.map { $0 + Int64(StateTransaction.batch) } == Int64(published.oneTimeMark))
        // Further runs make no more.
        #expect(world.shell("bob", "recv").status == 1)
        #expect(try world.published() == published)
        world.stop()
    }

    /// `sotto init` redeems a code. Without one it says how to do it later.
    @Test func initRedeemsAnInvitation() throws {
        let world = try Correspondence(["--invited"])
        func start(_ name: String, _ options: String) -> Int32 {
            world.shell(
                "bob",
                "SOTTO_IDENTITY=\(name).key sotto init --name \(name) --no-passphrase \(options) < /dev/null"
            ).status
        }
        func isPublished(_ name: String) throws -> Bool {
            let lines = try world.expect("bob", "keygen public \(name).key")
            let card = try Card(record: JSON.object(parsing: Array(lines[0].utf8)))
            return world.shell("alice", "recv --card \(card.id)").status == 0
        }
        try world.expect("bob", "relay invite --store \(world.storePath) > code")
        #expect(start("new", "--invitation @FILE:code") == 0, "\(world.errors)")
        #expect(try isPublished("new"))
        // Without a terminal nothing is asked for, and the command that becomes a member is the only next one.
        let next = "sotto recv --relay 'tcp://\(world.relay.address)' --invitation @FILE:code    # "
        try world.expect("bob", "echo a b c > bad")
        for (name, options, status) in [
            ("late", "", 77), ("typo", "--invitation @FILE:bad", 65),
            ("used", "--invitation @FILE:code", 77),
        ] as [(String, String, Int32)] {
            let relay = "--relay tcp://\(world.relay.address)"
            let before = world.errors
            let run = world.shell(
                "bob",
                "SOTTO_IDENTITY=\(name).key sotto init --no-passphrase \(relay) \(options) < /dev/null"
            )
            #expect(run.status == status, "\(name): \(world.errors)")
            // The errors before it name no other command.
            let said = world.errors.dropFirst(before.count)
            #expect(!said.contains("--invitation"), "\(name): \(said)")
            #expect(run.lines.count == 1 && run.lines[0].hasPrefix(next), "\(run.lines)")
            #expect(try !isPublished(name))
        }
        // The card alone gets the same advice.
        #expect(world.shell("bob", "keygen public late.key | send").status == 15)
        #expect(
            world.errors.contains(
                "hint: with a code from its operator, in a file: sotto recv --relay 'tcp://\(world.relay.address)' --invitation @FILE:code\n"
            ), "\(world.errors)")
        try world.expect("bob", "relay invite --store \(world.storePath) > code")
        try world.expect("bob", "sotto recv -i late.key --invitation @FILE:code")
        #expect(try isPublished("late"))
        #expect(start("none", "--invitation @FILE:missing") != 0)
        world.stop()
    }

    @Test func theOperatorSeesMembersAndInvitations() throws {
        let world = try Correspondence(["--invited"])
        let store = "--store \(world.storePath)"
        #expect(world.shell("alice", "relay members \(store)").status == 1)
        try world.expect("bob", "relay invite \(store) --label Bob > code")
        #expect(world.errors.contains("sotto init --relay URL"))
        let said = world.errors
        try world.expect("bob", "relay invite -q \(store) --label Carol > other")
        #expect(world.errors == said)
        try world.expect("bob", "recv --invitation @FILE:code")
        let members = try world.expect("alice", "relay members --text \(store)")
        #expect(members.count == 1 && members[0].hasPrefix(world.bob.id.description))
        #expect(members[0].contains("  Bob"), "\(members)")
        for (list, heading) in [
            ("members", #/ID +LAST LOGIN +LABEL +INVITED BY/#),
            ("invitations", #/TAG +STATE +EXPIRES +LABEL +MADE BY/#),
        ] {
            let shown = try TerminalSession(
                Command(
                    path: Programs.path("relay"), [list, "--store", world.storePath],
                    environment: ["PATH": "/usr/bin:/bin"], directory: "/"),
                columns: 200
            ).finish()
            #expect(try heading.wholeMatch(in: shown.lines[0]) != nil, "\(shown.text)")
        }
        let invitations = try world.expect("alice", "relay invitations \(store)").map {
            try JSON.object(parsing: Array($0.utf8))
        }
        #expect(
            Set(invitations.map { "\($0["state"]?.string ?? "") \($0["label"]?.string ?? "")" })
                == ["used Bob", "open Carol"])
        for bad in ["--label ''", "--label a --count 2"] {
            #expect(world.shell("alice", "relay invite \(store) \(bad)").status == 64)
        }
        world.stop()
    }

    @Test func aListIsReadAgainOnSIGHUP() throws {
        let list = TemporaryDirectory()
        let path = list.write("members", Array("# empty\n".utf8))
        let world = try Correspondence(["--members", path])
        #expect(world.shell("bob", "recv").status == 77)
        try world.expect(
            "bob",
            "cat bob.card >> \(path); echo >> \(path); keygen public --uri carol.key >> \(path)")
        world.relay.command.kill(SIGHUP)
        // A relay that has read the list answers with an empty mailbox.
        var tries = 0
        while tries < 1_000, world.shell("bob", "recv").status == 77 { tries += 1 }
        #expect(world.shell("bob", "recv").status == 1)
        #expect(world.shell("carol", "recv").status == 1)
        #expect(world.shell("alice", "recv").status == 77)
        world.stop()
    }

    /// The directory finds a card by the id of an account. Only the account's own key puts a card under an id that is a key.
    @Test(arguments: ["tcp", "ws", "http"])
    func aCardIsFoundByTheIDOfAnAccount(_ scheme: String) throws {
        let world = try Correspondence()
        let relay = "--relay \(scheme)://\(world.relay.address)"
        try world.expect("bob", "chmod 600 *.key; bridge set -q --rsa 2048 bob.key")
        let account = try #require(
            world.expect("bob", "bridge account mercurio -i bob.key").first)
        #expect(world.shell("alice", "recv \(relay) --card-of \(account)").status == 1)
        try world.expect("bob", "bridge card mercurio -i bob.key > found; send -q < found")
        // Carol claims the account: with Bob's own proof, and on a card that says nothing else.
        let object = try #require(
            try JSON.object(parsing: world.scratch.read("found"))["profiles"]?.object)
        for claim in [object, ["mercurio": .object(["mercurio_id": .string(account)])]] {
            let carol = try Identity(
                record: JSON.object(parsing: world.scratch.read("carol.key")))
            let card = carol.card(accounts: claim, issued: .now())
            world.scratch.write("false.card", try #require(card.record).serialized() + [0x0A])
            try world.expect("carol", "send -q < false.card")
        }
        let found = try world.expect("alice", "recv \(relay) --card-of ' \(account.uppercased())'")
        #expect(found == world.scratch.lines("found"))
        try world.expect(
            "alice",
            "recv \(relay) --card-of \(account) | contact add --account \(account) --name bob")
        #expect(
            try world.expect("alice", "contact list").contains {
                $0.contains(world.bob.id.description)
            })
        // A hostile directory answers with the false card.
        #expect(
            world.shell(
                "alice", "cat false.card found > all; contact add --account \(account) < false.card"
            ).status == 12)
        #expect(world.errors.contains("no card has this account"), "\(world.errors)")
        #expect(
            world.shell("alice", "contact add --account \(account) < all").status == 0,
            "\(world.errors)")
        #expect(world.shell("alice", "recv --card-of '\t'").status == 64)
        world.stop()
    }

    @Test func aCardIsPublishedAndLookedUp() throws {
        let world = try Correspondence()
        let id = world.bob.id.description
        #expect(world.shell("alice", "recv --card \(id)").status == 1)
        try world.expect("bob", "keygen public --relay tcp://\(world.relay.address) > new.card")
        #expect(
            try world.expect("bob", "send < new.card")[0].contains("\"status\":\"stored\""))
        #expect(try world.expect("alice", "recv --card \(id)") == world.scratch.lines("new.card"))
        try world.expect("alice", "recv --card \(id) | contact add --name bob")
        try world.expect("alice", "echo to the card | encrypt --to bob | send")
        #expect(
            Correspondence.texts(try world.expect("bob", "recv | decrypt")) == ["to the card"])
        // A card for a single contact is not published.
        try world.expect("bob", "contact add --name alice alice.card")
        #expect(world.shell("bob", "contact address alice | send").status == 65)
        world.stop()
    }

    @Test func anRSALoginKeyLogsIn() throws {
        let world = try Correspondence()
        try world.expect("bob", "bridge login-key --bits 2048 --unprotected -o private.pem")
        try world.expect("bob", "bridge login-key --record private.pem | send")
        try world.expect("alice", "echo one | encrypt --to bob.card --stateless | send")
        let got = try world.expect(
            "bob", "recv --login-key private.pem --of bob.card | decrypt --stateless")
        #expect(Correspondence.texts(got) == ["one"])
        #expect(
            world.shell(
                "bob", "recv --login-key private.pem --of \(world.bob.id)"
            ).status == 1)
        #expect(
            world.shell("bob", "recv --login-key private.pem --of alice.card").status == 77)
        try world.expect("bob", "bridge login-key --revoke | send")
        #expect(world.shell("bob", "recv --login-key private.pem --of bob.card").status == 77)
        world.stop()
    }

    @Test(arguments: ["tcp", "http"]) func sendSolvesThePuzzleOfASurge(_ scheme: String) throws {
        let running = try RunningRelay { ($0.surge, $0.surgeBits) = (1, 8) }
        let people = (0..<5).map { _ in Sample.identity() }
        let world = World(address: running.relay.address)
        let records = people.flatMap { person -> [UInt8] in
            let card = person.card(issued: .now())
            return (card.record?.serialized() ?? []) + [0x0A]
                + Sample.preKeys(of: person, oneTime: 1..<3).record.serialized() + [0x0A]
        }
        world.scratch.write("records", records)
        world.scratch.write("nothing", [])
        let relay = "\(scheme)://\(world.address)"
        var status = world.run("send", input: "records", output: "results", relay: relay)
        let statuses = world.statuses("results")
        #expect(status == 75 && Set(statuses) == ["stored", "deferred"] && statuses.count == 10)
        // A run solves two puzzles for each connection. The next runs send what the relay deferred.
        for _ in 0..<10 where status == 75 {
            status = world.run("send", input: "nothing", relay: relay)
        }
        #expect(status == 0)
        #expect(world.run("send", ["--list"]) == 1)
        let cards = people.map { world.run("recv", ["--card", $0.id.description], relay: relay) }
        #expect(cards == [0, 0, 0, 0, 0])
    }
}
