import Arguments
import SottoServer
import SottoTool
import SottoWire

/// `relay invite`: creates invitation codes.
struct InviteCommand: Program {
    static let configuration = CommandConfiguration(
        name: "invite",
        abstract: "Create invitation codes, each for one member.",
        usage: "relay invite --store FILE [--count N] [--days N]",
        discussion: """
            Prints the codes, one a line, of eight words each. The store does not contain them. The new member \
            redeems a code with recv --invitation. The relay may be running.

            EXAMPLES
              relay invite --store relay.db > code
              recv --invitation @FILE:code
            """)

    @Option("--store", value: "file", help: "The relay's store, a file or a URL.")
    var store: String

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
    }

    mutating func execute() throws {
        try MemberStore.check(store)
        let codes = try Membership.invite(count, days: Int64(days), in: StoreLocation(store))
        let output = try Output(path: nil, content: .text)
        for code in codes { try output.writeText(code.text + "\n") }
        try output.finish()
    }
}
