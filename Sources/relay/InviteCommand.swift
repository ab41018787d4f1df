import ArgumentParser
import SottoServer
import SottoTool
import SottoWire

/// `relay invite`: codes that make members.
struct InviteCommand: Program {
    static let configuration = CommandConfiguration(
        commandName: "invite",
        abstract: "Make codes, each of which makes one id a member.",
        usage: "relay invite --store FILE [--count N] [--days N]",
        discussion: """
            Prints the codes, one a line: eight words each, which the store itself does not have. Who is given one \
            redeems it with recv --invitation. The relay may be running.

            EXAMPLES
              relay invite --store relay.db > code
              recv --invitation @FILE:code
            """)

    @Option(help: ArgumentHelp("The relay's store, a file or a URL.", valueName: "file"))
    var store: String

    @Option(parsing: .unconditional, help: ArgumentHelp("How many codes.", valueName: "n"))
    var count = 1

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Days until a code ends that nobody redeemed.", valueName: "n"))
    var days = 7

    func validate() throws {
        guard (1...10_000).contains(count) else {
            throw ValidationError("--count is between 1 and 10000")
        }
        guard (1...3_650).contains(days) else {
            throw ValidationError("--days is between 1 and 3650")
        }
    }

    mutating func execute() throws {
        try MemberStore.check(store)
        let codes = try Membership.invite(count, days: Int64(days), in: StoreLocation(store))
        let output = try Output(path: nil, content: .text)
        for code in codes { try output.writeText(code.text + "\n") }
        try output.finish()
    }
}
