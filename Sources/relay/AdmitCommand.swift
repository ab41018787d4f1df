import Arguments
import Glibc
import SottoServer
import SottoTool

/// `relay admit`: makes ids members, or no longer.
struct AdmitCommand: Program {
    static let configuration = CommandConfiguration(
        name: "admit",
        abstract: "Make ids members of a relay, or no longer.",
        usage: "relay admit --store FILE [--remove] CARD|ID ...",
        discussion: """
            CARD is a card's file or a sotto: URI. The relay may be running: who is removed cannot log in again.

            EXAMPLES
              relay admit --store relay.db bob.card
              relay admit --store relay.db --remove 05d8a2...
            """)

    @Option("--store", value: "file", help: "The relay's store, a file or a URL.")
    var store: String

    @Flag("--remove", help: "They are no longer members.")
    var remove = false

    @Argument("card", help: "Whom: a card, a sotto: URI or an id.")
    var people: [String]

    @Flag("-q", "--quiet", help: "Say nothing but errors.")
    var quiet = false

    mutating func execute() throws {
        let ids = try people.map { try MemberList.id(of: $0) }
        try MemberStore.check(store)
        try Membership.set(ids, isMember: !remove, in: StoreLocation(store))
        guard !quiet else { return }
        for id in ids { Terminal.say("relay: \(remove ? "removed" : "admitted") \(id)") }
    }
}

/// A store that must be there.
enum MemberStore {
    /// Refuses a file that is not there: a mistyped name would make a store of its own.
    static func check(_ store: String, hint: String? = "start the relay first, which makes it")
        throws(Failure)
    {
        guard case .file(let path) = StoreLocation(store) else { return }
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw Failure(
                .noInput, "there is no store \(path)", hint: hint)
        }
    }
}
