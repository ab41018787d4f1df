import Arguments
import SottoBytes
import SottoDatabase
import SottoServer
import SottoTool

/// `relay migrate`: copies a store into another one.
struct MigrateCommand: Program {
    static let configuration = CommandConfiguration(
        name: "migrate",
        abstract: "Copy all mailboxes and prekeys into another store.",
        usage: "sotto relay migrate FROM TO",
        discussion: """
            FROM and TO are files or postgresql:// URLs, as with --store. TO must be new or empty. Either everything \
            is copied, or nothing. No relay may use either store meanwhile.

            EXAMPLES
              sotto relay migrate relay.db postgresql://relay@db.example.org/sotto
            """)

    @Argument("from", help: "The store to copy.")
    var source: String

    @Argument("to", help: "The store to copy into.")
    var target: String

    @Flag("-q", "--quiet", help: "Print only errors.")
    var quiet = false

    mutating func execute() throws {
        try MemberStore.check(source, hint: nil)
        let summary: StoreMigration.Summary
        do throws(StoreError) {
            summary = try StoreMigration.run(
                from: StoreLocation(source), to: StoreLocation(target))
        } catch {
            guard case .database(.locked) = error else { throw error }
            throw Failure(.tryAgain, error.failure.message, hint: "stop the relay that uses it")
        }
        guard !quiet else { return }
        Terminal.say(
            """
            relay: copied \(summary.mailboxes) mailboxes with \(summary.envelopes) envelopes, the prekeys of \
            \(summary.owners) owners, \(summary.accounts) members or cards, and \(summary.blobs) blobs
            """)
    }
}
