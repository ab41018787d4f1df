import Arguments
import SottoBytes
import SottoProgram

/// `sotto whoami`: the state of the own identity.
struct WhoamiCommand: Program {
    static let configuration = CommandConfiguration(
        name: "whoami",
        abstract:
            "Show your name, id, fingerprint and relay, and whether your card is published.",
        usage: "sotto whoami",
        discussion: """
            Runs keygen unlock --status, keygen public, device list, fingerprint, keygen prekeys --count, history --expiring, \
            history unsent, send --list, and with a relay recv --card, and recv --turn to see whether the relay lets you log \
            in. For a program, run these tools.
            """)

    @OptionGroup var options: SharedIdentityOptions

    func execute() throws {
        let path = try options.path ?? defaultIdentityPath()
        let unlocked = ToolRun("keygen", ["unlock", "--status", "--", path])
        let state = try unlocked.run()
        if state.status != ExitStatus.no.rawValue { try Delivery.end(state.status) }
        let identity = try options.open()
        // A device of a private list gives out no card.
        let device = try device(identity)
        let printing =
            device == nil
            ? identity.run(.keygen, ["public"]) : identity.run(.device, ["list", "--card"])
        let card = try printing.output()
        guard let record = records(in: card).first, let id = record["id"]?.string else {
            throw Failure(.bug, "a tool printed no card")
        }
        let relay =
            record["relay"]?.string
            ?? environmentVariable("SOTTO_RELAY").map { "\($0), from SOTTO_RELAY" }
        let prekeys = try identity.run(.keygen, ["prekeys", "--count"]).output()
        let option = options.option
        var table = Table()
        table.add([
            "name",
            record["name"]?.string
                ?? "none; to set it: sotto keygen set\(option) --name NAME --send",
        ])
        table.add(["id", id])
        if let device { table.add(["device", device]) }
        table.add(["fingerprint", try Self.line(identity.run(.fingerprint, []).output())])
        table.add(["file", path])
        table.add(["passphrase", Self.line(state.output)])
        table.add(["relay", relay ?? "none; to set it: sotto keygen set\(option) --relay URL"])
        let place =
            try relay == nil ? .unknown : place(of: id, at: record["relay"]?.string, identity)
        if relay != nil { table.add(["card", words(for: place)]) }
        let refusesLogin = place.isAnswered && isRefused(at: record["relay"]?.string, identity)
        if refusesLogin {
            table.add([
                "login",
                "refused: the relay serves only members, and you are not one, or no longer; with a new code from its operator: sotto recv\(option) --invitation @FILE:code",
            ])
        }
        table.add(["prekeys", words(forPreKeys: Self.line(prekeys), place)])
        let expiring = try identity.run(.history, ["--expiring", "--json", "-q"]).run().output
        let numbers = records(in: expiring).compactMap { $0["number"]?.integer }
        if let text = warning(ofFiles: numbers, option: option) { table.add(["files", text]) }
        for row in try rowsOfUnsent(identity) { table.add(row) }
        let output = try Output(path: "-", content: .text)
        try output.writeText(table.text)
        try output.finish()
    }

    /// Returns the rows about what waits in the outbox of the home and about the own messages that were not sent, if there are any.
    private func rowsOfUnsent(_ identity: SharedIdentity) throws -> [[String]] {
        var list = ToolRun("send", ["--list", "--json"])
        list.collectsMessages = true
        let outbox = records(in: try list.run().output)
        let stuck = outbox.count { $0["relay"] == nil }
        let waiting = outbox.count - stuck
        var history = identity.run(.history, ["unsent", "--json", "-q"])
        history.collectsMessages = true
        let unsent = records(in: try history.run().output).count
        var rows: [[String]] = []
        if waiting > 0 {
            rows.append([
                "outbox",
                "\(waiting) \(waiting == 1 ? "waits" : "wait"); to send: sotto send < /dev/null",
            ])
        }
        if stuck > 0 {
            rows.append([
                "outbox",
                "\(stuck) \(stuck == 1 ? "waits" : "wait") without a relay; to list: sotto send --list",
            ])
        }
        if unsent > 0 {
            rows.append([
                "not sent",
                "\(counted(unsent, "message")); to see what sends them: sotto history unsent\(options.option)",
            ])
        }
        return rows
    }

