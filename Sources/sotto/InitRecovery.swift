import Arguments
import Glibc
import SottoBytes
import SottoProgram

/// `sotto init --recover`: the words, the backup, the lost machines, and the news for contacts.
extension InitCommand {
    /// Reads the words from a picture, a terminal or standard input, and checks them.
    func readWords() throws -> [UInt8] {
        let input = try picture == nil ? Input(path: nil) : nil
        guard let input, input.isTerminal else {
            let words =
                try picture.map { try ToolRun("qr", ["scan", "--", $0]).output() }
                ?? input?.readText(limit: 64 << 10) ?? []
            try require(check(nil, words))
            return words
        }
        return try ask("Your recovery words: ", secret: true) { try check(nil, $0) }
    }

    /// Asks for the relay on a terminal, because the words do not have it. Returns `nil` without one.
    func askForRelay(_ words: [UInt8]) throws -> String? {
        guard Terminal.isTerminal(0) else { return nil }
        let relay = try ask("The address of your relay, or Enter for none: ", secret: false) {
            answer in
            answer.isEmpty ? 0 : try check(String(decoding: answer, as: UTF8.self), words)
        }
        return relay.isEmpty ? nil : String(decoding: relay, as: UTF8.self)
    }

    /// Asks until an answer is right, up to three times. `check` returns the status of the tool that has said what is wrong.
    private func ask(
        _ question: String, secret: Bool, _ check: ([UInt8]) throws -> Int32
    ) throws -> [UInt8] {
        var status: Int32 = 0
        for _ in 0..<Self.prompts {
            var answer = try Terminal.ask(question, secret: secret).withBytes { Array($0) }
            status = try check(answer)
            if status == 0 { return answer }
            wipe(&answer)
        }
        throw Failure.ended(status, "keygen")
    }

    /// Makes the identity in memory only, with a name, a relay, and the words if it is restored. Returns the status of `keygen`, which says
    /// what is wrong.
    func check(
        name: String? = nil, _ relay: String?, _ words: [UInt8]?
    ) throws -> Int32 {
        guard name != nil || relay != nil || words != nil else { return 0 }
        var arguments = (words == nil ? [] : ["recover"]) + ["-q", "-o", "-"]
        if let name { arguments += ["--name", name] }
        if let relay { arguments += ["--relay", relay] }
        var result = try ToolRun("keygen", arguments, input: words ?? []).run()
        wipe(&result.output)
        return result.status
    }

    /// Throws a failure with the status of a check that failed.
    func require(_ status: Int32) throws(Failure) {
        guard status != 0 else { return }
        throw Failure.ended(status, "keygen")
    }

    /// Imports the backup. Returns whether there is one and it was imported, and the failure of the import.
    func restoreBackup(
        _ path: String, _ secret: PassedSecret?
    ) throws -> (isImported: Bool, failure: Failure?) {
        guard let backup else {
            Terminal.say("Not restored: contacts, groups and messages. If you have a backup:")
            Terminal.say("  sotto history import state.age")
            return (false, nil)
        }
        let identity = SharedIdentity(path: path, secret: secret)
        let status = try identity.run(.history, last: ["import", "--", backup]).run().status
        guard status == 0 else {
            Terminal.say("Not restored: contacts, groups and messages. To try again:")
            Terminal.say("  sotto history import \(shellWord(backup))")
            return (false, .ended(status, "history"))
        }
        Terminal.say(
            "Restored: the contacts, groups and messages of the backup, and none that are later.")
        return (true, nil)
    }

    /// Takes the list of the other machines from the directory, as it can be later than that of the backup, and asks on a
    /// terminal which of them are lost too. Returns whether one stays, and the commands that remove those about which nothing was
    /// decided.
    func offerDevices(
        _ relay: String?, _ path: String, _ secret: PassedSecret?
    ) throws -> (isOneLeft: Bool, commands: [(String, String)]) {
        let identity = SharedIdentity(path: path, secret: secret)
        if let relay { try restoreDevices(from: relay, identity) }
        var isOneLeft = false
        var commands: [(String, String)] = []
        for device in try otherDevices(identity) {
            guard let id = device["id"]?.string, let name = device["name"]?.string else { continue }
            func day(_ member: String) -> String? {
                device[member]?.string.map { String($0.prefix(10)) }
            }
            Terminal.say(
                "Your machine \(name) stays a device of yours; added \(day("added") ?? "-")"
                    + (day("heard").map { ", last heard of \($0)" } ?? ""))
            // Machine one signs no list without a passphrase.
            let isAsked = secret != nil && Terminal.isTerminal(0)
            let isLost =
                try isAsked
                && Terminal.confirms("Type yes if \(name) is lost too, to remove it: ")
            if isLost, try remove(id, identity) { continue }
            isOneLeft = true
            guard !isAsked || isLost else { continue }
            commands.append(
                ("sotto device remove \(shellWord(name)) --send", "only if \(name) is lost too"))
        }
        return (isOneLeft, commands)
    }

    /// Takes the list on the own card in the directory. A relay without the card, or one that does not answer, fails nothing. The
    /// user is told of the latter, because no other relay or machine may know the list.
    private func restoreDevices(from relay: String, _ identity: SharedIdentity) throws {
        let own = try identity.run(.keygen, ["public"]).output()
        guard let id = records(in: own).first?["id"]?.string else { return }
        var lookup = identity.run(.recv, ["--card", id, "--relay", relay])
        lookup.collectsMessages = true
        let found = try lookup.run()
        let hasCard = records(in: found.output).contains { $0["type"]?.string == "contact" }
        guard found.status == 0, hasCard else {
            if ![ExitStatus.done, .no].contains(where: { $0.rawValue == found.status }) {
                Terminal.say(
                    "Not restored: the list of your other machines on your card at the relay. To try again:"
                )
                Terminal.say("  sotto recv --card \(id) | sotto device restore")
            }
            return
        }
        _ = try identity.run(.device, ["restore", "-q"], input: found.output).run()
    }

    /// Removes a machine. Returns whether it was removed.
    private func remove(_ id: String, _ identity: SharedIdentity) throws -> Bool {
        // A tool has said why it failed. What was written waits in the outbox.
        try? Delivery(
            PipeRun.Stage("device", ["remove", "--json", id] + identity.options), of: identity,
            quiet: false
        ).run()
        return try !otherDevices(identity).contains { $0["id"]?.string == id }
    }

    /// Returns the records of the machines on the owner's list.
    private func otherDevices(_ identity: SharedIdentity) throws -> [JSONObject] {
        records(in: try identity.run(.device, ["list", "--json"]).output()).filter {
            $0["first"] == nil
        }
    }

    /// Asks whether the contacts and the members of groups are told. Returns whether they were.
    func tellContacts(_ path: String, _ secret: PassedSecret?) throws -> Bool {
        guard Terminal.isTerminal(0),
            try Terminal.confirms(
                "Contacts and machines of yours that are told begin new sessions, and contacts can send again what you did not read. Type yes to tell all of them: "
            )
        else { return false }
        let identity = SharedIdentity(path: path, secret: secret)
        for (tool, command) in [("contact", ["repair", "--json"]), ("group", ["sync", "--json"])] {
            do {
                try Delivery(
                    PipeRun.Stage(tool, command + identity.options), of: identity, quiet: false
                ).run()
            } catch let failure as Failure where [.no, .tryAgain].contains(failure.status) {
                // No contact must be told, or the outbox keeps the envelopes.
                continue
            }
        }
        return true
    }
}
