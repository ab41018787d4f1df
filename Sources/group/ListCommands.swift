import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool

/// `group list`.
struct ListCommand: Program {
    static let configuration = CommandConfiguration(
        name: "list", abstract: "List the groups: name, id, place, members, rank.",
        usage: "sotto group list [--text | --json]")

    @OptionGroup var form: GroupForm

    @OptionGroup var options: GroupOptions

    func validate() throws { try form.check(options) }

    func execute() throws {
        let groups = try options.open()
        let (all, unreadable) = try groups.store.groups()
        guard !all.isEmpty || !unreadable.isEmpty else {
            throw Failure(
                .no, options.quiet ? "" : "there are no groups",
                hint: options.quiet ? nil : "create one: sotto group create --help")
        }
        let (names, untold) = try groups.store.preview { transaction in
            (
                try transaction.shownGroupNames(),
                try all.map { try transaction.untold(in: $0) }
            )
        }
        guard form.isText(options) else {
            return try groups.print(
                try zip(all, untold).map { try $0.record(groups, $1, called: names[$0.id]) }
                    + unreadable.map(\.record))
        }
        var table = Table()
        for (group, untold) in zip(all, untold) {
            table.add([
                names[group.id].map { Table.cut($0, to: Table.nameWidth) } ?? "-",
                group.id.short, group.standing.rawValue,
                counted(group.members.count, "member"),
                group.standing == .member
                    ? group.rank.name
                    : group.standing == .invited
                        ? "by \(try groups.inviter(of: group).map { try groups.name(of: $0) } ?? "?")"
                        : "-",
                untold?.fact ?? "",
            ])
        }
        for group in unreadable {
            table.add([
                group.name.isEmpty ? "-" : Table.cut(group.name, to: Table.nameWidth),
                group.id?.short ?? "-", "cannot be read", "-", "-", "",
            ])
        }
        let output = try Output(path: "-", content: .text)
        try output.writeText(table.text)
        try output.finish()
        if untold.contains(where: { $0 != nil }) {
            options.note(
                "to send the changes and invitations: sotto group sync | sotto encrypt | sotto send"
            )
        }
    }
}

extension UntoldChanges {
    /// The changes and people in words.
    fileprivate var fact: String {
        var facts: [String] = []
        if members > 0 {
            facts.append("\(counted(changes, "change")) not told to \(counted(members, "member"))")
        }
        if !invited.isEmpty { facts.append("\(counted(invited.count, "invitation")) not sent") }
        if !granted.isEmpty {
            facts.append("your messages not shown yet to \(counted(granted.count, "member"))")
        }
        return facts.joined(separator: ", ")
    }

    /// The member `untold` of the record of a group.
    fileprivate var record: JSONObject {
        JSONObject([
            ("changes", .integer(Int64(changes))), ("members", .integer(Int64(members))),
            (
                "invited",
                invited.isEmpty ? nil : .array(invited.map { .string($0.description) })
            ),
            (
                "granted",
                granted.isEmpty ? nil : .array(granted.map { .string($0.description) })
            ),
        ])
    }
}

extension OpenGroups {
    /// Returns the member who invited the owner to a group, or `nil`.
    fileprivate func inviter(of group: StoredGroup) throws -> KeyID? {
        try store.preview { try $0.inviter(of: group) }
    }
}

extension UnreadableGroup {
    /// The record that `list` prints.
    fileprivate var record: JSONObject {
        JSONObject([
            ("v", .integer(1)), ("type", .string("group")),
            ("id", id.map { .string($0.description) }), ("name", .string(name)),
            ("standing", .string("unreadable")),
        ])
    }
}

extension StoredGroup {
    /// The record that `list` and `show` print. `shown` is the name in texts for the owner.
    func record(
        _ groups: OpenGroups, _ untold: UntoldChanges?, called shown: String?
    ) throws -> JSONObject {
        JSONObject(
            [
                ("v", .integer(1)), ("type", .string("group")),
                ("id", .string(id.description)), ("name", .string(name)),
                ("called", shown.flatMap { $0 == name ? nil : .string($0) }),
                ("standing", .string(standing.rawValue)),
                ("rank", rank == .nobody ? nil : .string(rank.name)),
                ("members", .integer(Int64(members.count))),
                ("invited", invited.isEmpty ? nil : .integer(Int64(invited.count))),
                (
                    "by",
                    standing == .invited
                        ? try groups.inviter(of: self).map { .string($0.description) } : nil
                ),
                ("continues", continued.map { .string($0.description) }),
                (
                    "unconfirmed",
                    isUnconfirmed || isDoubtful || awaitsDrawn ? .bool(true) : nil
                ),
                ("deleted", isDeleted ? .bool(true) : nil),
                ("knownFromInviterAlone", isKnownFromInviterAlone ? .bool(true) : nil),
                ("untold", untold.map { .object($0.record) }),
                ("policy", .object(state.policy.object)),
                ("changes", .integer(Int64(log.changes.count))),
                ("state", .string(hex(state.digest))),
                (
                    "forks",
                    log.forks.isEmpty
                        ? nil
                        : .array(
                            log.forks.map {
                                .array([.string($0.0.description), .string($0.1.description)])
                            })
                ),
            ]
                + state.values.filter { $0.key != "name" }.sorted { $0.key < $1.key }.map {
                    ($0.key, $0.value.json)
                })
    }
}

