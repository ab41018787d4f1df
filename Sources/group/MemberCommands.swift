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

    /// Finds a person with a card: a contact, or a person whose card a group has. A member or an invited person can be named as in
    /// the other commands of the group.
    init(_ who: String, _ groups: OpenGroups, in group: StoredGroup? = nil) throws {
        let member = try group.flatMap { try groups.lookUp([who], in: $0, orInvited: true)[0] }
        let person = try groups.book.find(member?.description ?? who, for: .acting)
        guard !person.isOwn else { throw Failure(.usage, "you are a member already") }
        try groups.book.check(person, nil)
        let known = try group.flatMap { group in
            try groups.store.preview { try $0.note(of: person.id, in: group).card }
        }
        guard let card = person.card ?? known, card.record != nil else {
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

    /// Returns the records of invitations: the whole log and the cards of the members.
    func invitations(
        of group: StoredGroup, for people: [KeyID], _ transaction: StateTransaction
    ) throws -> [JSONObject] {
        guard !people.isEmpty else { return [] }
        let notes = try transaction.notes(of: group)
        // With its date, it replaces the card that an invited contact has.
        let own = try transaction.ownCard(issued: .now())
        let cards = group.members.compactMap { member in
            member.id == owner.id ? own : notes[member.id]?.card
        }
        let bodies = try transaction.invitation(to: group, cards: cards)
        return people.flatMap { person in bodies.map { $0.record(to: person) } }
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
        let invited = try people.map { try Invited($0, groups, in: found) }
        let names = try invited.map { try groups.name(of: $0.id) }
        let records = try groups.store.transaction { transaction in
            var group = try groups.present(found, transaction)
            guard group.rank > .nobody else { throw GroupError.notMember }
            for (person, name) in zip(invited, names) where group.state.ranks[person.id] != nil {
                self.group.group.options.note(
                    "\(name) is a member already, and gets the group and your keys again")
                try transaction.noteLost(person.id, in: group)
            }
            let new = invited.filter { group.state.ranks[$0.id] == nil }
            if !new.isEmpty {
                group = try groups.invite(new, isReader ? .reader : .member, to: group, transaction)
            }
            let invitations = try groups.invitations(
                of: group, for: invited.map(\.id), transaction)
            return try groups.told(invitations + groups.news(of: group, transaction))
        }
        try groups.print(records)
    }
}

/// `group remove`: ends the membership of others.
struct RemoveCommand: Program {
    static let configuration = CommandConfiguration(
        name: "remove",
        abstract: "Remove members, or take invitations back. They can be invited again.",
        usage: "sotto group remove GROUP WHO ...",
        discussion: """
            A moderator takes back the invitations with a rank below moderator, whoever invited, until the person joins.
            """)

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
    /// Removes or bans the members and the invited people, and prints the records. The removed people are told too.
    fileprivate func cut(
        _ mail: RecentMail,
        _ act: ([KeyID], [GroupChange.Limit]) -> GroupChange.Act
    ) throws {
        var (groups, found, who) = try open()
        try mail.check(groups)
        groups.takesDoubtful = mail.anyway
        let removed = who.filter { found.state.ranks[$0] != nil }
        if found.state.policy.door != nil, !removed.isEmpty {
            group.options.note(
                "the removed members know the phrase of the door; change it: sotto group door --new-phrase \(try groups.argument(of: found)) | sotto encrypt | sotto send"
            )
        }
        // The state has a note about each person to whom it sent an invitation.
        try groups.change(found, also: removed) { group, transaction in
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

extension GroupRank: ExpressibleByArgument {
    /// Parses the name of a member's rank.
    public init?(argument: String) {
        guard let rank = GroupRank(name: argument), rank > .nobody else { return nil }
        self = rank
    }

    /// The names.
    public static var allArguments: [String] { allCases.dropFirst().map(\.name) }
}
