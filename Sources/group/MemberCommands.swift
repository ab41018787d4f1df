import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool

/// A contact who is invited.
struct Invited {
    let id: KeyID
    let card: Card

    init(id: KeyID, card: Card) { (self.id, self.card) = (id, card) }

    /// Finds a contact with a card.
    init(_ who: String, _ groups: OpenGroups) throws {
        let person = try groups.book.find(who, for: .acting)
        guard !person.isOwn else { throw Failure(.usage, "you are a member already") }
        try groups.book.check(person, nil)
        guard let card = person.card, card.record != nil else {
            throw Failure(
                .noKey, "no signed card of \(person.name) is known",
                hint: "get the card: \(cardLookupCommand(person.id, name: person.contact?.name))")
        }
        (id, self.card) = (person.id, card)
    }
}

extension OpenGroups {
    /// The most members of a group, and people who are invited.
    private static let mostMembers = 1_000

    /// Invites people with a rank.
    func invite(
        _ people: [Invited], _ rank: GroupRank, to group: StoredGroup,
        _ transaction: StateTransaction
    ) throws -> StoredGroup {
        guard group.rank >= max(group.state.policy.add, .member) else { throw GroupError.refused }
        guard group.members.count + people.count <= Self.mostMembers else {
            throw Failure(
                .usage, "a group has at most \(Self.mostMembers) members")
        }
        for person in people { try transaction.note(person.card, in: group) }
        var group = group
        for start in stride(from: 0, to: people.count, by: GroupChange.mostMembers) {
            let part = people[start..<min(start + GroupChange.mostMembers, people.count)]
            group = try transaction.write(.invite(part.map(\.id), rank), in: group)
        }
        return group
    }

    /// Returns the records of invitations: the whole log and the cards of the members, and for the members the change.
    func invitations(
        of group: StoredGroup, for people: [Invited], _ transaction: StateTransaction
    ) throws -> [JSONObject] {
        let notes = try transaction.notes(of: group)
        let cards = group.members.compactMap { member in
            member.id == owner.id ? owner.card() : notes[member.id]?.card
        }
        let bodies = try transaction.invitation(to: group, cards: cards)
        let invited = people.flatMap { person in bodies.map { record($0, to: person.id) } }
        return try invited + news(of: group, transaction)
    }
}

/// `group invite`: invites contacts.
struct InviteCommand: Program {
    static let configuration = CommandConfiguration(
        name: "invite", abstract: "Invite contacts, and print the invitations.",
        usage: "sotto group invite [--reader] GROUP WHO ...")

    @Flag("--reader", help: "They read, but do not write.")
    var isReader = false

    @OptionGroup var group: ChangeArgument

    @Argument("who", help: "The contacts.")
    var people: [String]

    func execute() throws {
        let (groups, found) = try group.open()
        let invited = try people.map { try Invited($0, groups) }
        for person in invited where found.state.ranks[person.id] != nil {
            throw Failure(.usage, "\(try groups.name(of: person.id)) is a member already")
        }
        let records = try groups.store.transaction { transaction in
            var group = try groups.present(found, transaction)
            group = try groups.invite(invited, isReader ? .reader : .member, to: group, transaction)
            return try groups.told(groups.invitations(of: group, for: invited, transaction))
        }
        try groups.print(records)
    }
}

/// `group accept`: joins a group after an invitation.
struct AcceptCommand: Program {
    static let configuration = CommandConfiguration(
        name: "accept", abstract: "Accept an invitation, and tell the members.",
        usage: "sotto group accept [--nickname NAME] [--anyway] GROUP")

    @Option("--nickname", value: "name", help: "Your name in the group.")
    var nickname: String?

    @OptionGroup var use: UnconfirmedUse

    @OptionGroup var group: GroupArgument

    func validate() throws { try checkCharacters(of: nickname) }

    func execute() throws {
        var (groups, found) = try group.open()
        groups.takesDoubtful = use.anyway
        do {
            let (joined, records) = try join(found, groups)
            let count = counted(joined.members.count, "member")
            group.options.note("joined \(try groups.localName(of: joined)), with \(count)")
            try groups.print(records)
        } catch GroupError.refused {
            try askForInvitation(found, groups)
        }
    }