/// `group show`.
struct ShowCommand: Program {
    static let configuration = CommandConfiguration(
        name: "show", abstract: "Print a group with its rules.",
        usage: "sotto group show [--text | --json] GROUP",
        discussion: """
            state is a digest of members and rules. It is the same for all members who have the same changes. forks \
            are changes by which somebody told two members different things. unconfirmed says that no member has let \
            you into a room yet, has confirmed a group that was restored from a backup, or has confirmed the changes \
            that came with an invitation. missing counts the messages that did not arrive, by author, and missingChanges the \
            changes that members named and that did not arrive, since missingSince: group sync asks for them. owed counts \
            your messages of which no copy was made for a member who may read them, by member.
            """)

    @OptionGroup var form: GroupForm

    @OptionGroup var group: GroupArgument

    func validate() throws { try form.check(group.options) }

    /// Seconds after which a missing change counts as lost.
    private static let week: Int64 = 7 * 86_400

    func execute() throws {
        let (groups, found) = try group.open(for: .reading)
        let (missing, changes, since) = try groups.store.preview {
            let changes = try $0.missingChanges(of: found)
            return (try $0.missingMessages(of: found), changes.count, changes.since)
        }
        let (untold, owed) = try groups.store.preview {
            (try $0.untold(in: found), try $0.owedMessages(in: found))
        }
        var record = try found.record(
            groups, untold, called: groups.localName(of: found))
        let authors = missing.sorted { $0.key.description < $1.key.description }
        if !authors.isEmpty {
            record["missing"] = .array(
                authors.map { id, messages in
                    let count = JSON.integer(Int64(messages.count))
                    return .object(["from": .string(id.description), "messages": count])
                })
        }
        let lacking = Dictionary(owed.values.joined().map { ($0, 1) }, uniquingKeysWith: +).sorted {
            $0.key.description < $1.key.description
        }
        if !lacking.isEmpty {
            record["owed"] = .array(
                lacking.map { id, count in
                    .object([
                        "to": .string(id.description), "messages": .integer(Int64(count)),
                    ])
                })
        }
        if changes > 0 {
            record["missingChanges"] = .integer(Int64(changes))
            record["missingSince"] = since.map { .string($0.description) }
        }
        try form.print(record, group.options)
        try note(untold, of: found, groups)
        let doubt = GroupError.doubtful(id: found.id.short)
        if found.isDoubtful, let hint = Failure(core: doubt)?.hint {
            let first = try groups.store.preview { try $0.confirmers(of: found) }.first
            let fact =
                try first.map {
                    "\(try groups.name(of: $0)) alone has confirmed the group since it was restored, and gets no message until another member does"
                } ?? "no member has confirmed the group since it was restored"
            group.options.note("\(fact): \(hint)")
        }
        if found.isKnownFromInviterAlone, let inviter = found.inviter {
            group.options.note(
                "the group is known from \(try groups.name(of: inviter)) alone, who brought in all other members"
            )
        }
        if let who = sentence(of: try lacking.map { try groups.name(of: $0.key) }) {
            group.options.note(
                "\(counted(owed.count, "message")) of yours not sent to \(who); to see what sends them: sotto history unsent \(try groups.argument(of: found))"
            )
        }
        for (id, messages) in authors {
            let count = counted(messages.count, "message")
            group.options.note(
                "\(count) of \(try groups.name(of: id)) did not arrive: ask again with sotto group sync | sotto encrypt | sotto send"
            )
        }
        if changes > 0 {
            let age = since.map { Timestamp.now().seconds - $0.seconds } ?? 0
            let fact =
                age > Self.week
                ? "did not arrive in \(age / 86_400) days, and no member supplied them; a relay may withhold them"
                : "did not arrive"
            group.options.note(
                "\(counted(changes, "change")) of the group \(fact): ask again with sotto group sync | sotto encrypt | sotto send"
            )
        }
        if found.members.count > 100, found.state.policy.post < .admin {
            group.options.note(
                "a group of more than 100 members causes much mail; announcements are better: sotto group policy \(try groups.argument(of: found)) post=admin | sotto encrypt | sotto send"
            )
        }
    }
}

