import Arguments
import Sotto
import SottoState
import SottoTool

/// `group delete`: ends a group for all.
struct DeleteCommand: Program {
    static let configuration = CommandConfiguration(
        name: "delete", abstract: "End a group for all members. Only its owner can do this.",
        usage: "sotto group delete [--yes] [--anyway] GROUP",
        discussion: """
            Closes the rules and the door, removes all members, and leaves: nobody can write, invite or enter again. \
            Asks first if standard input is a terminal; elsewhere --yes is required. The messages stay in the histories \
            of the members. With several owners it is refused, because no owner can remove another.
            """)

    @OptionGroup var question: Confirmation

    @OptionGroup var group: ChangeArgument

    func execute() throws {
        let (groups, found) = try group.open()
        try check(found, groups)
        guard question.yes || Terminal.isTerminal(0) else {
            throw Failure(
                .usage, "the group would end for all members, and no terminal is there to ask",
                hint: "give --yes")
        }
        try group.group.options.records.check()
        let others = counted(found.members.count - 1, "other member")
        try question.ask(to: "delete \(try groups.localName(of: found)) for you and \(others)")
        let records = try groups.store.transaction { transaction in
            let group = try groups.present(found, transaction)
            let closing = try transaction.room(of: group).map { transaction.closing($0) }
            let deleted = try transaction.delete(group)
            return try groups.told(
                [closing].compactMap { $0 }
                    + groups.news(of: deleted.group, also: deleted.people, transaction))
        }
        try groups.print(records)
    }

    /// Throws a failure if the owner of the state may not delete the group.
    private func check(_ found: StoredGroup, _ groups: OpenGroups) throws {
        guard found.standing == .member else { throw GroupError.notMember }
        guard found.rank == .owner else { throw GroupError.refused }
        guard !found.hasOtherOwner else {
            throw Failure(
                .usage,
                "\(try groups.localName(of: found)) has another owner, whom no member can remove",
                hint: "leave the group, or let the other owners step down first")
        }
    }
}