    /// Joins a group. Returns it, and the records for its members. Throws ``GroupError/refused`` without a valid invitation.
    private func join(
        _ found: StoredGroup, _ groups: OpenGroups
    ) throws -> (StoredGroup, [JSONObject]) {
        let card = groups.owner.card()
        guard let record = card.record else { throw Failure(.bug, "the own card has no signature") }
        let isWaiting = try groups.store.transaction { try $0.wantFiles(of: found) }
        if isWaiting {
            throw Failure(
                .tryAgain, "the changes of \(found.name) are at a relay",
                hint:
                    "fetch them with sotto recv | sotto decrypt, and accept again: sotto group accept \(try groups.argument(of: found)) | sotto encrypt | sotto send"
            )
        }
        return try groups.store.transaction { transaction in
            let group = try groups.present(found, transaction)
            guard group.standing != .member else {
                throw Failure(.no, "you are a member of \(group.name) already")
            }
            try transaction.decline(group, false)
            let entry = GroupChange.Entry(
                card: sha256(JSON.object(record).canonical()), nickname: nickname)
            let joined = try transaction.join(group, entry)
            let bodies = StateTransaction.bodies(
                of: found.id, Array(joined.log.changes.suffix(1)), cards: [card])
            let others = joined.members.map(\.id).filter { $0 != groups.owner.id }
            let records = others.flatMap { person in
                bodies.map { groups.record($0, to: person) }
            }
            return (joined, try groups.told(records))
        }
    }

    /// Prints questions for the changes that an invitation without effect lacks, and throws a failure with status 75. If it lacks
    /// none, the status is 12.
    private func askForInvitation(_ found: StoredGroup, _ groups: OpenGroups) throws {
        let questions = try groups.store.transaction { transaction -> [JSONObject]? in
            guard let group = try transaction.group(found.id),
                try transaction.missingChanges(of: group).count > 0
            else { return nil }
            return try groups.told(groups.news(of: group, transaction))
        }
        guard let questions else {
            throw Failure(.untrusted, "the invitation to \(found.name) is no longer valid")
        }
        try groups.print(questions)
        throw Failure(
            .tryAgain, "changes before the invitation to \(found.name) are missing",
            hint:
                "pass the printed questions to sotto encrypt and sotto send, and accept again after the answer"
        )
    }
}

/// `group decline`: refuses an invitation.
struct DeclineCommand: Program {
    static let configuration = CommandConfiguration(
        name: "decline", abstract: "Decline an invitation. Nothing is sent.",
        usage: "sotto group decline GROUP")

    @OptionGroup var group: GroupArgument

    func execute() throws {
        let (groups, found) = try group.open()
        guard found.standing == .invited else {
            throw Failure(.no, "there is no invitation to \(found.name)")
        }
        try groups.store.transaction { try $0.decline(found) }
        group.options.note("declined the invitation to \(found.name)")
    }
}

/// `group forget`: deletes a group of which one is not a member.
struct ForgetCommand: Program {
    static let configuration = CommandConfiguration(
        name: "forget", abstract: "Delete a group that you left, declined or did not enter.",
        usage: "sotto group forget GROUP",
        discussion: """
            The messages stay in the history; history delete erases them. A later invitation begins the group anew.
            """)

    @OptionGroup var group: GroupArgument

    func execute() throws {
        let (groups, found) = try group.open()
        guard found.standing != .member else {
            throw Failure(
                .usage, "you are a member of \(found.name)",
                hint:
                    "leave it first: sotto group leave \(try groups.argument(of: found)) | sotto encrypt | sotto send"
            )
        }
        try groups.store.transaction { try $0.forget(found) }
        group.options.note("deleted \(found.name), id \(found.id.short)")
    }
}

/// `group leave`: ends the own membership.
struct LeaveCommand: Program {
    static let configuration = CommandConfiguration(
        name: "leave", abstract: "Leave a group.",
        usage: "sotto group leave [--yes] [--anyway] GROUP",
        discussion: """
            Asks first if standard input is a terminal. The messages stay in the history. The only owner first makes \
            another member owner: without an owner nobody can change the rules again.
            """)

    @Flag("--yes", help: "Do not ask.")
    var yes = false

    @Flag(
        "--anyway",
        help: "Also as the only owner, or if no member has confirmed the restored group.")
    var anyway = false

    @OptionGroup var group: GroupArgument

    func execute() throws {
        var (groups, found) = try group.open()
        groups.takesDoubtful = anyway
        let others = found.members.count - 1
        if found.standing == .member, !found.isDoubtful, others > 0 {
            try checkOwners(found, groups)
            try group.options.records.check()
            let name = try groups.localName(of: found)
            try confirm("leave \(name), with \(counted(others, "other member"))")
        }
        try groups.change(found) { group, transaction in
            try transaction.write(
                .leave(transaction.limits(of: groups.owner.id, in: group)), in: group)
        }
    }