    private static func line(_ output: [UInt8]) -> String {
        output.split(separator: UInt8(ascii: "\n")).first.map {
            String(decoding: $0, as: UTF8.self)
        } ?? "-"
    }

    /// Returns the name and the state of this machine among the devices of the person; `nil` on machine one.
    private func device(_ identity: SharedIdentity) throws -> String? {
        let list = try identity.run(.device, ["list", "--json"]).run().output
        let devices = records(in: list).filter { $0["type"]?.string == "device" }
        guard let here = devices.first(where: { $0["here"] == .bool(true) }) else {
            return devices.isEmpty
                ? nil : "removed by machine one: nobody takes messages of this machine"
        }
        guard let name = here["name"]?.string, let state = here["state"]?.string else { return nil }
        return "\(name), \(state)"
    }

    /// The place of the own card.
    private enum CardPlace {
        /// It is in the directory.
        case published
        /// It is not there.
        case missing
        /// The relay gave no answer.
        case unknown
        /// The directory has a revocation in its place.
        case revoked

        /// Whether the relay answered, and can have a mailbox for the identity.
        var isAnswered: Bool {
            switch self {
            case .published, .missing: true
            case .unknown, .revoked: false
            }
        }
    }

    /// Returns whether a relay, or the one in the environment, refuses a login. It is a login that receives nothing, beside any
    /// other one.
    private func isRefused(at relay: String?, _ identity: SharedIdentity) -> Bool {
        var recv = identity.run(.recv, ["-q", "--turn"] + (relay.map { ["--relay", $0] } ?? []))
        recv.collectsMessages = true
        guard let answer = try? recv.run(), answer.status == ExitStatus.permission.rawValue else {
            return false
        }
        return String(decoding: answer.messages, as: UTF8.self).contains("serves only members")
    }

    /// Asks a relay, or the one in the environment, for the own card. A revocation is kept, so that other programs know it too.
    private func place(
        of id: String, at relay: String?, _ identity: SharedIdentity
    ) throws -> CardPlace {
        var recv = identity.run(
            .recv, ["-q", "--card", id] + (relay.map { ["--relay", $0] } ?? []))
        recv.collectsMessages = true
        let answer = try recv.run()
        switch ExitStatus(rawValue: answer.status) {
        case .done where records(in: answer.output).first?["type"]?.string == "revocation":
            var add = identity.run(.contact, ["add", "-q"], input: answer.output)
            add.collectsMessages = true
            _ = try add.run()
            return .revoked
        case .done: return .published
        case .no: return .missing
        default: return .unknown
        }
    }

    private func words(for place: CardPlace) -> String {
        switch place {
        case .published: "published"
        case .missing: "not published; to publish it: sotto keygen public\(options.option) --send"
        case .unknown: "unknown: the relay gave no answer"
        case .revoked:
            "revoked: contacts and relays refuse this identity; to make a new one: sotto keygen -o FILE"
        }
    }

    /// Returns the words for the number of one-time prekeys in the state. A relay that refuses a person has neither the card nor these.
    private func words(forPreKeys count: String, _ place: CardPlace) -> String {
        let option = options.option
        if case .revoked = place { return "revoked" }
        if count == "0" { return "none; to publish them: sotto keygen prekeys\(option) --send" }
        return switch place {
        case .published, .revoked: "\(count) made here and not used"
        case .missing:
            "\(count) made here, perhaps none at the relay; to publish them: sotto keygen prekeys\(option) --send"
        case .unknown: "\(count) made here; unknown whether a relay has them"
        }
    }
}