extension ShowCommand {
    /// Names the changes and invitations that were not sent, with the commands.
    private func note(
        _ untold: UntoldChanges?, of found: StoredGroup, _ groups: OpenGroups
    ) throws {
        guard let untold else { return }
        let name = try groups.argument(of: found)
        if untold.members > 0 {
            group.options.note(
                "\(counted(untold.changes, "change")) not told to \(counted(untold.members, "member")): sotto group sync \(name) | sotto encrypt | sotto send"
            )
        }
        for person in untold.invited {
            let who = try groups.name(of: person)
            group.options.note(
                "the invitation was not sent to \(who): sotto group sync \(name) | sotto encrypt | sotto send"
            )
        }
        for person in untold.granted {
            let who = try groups.name(of: person)
            group.options.note(
                "your messages were not shown to \(who): sotto group sync \(name) | sotto encrypt | sotto send"
            )
        }
    }
}

/// `group participants`.
struct ParticipantsCommand: Program {
    static let configuration = CommandConfiguration(
        name: "participants",
        abstract: "List the members and the invited people: name, rank, nickname, id, and marks.",
        usage: "sotto group participants [--text | --json] GROUP")

    @OptionGroup var form: GroupForm

    @OptionGroup var group: GroupArgument

    func validate() throws { try form.check(group.options) }

    /// A member, or a person who is invited.
    private struct Person {
        let id: KeyID
        /// The rank; of an invited person the one that they get.
        let rank: GroupRank
        let isInvited: Bool
    }

    func execute() throws {
        let (groups, found) = try group.open(for: .reading)
        let notes = try groups.store.preview { try $0.notes(of: found) }
        let names = try groups.chosenNames(in: found)
        let known = try groups.store.preview { try $0.lookAlikeNames() }
        let people =
            found.members.map { Person(id: $0.id, rank: $0.rank, isInvited: false) }
            + found.invited.map { Person(id: $0.id, rank: $0.rank, isInvited: true) }
        func holder(_ member: KeyID) -> LookAlikeNames.Holder? {
            names[member].flatMap { known.holder(like: $0, of: member) }
        }
        func sees(_ person: Person) -> Bool {
            !person.isInvited && found.showsMessages(of: groups.owner.id, to: person.id, notes)
        }
        func showsLater(_ person: Person) -> Bool {
            person.id == groups.owner.id && found.showsToNewcomers
        }
        guard form.isText(group.options) else {
            return try groups.print(
                people.map { person in
                    let joined = person.isInvited ? nil : found.log.joined(person.id)
                    return JSONObject([
                        ("v", .integer(1)), ("type", .string("participant")),
                        ("id", .string(person.id.description)),
                        ("standing", person.isInvited ? .string("invited") : nil),
                        ("role", .string(person.rank.name)),
                        ("nickname", names[person.id].map { .string($0) }),
                        ("looksLike", holder(person.id).map { .string($0.name) }),
                        ("name", .string(try groups.name(of: person.id))),
                        ("joined", joined.map { .string($0.description) }),
                        ("me", person.id == groups.owner.id ? .bool(true) : nil),
                        ("seesMe", .bool(sees(person))),
                        ("newcomersSeeMe", showsLater(person) ? .bool(true) : nil),
                    ])
                })
        }
        let output = try Output(path: "-", content: .text)
        var table = Table(headings: ["NAME", "RANK", "NICKNAME", "ID"], on: output)
        for person in people {
            var marks: [String] = []
            if person.isInvited {
                marks.append("invited, no answer yet")
            } else if !sees(person) {
                marks.append("does not see your messages")
            }
            if let holder = holder(person.id) { marks.append(holder.likeness) }
            if showsLater(person) { marks.append("later members see your messages") }
            table.add([
                Table.cut(try groups.name(of: person.id), to: Table.nameWidth), person.rank.name,
                Table.cut(names[person.id] ?? "-", to: Table.nameWidth),
                person.id.short, marks.joined(separator: ", "),
            ])
        }
        try output.writeText(table.text)
        try output.finish()
    }
}

extension StoredGroup {
    /// Whether a member reads the messages of the owner of this state. `notes` are all notes about members.
    func showsMessages(
        of owner: KeyID, to member: KeyID, _ notes: [KeyID: GroupMemberNote]
    ) -> Bool {
        member == owner || state.policy.visibility != .granted || notes[member]?.isGranted == true
            || log.joined(member, before: owner)
    }
}

/// `group log`.
struct LogCommand: Program {
    static let configuration = CommandConfiguration(
        name: "log", abstract: "Print the signed changes of a group, in the order of storing.",
        usage: "sotto group log GROUP")

    @OptionGroup var group: GroupArgument

    func execute() throws {
        let (groups, found) = try group.open(for: .reading)
        try groups.print(
            try found.log.changes.map { try JSON.object(parsing: $0.bytes) })
    }
}
