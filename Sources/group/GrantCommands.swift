import Arguments
import Sotto
import SottoContacts
import SottoState
import SottoTool

/// `group grant`: shows the own messages to members who joined later.
struct GrantCommand: Program {
    static let configuration = CommandConfiguration(
        name: "grant",
        abstract: "Show your messages to members who joined later, in a group where you decide.",
        usage: """
            group grant GROUP WHO ...
            group grant GROUP --all
            """,
        discussion: """
            --all means the present members who do not read your messages yet, and nobody who joins later.
            """)

    @Flag("--all", help: "All present members.")
    var all = false

    @OptionGroup var group: GroupArgument

    @Argument("who", help: "The members: contacts, ids or nicknames.")
    var names: [String] = []

    func validate() throws {
        guard all == names.isEmpty else {
            throw UsageError(
                all ? "--all and members cannot be combined" : "members are required, or --all")
        }
    }

    func execute() throws {
        let (groups, found) = try group.open()
        let named = try groups.members(names, of: found)
        var count = 0
        try groups.change(found) { group, transaction in
            let notes = try transaction.notes(of: group)
            let others = group.members.map(\.id).filter {
                !group.showsMessages(of: groups.owner.id, to: $0, notes)
            }
            let who = all ? others : named
            for member in who { try transaction.grant(member, in: group) }
            count = who.count
            return group
        }
        guard all else { return }
        group.options.note(
            count == 0
                ? "all members read your messages already"
                : "\(counted(count, "member")) can read your messages")
    }
}
