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
            Runs keygen unlock --status, keygen public, fingerprint, keygen prekeys --count, history --expiring, and with \
            a relay recv --card. For a program, run these tools.
            """)

    @OptionGroup var options: SharedIdentityOptions

    func execute() throws {
        let path = try options.path ?? defaultIdentityPath()
        let unlocked = ToolRun("keygen", ["unlock", "--status", "--", path])
        let state = try unlocked.run()
        if state.status != ExitStatus.no.rawValue { try Delivery.end(state.status) }
        let identity = try options.open()
        let card = try identity.run(.keygen, ["public"]).output()
        guard let record = records(in: card).first, let id = record["id"]?.string else {
            throw Failure(.bug, "the output of keygen public is no card")
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
        table.add(["fingerprint", try Self.line(identity.run(.fingerprint, []).output())])
        table.add(["file", path])
        table.add(["passphrase", Self.line(state.output)])
        table.add(["relay", relay ?? "none; to set it: sotto keygen set\(option) --relay URL"])
        let isPublished =
            try relay == nil ? nil : isPublished(id, at: record["relay"]?.string, identity)
        if relay != nil { table.add(["card", words(forCard: isPublished)]) }
        table.add(["prekeys", words(for: Self.line(prekeys), isCardPublished: isPublished)])
        let expiring = try identity.run(.history, ["--expiring", "--json", "-q"]).run().output
        let numbers = records(in: expiring).compactMap { $0["number"]?.integer }
        if let text = warning(ofFiles: numbers, option: option) { table.add(["files", text]) }
        let output = try Output(path: "-", content: .text)
        try output.writeText(table.text)
        try output.finish()
    }

    private static func line(_ output: [UInt8]) -> String {
        output.split(separator: UInt8(ascii: "\n")).first.map {
            String(decoding: $0, as: UTF8.self)
        } ?? "-"
    }

    /// Asks a relay, or the one in the environment, for the own card. Returns `nil` if it gives no answer.
    private func isPublished(
        _ id: String, at relay: String?, _ identity: SharedIdentity
    ) throws -> Bool? {
        var recv = identity.run(
            .recv, ["-q", "--card", id] + (relay.map { ["--relay", $0] } ?? []))
        recv.collectsMessages = true
        return switch ExitStatus(rawValue: try recv.run().status) {
        case .done: true
        case .no: false
        default: nil
        }
    }

    private func words(forCard isPublished: Bool?) -> String {
        switch isPublished {
        case true?: "published"
        case false?: "not published; to publish it: sotto keygen public\(options.option) --send"
        case nil: "unknown: the relay gave no answer"
        }
    }

    /// Returns the words for the number of one-time prekeys in the state. A relay that refuses a person has neither the card nor these.
    private func words(for count: String, isCardPublished: Bool?) -> String {
        let option = options.option
        if count == "0" { return "none; to publish them: sotto keygen prekeys\(option) --send" }
        return switch isCardPublished {
        case true?: "\(count) made here and not used"
        case false?:
            "\(count) made here, perhaps none at the relay; to publish them: sotto keygen prekeys\(option) --send"
        case nil: "\(count) made here; unknown whether a relay has them"
        }
    }
}
