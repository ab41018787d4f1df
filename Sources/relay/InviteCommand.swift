import Arguments
import SottoServer
import SottoTool
import SottoWire

/// `relay invite`: codes that make members.
struct InviteCommand: Program {
    static let configuration = CommandConfiguration(
        name: "invite",
        abstract: "Make codes, each of which makes one id a member.",
        usage: "relay invite --store FILE [--count N] [--days N]",
        discussion: """
            Prints the codes, one a line: eight words each, which the store itself does not have. Who is given one \
            redeems it with recv --invitation. The relay may be running.

            EXAMPLES
              relay invite --store relay.db > code
              recv --invitation @FILE:code
            """)

    @Option("--store", value: "file", help: "The relay's store, a file or a URL.")
    var store: String

    @Option("--count", value: "n", help: "How many codes.", values: .any)
    var count = 1

    @Option(
        "--days", value: "n", help: "Days until a code ends that nobody redeemed.", values: .any)
    var days = 7

    func validate() throws {
        guard (1...10_000).contains(count) else {
            throw UsageError("--count is between 1 and 10000")
        }
        guard (1...3_650).contains(days) else {
            throw UsageError("--days is between 1 and 3650")
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
