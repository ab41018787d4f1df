import Arguments
import Sotto
import SottoState
import SottoTool

/// `group grant`: shows the own messages to members who joined later, or join later.
struct GrantCommand: Program {
    static let configuration = CommandConfiguration(
        name: "grant",
        abstract: "Show your messages to members who joined later, in a group where you decide.",
        usage: """
            sotto group grant GROUP WHO ...
            sotto group grant GROUP --all | --newcomers
            """,
        discussion: """
            --all means the present members who do not read your messages yet. --newcomers means those who join for the \
            first time from now on; group revoke takes that back. Both can be given. Earlier messages are shown too.
            """)

    @Flag("--all", help: "All present members.")
    var all = false

    @Flag("--newcomers", help: "All members who join from now on.")
    var newcomers = false

    @OptionGroup var group: GroupArgument

    @Argument("who", help: "The members: contacts, ids or nicknames.")
    var names: [String] = []

    func validate() throws {
        guard names.isEmpty == (all || newcomers) else {
            throw UsageError(
                names.isEmpty
                    ? "members are required, or --all, or --newcomers"
                    : "members cannot be combined with --all or --newcomers")
        }
    }

    func execute() throws {
        let (groups, found) = try group.open()
        let name = try groups.localName(of: found)
        var who = try groups.members(names, of: found)
        var granted = found
        try groups.change(found) { group, transaction in
            guard !newcomers || group.state.policy.visibility == .granted else {
                throw Failure(
                    .usage, "in \(name) the rules decide what later members read, and not you")
            }
            if all { who = try groups.membersWithoutGrant(in: group, transaction) }
            for member in who { try transaction.grant(member, in: group) }
            granted = try newcomers ? transaction.show(toNewcomersOf: group, true) : group
            return granted
        }
        if all { sayWhoReads(who.count, in: granted) }
        if newcomers, !all { group.options.note("later members can read all your messages") }
    }

    /// Says how many present members can read the owner's messages now, and whether later ones can.
    private func sayWhoReads(_ count: Int, in granted: StoredGroup) {
        let present =
            count == 0
            ? "all present members read your messages already"
            : "\(counted(count, "more member")) can read your messages"
        let later =
            granted.showsToNewcomers || granted.state.policy.visibility != .granted
            ? "later members can too" : "later members need another grant"
        group.options.note("\(present); \(later)")
    }
}

/// `group revoke`: ends the decision about members who join later.
struct RevokeCommand: Program {
    static let configuration = CommandConfiguration(
        name: "revoke",
        abstract: "Show your messages to no further newcomers of a group. Nothing is sent.",
        usage: "sotto group revoke GROUP --newcomers",
        discussion: """
            It ends what group grant --newcomers began. Members who read your messages already go on reading them.
            """)

    @Flag("--newcomers", help: "Members who join from now on need a grant.")
    var newcomers = false

    @OptionGroup var group: GroupArgument

    func validate() throws {
        guard newcomers else {
            throw UsageError("--newcomers is required: a grant to a member cannot be taken back")
        }
    }

    func execute() throws {
        let (groups, found) = try group.open()
        try groups.store.transaction { transaction in
            let group = try groups.present(found, transaction)
            guard group.standing == .member else { throw GroupError.notMember }
            _ = try transaction.show(toNewcomersOf: group, false)
        }
        group.options.note("later members need a grant to read your messages")
    }
}

extension OpenGroups {
    /// Returns the members who do not read the owner's messages.
    fileprivate func membersWithoutGrant(
        in group: StoredGroup, _ transaction: StateTransaction
    ) throws -> [KeyID] {
        let notes = try transaction.notes(of: group)
        return group.members.map(\.id).filter {
            !group.showsMessages(of: owner.id, to: $0, notes)
        }
    }
}
