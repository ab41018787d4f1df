import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool

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
        var groups = try group.options.open()
        guard groups.owner.owner == nil else { throw GroupError.firstDevice }
        let found = try groups.group(group.name, for: .acting)
        groups.takesDoubtful = use.anyway
        do {
            let (joined, records) = try join(found, groups)
            let count = counted(joined.members.count, "member")
            let invited = joined.invited.count
            let others =
                invited == 0 ? "" : "; \(invited) more \(invited == 1 ? "is" : "are") invited"
            group.options.note("joined \(try groups.localName(of: joined)), with \(count)\(others)")
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
                .tryAgain, "the changes of \(try groups.localName(of: found)) are at a relay",
                hint:
                    "fetch them with sotto recv | sotto decrypt, and accept again: sotto group accept \(try groups.argument(of: found)) | sotto encrypt | sotto send"
            )
        }
        return try groups.store.transaction { transaction in
            let group = try groups.present(found, transaction)
            guard group.standing != .member else {
                let name = try transaction.shownName(of: group.id)
                throw Failure(.no, "you are a member of \(name) already")
            }
            try transaction.decline(group, false)
            let entry = GroupChange.Entry(
                card: sha256(JSON.object(record).canonical()), nickname: nickname)
            let joined = try transaction.join(group, entry)
            let bodies = StateTransaction.bodies(
                of: found.id, Array(joined.log.changes.suffix(1)), cards: [card])
            let others = joined.members.map(\.id).filter { $0 != groups.owner.id }
            var records = others.flatMap { person in
                bodies.map { $0.record(to: person) }
            }
            if try transaction.hasOtherDevices() {
                // The members learn the devices, and the devices the group.
                records += try groups.news(of: joined, transaction)
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
        let name = try groups.localName(of: found)
        guard let questions else {
            throw Failure(.untrusted, "the invitation to \(name) is no longer valid")
        }
        try groups.print(questions)
        throw Failure(
            .tryAgain, "changes before the invitation to \(name) are missing",
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
        let name = try groups.localName(of: found)
        try groups.store.transaction { transaction in
            let group = try groups.present(found, transaction)
            guard group.standing == .invited else {
                throw Failure(.no, "there is no invitation to \(name)")
            }
            try transaction.decline(group)
        }
        group.options.note("declined the invitation to \(name)")
    }
}

/// `group forget`: deletes a group of which one is not a member.
struct ForgetCommand: Program {
    static let configuration = CommandConfiguration(
        name: "forget", abstract: "Delete a group that you left, declined or did not enter.",
        usage: "sotto group forget [--anyway] GROUP",
        discussion: """
            The messages stay in the history, where the name has the beginning of the id; history delete erases them. A \
            later invitation begins the group anew. The command is refused while members do not know of your changes, \
            such as your leaving.
            """)

    @Flag("--anyway", help: "Continue although your changes were not told to all members.")
    var anyway = false

    @OptionGroup var group: GroupArgument

    func execute() throws {
        let (groups, found) = try group.open()
        let name = try groups.localName(of: found)
        let argument = try groups.argument(of: found)
        try groups.store.transaction { transaction in
            let group = try groups.present(found, transaction)
            guard group.standing != .member else {
                throw Failure(
                    .usage, "you are a member of \(name)",
                    hint:
                        "leave it first: sotto group leave \(argument) | sotto encrypt | sotto send"
                )
            }
            if !anyway, group.isInTouch, let untold = try transaction.untold(in: group) {
                try check(untold, name, argument)
            }
            try transaction.forget(group)
        }
        group.options.note("deleted \(name), id \(found.id.short)")
    }

    /// Throws a failure with status 64 if members do not know of changes that `group sync` would tell them.
    private func check(
        _ untold: UntoldChanges, _ name: String, _ argument: String
    ) throws(Failure) {
        guard untold.members > 0 else { return }
        throw Failure(
            .usage,
            "\(counted(untold.changes, "change")) of \(name) not told to \(counted(untold.members, "member"))",
            hint: "tell them first: sotto group sync \(argument) --send, or give --anyway")
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

    @OptionGroup var question: Confirmation

    @Flag(
        "--anyway",
        help: "Continue as the only owner, or if no member has confirmed the restored group.")
    var anyway = false

    @OptionGroup var group: GroupArgument

    func execute() throws {
        var (groups, found) = try group.open()
        groups.takesDoubtful = anyway
        let name = try groups.localName(of: found)
        let argument = try groups.argument(of: found)
        let others = found.members.count - 1
        if found.standing == .member, !found.isDoubtful {
            if others > 0 {
                try checkOwners(found, name, argument)
                try group.options.records.check()
            }
            let with = others > 0 ? "with \(counted(others, "other member"))" : "its only member"
            try question.ask(to: "leave \(name), \(with)")
        }
        try groups.change(found) { group, transaction in
            // Another owner can have left or stepped down during the question.
            if !group.isDoubtful, group.members.count > 1 {
                try checkOwners(group, name, argument)
            }
            return try transaction.write(
                .leave(transaction.limits(of: groups.owner.id, in: group)), in: group)
        }
        group.options.note(
            "the group stays in the list; when the members know, delete it here: sotto group forget \(argument)"
        )
    }

    /// Throws a failure with status 64 if the group would have no owner.
    private func checkOwners(
        _ group: StoredGroup, _ name: String, _ argument: String
    ) throws(Failure) {
        guard !anyway, !group.hasOtherOwner else { return }
        throw Failure(
            .usage, "you are the only owner of \(name), and others stay in it",
            hint:
                "make another member owner first: sotto group role \(argument) WHO owner --send; or give --anyway"
        )
    }
}

extension StoredGroup {
    /// Whether the group keeps an owner without this member.
    var hasOtherOwner: Bool {
        rank < .owner || members.filter { $0.rank == .owner }.count > 1
    }
}
