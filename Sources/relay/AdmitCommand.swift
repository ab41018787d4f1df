import Arguments
import Glibc
import SottoBytes
import SottoServer
import SottoTool

/// `relay admit`: makes ids members, or ends their membership.
struct AdmitCommand: Program {
    static let configuration = CommandConfiguration(
        name: "admit",
        abstract: "Make ids members of a relay, or end their membership.",
        usage: "sotto relay admit --store FILE [--remove] CARD|ID ...",
        discussion: """
            CARD is a card's file or a sotto: URI. The relay may be running. A removed member cannot log in again.

            EXAMPLES
              sotto relay admit --store relay.db bob.card
              sotto relay admit --store relay.db --remove 05d8a2...
            """)

    @OptionGroup var store: MemberStore

    @Flag("--remove", help: "End the membership of the ids.")
    var remove = false

    @Argument("card", help: "A card's file, a sotto: URI or an id.")
    var people: [String]

    @Flag("-q", "--quiet", help: "Print only errors.")
    var quiet = false

    mutating func execute() throws {
        let ids = try people.map { try MemberList.id(of: $0) }
        let location = try store.location()
        let known = remove ? Set(try Membership.members(in: location).map(\.id)) : []
        try Membership.set(ids, isMember: !remove, in: location)
        for id in ids where !quiet {
            let result = !remove ? "admitted \(id)" : known.contains(id) ? "removed \(id)" : nil
            Terminal.say("relay: \(result ?? "\(id) is not a member")")
        }
        guard !remove || known.isSuperset(of: ids) else { throw Failure(.no, "") }
    }
}

/// The option for a store that must exist.
struct MemberStore: ArgumentGroup {
    @Option("--store", value: "file", help: "The relay's store, a file or a URL.")
    var path: String

    /// Returns the store. Throws like ``check(_:hint:)``.
    func location() throws(Failure) -> StoreLocation {
        try Self.check(path)
        return StoreLocation(path)
    }

    /// Throws if the file of a store does not exist: a mistyped name would otherwise create a new store.
    static func check(
        _ store: String, hint: String? = "start the relay first; it creates the store"
    )
        throws(Failure)
    {
        guard case .file(let path) = StoreLocation(store) else { return }
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw Failure(
                .noInput, "the store \(path) does not exist", hint: hint)
        }
    }
}