    /// Throws a failure with status 64 if the group would have no owner.
    private func checkOwners(_ found: StoredGroup, _ groups: OpenGroups) throws {
        guard !anyway, !found.hasOtherOwner else { return }
        throw Failure(
            .usage, "you are the only owner of \(found.name), and others stay in it",
            hint:
                "make another member owner first: sotto group role \(try groups.argument(of: found)) WHO owner --send; or give --anyway"
        )
    }

    /// Asks if standard input is a terminal. Throws a failure with status 1 for another answer than yes.
    private func confirm(_ action: String) throws {
        guard !yes, Terminal.isTerminal(0) else { return }
        guard try Terminal.confirms("Type yes to \(action): ") else {
            throw Failure(.no, "nothing was changed")
        }
    }
}

/// `group remove`: ends the membership of others.
struct RemoveCommand: Program {
    static let configuration = CommandConfiguration(
        name: "remove", abstract: "Remove members. They can be invited again.",
        usage: "sotto group remove GROUP WHO ...")

    @OptionGroup var members: MembersArgument

    @OptionGroup var mail: RecentMail

    func execute() throws { try members.cut(mail) { .remove($0, $1) } }
}

/// `group ban`: ends the membership of others for good.
struct BanCommand: Program {
    static let configuration = CommandConfiguration(
        name: "ban",
        abstract: "Remove members for good: a member with a lower rank cannot invite them again.",
        usage: "sotto group ban GROUP WHO ...")

    @OptionGroup var members: MembersArgument

    @OptionGroup var mail: RecentMail

    func execute() throws { try members.cut(mail) { .ban($0, $1) } }
}

extension MembersArgument {
    /// Removes or bans the members, and prints the records. The removed people are told too.
    fileprivate func cut(
        _ mail: RecentMail,
        _ act: ([KeyID], [GroupChange.Limit]) -> GroupChange.Act
    ) throws {
        var (groups, found, who) = try open()
        try mail.check(groups)
        groups.takesDoubtful = mail.anyway
        if found.state.policy.door != nil {
            group.options.note(
                "the removed members know the phrase of the door; change it: sotto group door --new-phrase \(try groups.argument(of: found)) | sotto encrypt | sotto send"
            )
        }
        try groups.change(found, also: who) { group, transaction in
            try transaction.cut(who, in: group, act)
        }
    }
}

/// `group role`: changes a member's rank.
struct RoleCommand: Program {
    static let configuration = CommandConfiguration(
        name: "role", abstract: "Change the rank of a member.",
        usage: "sotto group role GROUP WHO RANK",
        discussion: """
            The ranks are owner, admin (changes the rules), moderator (removes members, deletes messages), member \
            (writes) and reader. You give ranks below your own; an owner makes others owner too, and cannot take that \
            back. You can step down; the last owner cannot.
            """)

    @OptionGroup var group: ChangeArgument

    @Argument("who", help: "The member: a contact, an id or a nickname.")
    var who: String

    @Argument("rank", help: "owner, admin, moderator, member or reader.")
    var rank: GroupRank

    func execute() throws {
        let (groups, found) = try group.open()
        let who = try groups.members([who], of: found)[0]
        let argument = try groups.argument(of: found)
        try groups.change(found) { group, transaction in
            guard who != groups.owner.id || rank == .owner || group.hasOtherOwner else {
                throw Failure(
                    .usage, "the group needs an owner, and you are the only one",
                    hint:
                        "make another member owner first: sotto group role \(argument) WHO owner | sotto encrypt | sotto send"
                )
            }
            let changed = try transaction.write(.role(who, rank), in: group)
            guard changed.state.ranks[who] == rank else { throw GroupError.refused }
            return changed
        }
    }
}

extension StoredGroup {
    /// Whether the group has an owner if this member is none any more, or has none now.
    fileprivate var hasOtherOwner: Bool {
        rank < .owner || members.filter { $0.rank == .owner }.count > 1
    }
}

extension GroupRank: ExpressibleByArgument {
    /// Parses the name of a member's rank.
    public init?(argument: String) {
        guard let rank = GroupRank(name: argument), rank > .nobody else { return nil }
        self = rank
    }

    /// The names.
    public static var allArguments: [String] { allCases.dropFirst().map(\.name) }
}

/// `group grant`: shows the own messages to members who joined later.
struct GrantCommand: Program {
    static let configuration = CommandConfiguration(
        name: "grant",
        abstract: "Show your messages to members who joined later, in a group where you decide.",
        usage: """
            sotto group grant GROUP WHO ...
            sotto group grant GROUP --all
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
