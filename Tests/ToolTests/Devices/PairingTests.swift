import Sotto
import TestSupport
import Testing

/// A second machine becomes a device, between two homes and a relay.
@Suite(.timeLimit(.minutes(60))) struct PairingTests {
    /// The homes of Alice's machines, and a relay.
    final class Machines {
        let first = Home()
        let second = Home()
        let relay: RelayProcess

        init() throws {
            relay = try #require(RelayProcess(first.files))
            for home in [first, second] {
                home.files.write("pass", Array("a long passphrase".utf8))
            }
            try make("alice", in: first)
        }

        deinit { relay.end() }

        var address: String { "tcp://\(relay.address)" }

        func make(_ name: String, in home: Home) throws {
            home.files.write("pass", Array("a long passphrase".utf8))
            _ = try home.output(
                "keygen",
                [
                    "--name", name, "-o", "\(name).key", "--relay", address, "--protect",
                    "--passphrase", "@FILE:pass", "-q",
                ])
        }

        /// The options of an identity.
        func identity(_ name: String) -> [String] {
            ["-i", "\(name).key", "--identity-passphrase", "@FILE:pass"]
        }

        func requestCommand(_ more: [String] = [], in home: Home? = nil) -> Command {
            (home ?? second).command(
                "sotto",
                [
                    "device", "request", "--name", "laptop", "-o", "laptop.key", "--passphrase",
                    "@FILE:pass", "--relay", address, "--send",
                ] + more)
        }

        func addCommand(
            _ code: String, as name: String = "alice", in home: Home? = nil, _ more: [String] = []
        ) -> Command {
            (home ?? first).command(
                "sotto", ["device", "add", code] + identity(name) + more + ["--send"],
                environment: ["SOTTO_RELAY": address])
        }

        /// Begins a request. Returns it and the code.
        func request(in home: Home? = nil) throws -> (request: Pipeline, code: String) {
            let request = try Pipeline([requestCommand(in: home)])
            var code = ""
            try request.collectErrors { text in
                code =
                    text.split(separator: "\n").first { $0.hasPrefix("  ") }?
                    .split(separator: " ").first.map(String.init) ?? ""
                return text.contains("Waiting")
            }
            return (request, code)
        }

        func devices(_ home: Home, _ name: String) throws -> [JSONObject] {
            try home.run("device", ["list", "--json"] + identity(name)).lines.map {
                try JSON.object(parsing: Array($0.utf8))
            }
        }

        /// Fetches and opens the mail. Returns the bodies.
        func read(_ home: Home, _ name: String) throws -> [JSONObject] {
            let pipe = try Pipeline([
                home.command("recv", ["-q"] + identity(name)),
                home.command("decrypt", ["-q"] + identity(name)),
            ])
            let runs = try pipe.finish()
            return try #require(runs.last).lines.compactMap {
                try JSON.object(parsing: Array($0.utf8))["body"]?.object
            }
        }

        /// Pairs both machines with a spoken code.
        func pair(_ home: Home? = nil) throws {
            let (request, code) = try self.request(in: home)
            let added = try addCommand(code).run()
            try #require(added.status == 0, "\(added.stderr)")
            let made = try #require(try request.finish().first)
            try #require(made.status == 0, "\(made.stderr)")
        }

        /// Makes Bob in a home of his own. He and Alice are contacts.
        func bob() throws -> Home {
            let home = Home()
            try make("bob", in: home)
            for (from, name, to, other) in [
                (first, "alice", home, "bob"), (home, "bob", first, "alice"),
            ] {
                let card = try from.output("keygen", ["public"] + identity(name))
                to.files.write("\(name).card", card)
                _ = try to.output("contact", ["add", "\(name).card"] + identity(other))
            }
            return home
        }

        /// Does the same, and Alice has written to him.
        func greetedBob() throws -> Home {
            let home = try bob()
            let envelope = try first.output(
                "encrypt", ["--to", "bob"] + identity("alice"), stdin: Array("hello".utf8))
            _ = try first.output("send", ["-q"], stdin: envelope)
            #expect(try read(home, "bob").map { $0["text"]?.string } == ["hello"])
            return home
        }
    }

    @Test func aSpokenCodePairsTwoMachines() throws {
        let machines = try Machines()
        try machines.make("bob", in: machines.first)
        machines.first.files.write(
            "bob.card",
            try machines.first.output("keygen", ["public"] + machines.identity("bob")))
        _ = try machines.first.output(
            "contact", ["add", "bob.card"] + machines.identity("alice"))
        let (request, code) = try machines.request()
        #expect(code.contains(#/^[1-9][0-9]{2}-[a-z]+-[a-z]+-[a-z]+$/#))
        let added = try machines.addCommand(code).run()
        #expect(added.status == 0, "\(added.stderr)")
        #expect(added.stderr.contains("laptop is a device of yours, new"), "\(added.stderr)")
        let made = try #require(try request.finish().first)
        #expect(made.status == 0, "\(made.stderr)")
        #expect(made.stderr.contains("a device of alice"), "\(made.stderr)")
        for (home, name) in [(machines.first, "alice"), (machines.second, "laptop")] {
            let devices = try machines.devices(home, name)
            #expect(devices.map { $0["name"]?.string } == [nil, "laptop"])
            #expect(devices.map { $0["state"]?.string } == [nil, "new"])
            let here = devices.map { $0["here"] != nil }
            #expect(here == [name == "alice", name == "laptop"])
        }
        let early = try machines.second.run(
            "encrypt", ["--to", "bob"] + machines.identity("laptop"), text: "early")
        #expect(early.status == 66 && early.stderr.contains("sotto read"), "\(early.stderr)")
        // The new machine is the same person, and gets the names of the contacts.
        let ids = try [(machines.first, "alice"), (machines.second, "laptop")].map { home, name in
            try machines.devices(home, name).first?["id"]?.string
        }
        #expect(ids[0] == ids[1] && ids[0] != nil)
        let bodies = try machines.read(machines.second, "laptop")
        #expect(bodies.contains { $0["type"]?.string == "welcome" && $0["added"]?.integer == 1 })
        let contacts = try machines.second.run(
            "contact", ["list", "--json"] + machines.identity("laptop"))
        #expect(contacts.text.contains("\"bob\""), "\(contacts.stderr)")
        // Contacts can begin sessions with it at once.
        let device = try #require(
            try machines.devices(machines.first, "alice").last?["id"]?.string)
        let bundle = try machines.first.run(
            "recv", ["-q", "--bundle", device] + machines.identity("alice"))
        #expect(bundle.status == 0 && bundle.text.contains("oneTimePreKey"), "\(bundle.stderr)")
        // A code is good once.
        let again = try machines.addCommand(code).run()
        #expect([1, 14].contains(again.status), "\(again.stderr)")
        #expect(try machines.devices(machines.first, "alice").count == 2)
    }

    /// The log of a group with several lists of devices is long, and comes as a file.
    @Test func eachFullDeviceGetsTheGroups() throws {
        let machines = try Machines()
        let bob = try machines.greetedBob()
        let (alice, third) = (machines.first, Home())
        third.files.write("pass", Array("a long passphrase".utf8))
        func send(_ home: Home, _ name: String, _ arguments: [String]) throws {
            let run = try home.run("sotto", arguments + machines.identity(name) + ["--send"])
            try #require(run.status == 0, "\(arguments): \(run.stderr)")
        }
        try send(alice, "alice", ["group", "create", "ours", "bob"])
        try send(bob, "bob", ["group", "create", "theirs", "alice"])
        for (home, name, group) in [(bob, "bob", "ours"), (alice, "alice", "theirs")] {
            _ = try machines.read(home, name)
            try send(home, name, ["group", "accept", group])
        }
        for (home, name) in [(alice, "alice"), (bob, "bob")] { _ = try machines.read(home, name) }
        for (home, name) in [(machines.second, "laptop"), (third, "laptop-2")] {
            try machines.pair(home)
            _ = try machines.read(home, "laptop")
            try send(alice, "alice", ["device", "confirm", "--now", name])
            // The second time takes the files that the first one named.
            _ = try machines.read(home, "laptop")
            let read = try home.run("sotto", ["read"] + machines.identity("laptop"))
            #expect(!read.stderr.contains("error: the secret"), "\(read.stderr)")
            let groups = try home.run("group", ["list", "--json"] + machines.identity("laptop"))
            let names = try groups.lines.map {
                try JSON.object(parsing: Array($0.utf8))["name"]?.string
            }
            #expect(names == ["ours", "theirs"], "\(name): \(groups.stderr)")
        }
    }

    @Test func contactsAreToldInWords() throws {
        let machines = try Machines()
        let bob = try machines.greetedBob()
        try machines.pair()
        let told = try machines.read(bob, "bob")
        #expect(told.contains { $0["added"] == .array([.string("laptop")]) }, "\(told)")
        let shown = try bob.run("history", ["alice", "--text"] + machines.identity("bob"))
        #expect(shown.text.contains("uses a new device, laptop, since"), "\(shown.text)")
        let removed = try machines.first.run(
            "sotto", ["device", "remove", "laptop"] + machines.identity("alice") + ["--send"])
        #expect(removed.status == 0, "\(removed.stderr)")
        let news = try machines.read(bob, "bob")
        #expect(news.contains { $0["removed"] == .array([.string("laptop")]) }, "\(news)")
        let after = try bob.run("history", ["alice", "--text"] + machines.identity("bob"))
        #expect(after.text.contains("removed the device laptop"), "\(after.text)")
        // The card of the device is no contact.
        let devices = try machines.devices(machines.second, "laptop")
        #expect(devices.count == 2)
    }

    @Test func aFullDeviceGetsTheHistory() throws {
        let machines = try Machines()
        _ = try machines.greetedBob()
        try machines.pair()
        let export = ["export", "--backup", "--device", "laptop", "-o", "laptop.age"]
        let early = try machines.first.run("history", export + machines.identity("alice"))
        #expect(early.status == 12 && early.stderr.contains("is new"), "\(early.stderr)")
        let confirmed = try machines.first.run(
            "device", ["confirm", "--now", "laptop"] + machines.identity("alice"))
        #expect(confirmed.status == 0, "\(confirmed.stderr)")
        let made = try machines.first.run("history", export + machines.identity("alice"))
        #expect(made.status == 0, "\(made.stderr)")
        let file = try machines.first.files.read("laptop.age")
        machines.second.files.write("laptop.age", file)
        let read = try machines.second.run(
            "history", ["import", "laptop.age"] + machines.identity("laptop"))
        #expect(read.status == 0, "\(read.stderr)")
        let shown = try machines.second.run(
            "history", ["bob", "--text"] + machines.identity("laptop"))
        #expect(shown.text.contains("hello"), "\(shown.text)\(shown.stderr)")
        // Machine one itself does not open it: it is for the key of the device.
        let own = try machines.first.run(
            "history", ["import", "laptop.age"] + machines.identity("alice"))
        #expect(own.status == 10, "\(own.stderr)")
    }

    @Test func aWrongCodeAddsNothing() throws {
        let machines = try Machines()
        let (request, code) = try machines.request()
        let guess = "\(code.prefix { $0 != "-" })-abandon-ability-able"
        let added = try machines.addCommand(guess).run()
        #expect(added.status == 14 && added.stderr.contains("begin again"), "\(added.stderr)")
        let made = try #require(try request.finish().first)
        #expect(made.status == 14, "\(made.stderr)")
        // The right code comes too late.
        let late = try machines.addCommand(code).run()
        #expect([1, 14].contains(late.status), "\(late.stderr)")
        #expect(try machines.devices(machines.first, "alice").count == 1)
        #expect(
            try machines.second.run("device", ["list"] + machines.identity("laptop")).status == 66)
    }

    /// The code of a device opens no meeting, and that of a meeting adds no device.
    @Test func aContactCannotUseTheCode() throws {
        let machines = try Machines()
        let (request, code) = try machines.request()
        let met = try machines.first.run(
            "sotto", ["meet"] + machines.identity("alice") + [code],
            environment: ["SOTTO_RELAY": machines.address])
        #expect(met.status == 14, "\(met.stderr)")
        let made = try #require(try request.finish().first)
        #expect(made.status == 14, "\(made.stderr)")
    }

    /// Returns the URI on a screen, and the digits of the number on it.
    private func uri(_ screen: String) -> String {
        screen.split(whereSeparator: \.isNewline).first { $0.hasPrefix("sotto:device?") }
            .map(String.init) ?? ""
    }

    private func number(_ screen: String) -> String {
        screen.split(whereSeparator: \.isNewline).filter {
            $0.hasPrefix("  ") && $0.filter(\.isNumber).count == 30
        }.suffix(2).joined().filter(\.isNumber)
    }

    private func begin(_ machines: Machines) throws -> (session: TerminalSession, uri: String) {
        let session = try TerminalSession(
            machines.requestCommand(["--uri"]), stdin: "/dev/null", columns: 200, rows: 100)
        try session.expect("Waiting")
        return (session, uri(session.text))
    }

    private static let question = "Type yes if both machines show this number: "

    @Test func aURIPairsAfterTheComparison() throws {
        let machines = try Machines()
        let (request, uri) = try begin(machines)
        #expect(uri.contains("@" + machines.relay.address), "\(request.text)")
        let add = try TerminalSession(
            machines.addCommand(uri), stdin: "/dev/null", columns: 200, rows: 100)
        try request.expect(Self.question)
        // Machine one shows the number before the first answer. What is typed there before the question is no answer.
        try add.expect("and answer there first")
        try add.type("yes\n")
        #expect(try machines.devices(machines.first, "alice").count == 1)
        try request.type("yes\n")
        try add.expect(Self.question)
        // Nothing is signed before the answer.
        #expect(try machines.devices(machines.first, "alice").count == 1)
        let numbers = [request, add].map { number($0.text) }
        #expect(numbers[0].count == 60 && numbers[0] == numbers[1])
        try add.type("yes\n")
        let runs = try [add.finish(), request.finish()]
        #expect(runs.map(\.status) == [0, 0], "\(add.text)\(request.text)")
        #expect(try machines.devices(machines.first, "alice").count == 2)
        #expect(try machines.devices(machines.second, "laptop").count == 2)
    }

    /// A thief photographed the code, uses it first, and wants the new machine as a device.
    @Test func aPhotographedCodeFailsAtTheNewMachine() throws {
        let machines = try Machines()
        let thief = Home()
        try machines.make("mallory", in: thief)
        let (request, uri) = try begin(machines)
        let stolen = try TerminalSession(
            machines.addCommand(uri, as: "mallory", in: thief), stdin: "/dev/null", columns: 200,
            rows: 100)
        try request.expect(Self.question)
        #expect(request.text.contains("mallory wants this machine"))
        // The owner's machine one does not get the place.
        let add = try machines.addCommand(uri).run()
        #expect(add.status != 0, "\(add.stderr)")
        try request.type("no\n")
        #expect(try request.finish().status == 14, "\(request.text)")
        #expect(try stolen.finish().status == 14, "\(stolen.text)")
        #expect(try machines.devices(machines.first, "alice").count == 1)
        #expect(try machines.devices(thief, "mallory").count == 1)
        #expect(
            try machines.second.run("device", ["list"] + machines.identity("laptop")).status == 66)
    }

    @Test func machineOneRefusesAnotherNumber() throws {
        let machines = try Machines()
        let (request, uri) = try begin(machines)
        let add = try TerminalSession(
            machines.addCommand(uri), stdin: "/dev/null", columns: 200, rows: 100)
        try request.expect(Self.question)
        try request.type("yes\n")
        try add.expect(Self.question)
        try add.type("no\n")
        #expect(try add.finish().status == 14, "\(add.text)")
        #expect(try request.finish().status == 14, "\(request.text)")
        #expect(try machines.devices(machines.first, "alice").count == 1)
        #expect(
            try machines.second.run("device", ["list"] + machines.identity("laptop")).status == 66)
    }

    @Test func anUnprotectedIdentitySignsNothing() throws {
        let home = try Home(people: "alice")
        for command in [
            ["add", "417-orbit-velvet-sunset"], ["remove", "laptop"], ["rename", "a", "b"],
        ] {
            let run = try home.run("device", command + ["-i", "alice.key"])
            #expect(run.status == 78 && run.stderr.contains("keygen passwd"), "\(run.stderr)")
        }
    }

    /// The list is changed by machine one, and told in records.
    @Test func theListIsRenamedConfirmedAndRemoved() throws {
        let machines = try Machines()
        let (request, code) = try machines.request()
        #expect(try machines.addCommand(code).run().status == 0)
        #expect(try request.finish().first?.status == 0)
        let alice = machines.identity("alice")
        func run(_ words: [String]) throws -> Run {
            try machines.first.run("device", words + alice)
        }
        let renamed = try run(["rename", "laptop", "desk"])
        #expect(renamed.status == 0 && renamed.lines.count == 2, "\(renamed.stderr)")
        #expect(try machines.devices(machines.first, "alice")[1]["name"]?.string == "desk")
        #expect(try run(["rename", "desk", "a\u{202E}b"]).status == 64)
        #expect(try run(["rename", "desk", "Machine one"]).status == 64)
        #expect(try run(["confirm", "desk"]).status == 64)
        #expect(try run(["object", "desk"]).status == 0)
        #expect(try machines.devices(machines.first, "alice")[1]["objected"]?.bool == true)
        #expect(try run(["list", "--text"]).text.contains("new, objected to"))
        #expect(try run(["confirm", "--now", "desk"]).status == 0)
        #expect(try machines.devices(machines.first, "alice")[1]["state"]?.string == "full")
        #expect(try machines.devices(machines.first, "alice")[1]["objected"] == nil)
        #expect(try run(["confirm", "--now", "desk"]).status == 1)
        #expect(try run(["object", "desk"]).status == 1)
        let card = try machines.first.output("keygen", ["public"] + alice)
        #expect(String(decoding: card, as: UTF8.self).contains("\"desk\""))
        #expect(try run(["remove", "desk"]).status == 0)
        #expect(try machines.devices(machines.first, "alice").count == 1)
        #expect(try run(["remove", "desk"]).status == 66)
        // Another device changes nothing.
        let other = try machines.second.run(
            "device", ["remove", "laptop"] + machines.identity("laptop"))
        #expect(other.status == 64 && other.stderr.contains("machine one"), "\(other.stderr)")
    }
}
