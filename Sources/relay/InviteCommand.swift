import Arguments
import SottoServer
import SottoTool
import SottoWire

/// `relay invite`: creates invitation codes.
struct InviteCommand: Program {
    static let configuration = CommandConfiguration(
        name: "invite",
        abstract: "Create invitation codes, each for one member.",
        usage: """
            sotto relay invite --store FILE [--label NAME] [--days N] [-q]
            sotto relay invite --store FILE --count N [--days N] [-q]
            """,
        discussion: """
            Prints the codes, one a line, of eight words each. The store does not contain them. The new member \
            redeems a code with sotto init, or with recv --invitation. The relay may be running.

            EXAMPLES
              sotto relay invite --store relay.db --label bob > code
              sotto recv --invitation @FILE:code
            """)

    @OptionGroup var store: MemberStore

    @Option("--count", value: "n", help: "The number of codes.", values: .any)
    var count = 1

    @Option(
        "--days", value: "n", help: "Days until an unused code expires.", values: .any)
    var days = 7

    func validate() throws {
        guard (1...10_000).contains(count) else {
            throw UsageError("--count must be between 1 and 10000")
        }
        guard (1...3_650).contains(days) else {
            throw UsageError("--days must be between 1 and 3650")
        }
        guard let label else { return }
        guard count == 1 else { throw UsageError("--label is for one code") }
        guard Membership.isLabel(label) else {
            throw UsageError("the label must have 1 to 64 bytes and no invisible characters")
        }
    }

    @Option("--label", value: "name", help: "The invited person, for relay members.")
    var label: String?

    @Flag("-q", "--quiet", help: "Print only the codes.")
    var quiet = false

    mutating func execute() throws {
        let codes = try Membership.invite(
            count, days: Int64(days), label: label ?? "", in: store.location())
        let output = try Output(path: nil, content: .text)
        for code in codes { try output.writeText(code.text + "\n") }
        try output.finish()
        guard !quiet else { return }
        Terminal.say(
            "relay: a new member runs sotto init with the address that the relay prints at its start, and types the code:"
        )
        Terminal.say("  sotto init --relay URL")
        Terminal.say("relay: note: only a relay that runs with --invited asks for a code")
    }
}
