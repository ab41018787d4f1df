import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool

/// The group that a command works on, and its options.
struct GroupArgument: ArgumentGroup {
    @OptionGroup var options: GroupOptions

    @Argument("group", help: "The group.")
    var name: String

    /// Opens the state, and finds the group. Throws a failure with status 66 if the argument names none.
    func open(for use: NameUse = .acting) throws -> (groups: OpenGroups, group: StoredGroup) {
        let groups = try options.open()
        return (groups, try groups.group(name, for: use))
    }
}

/// The check before a change of a group. A change that does not follow those of others can void them, so the mail must
/// have been received a short time ago.
struct RecentMail: ArgumentGroup {
    @Flag(
        "--anyway",
        help:
            "Continue although the mail was last received more than an hour ago, or no member confirmed the restored group."
    )
    var anyway = false

    /// Seconds for which the received mail counts as complete.
    private static let freshness: Int64 = 3_600

    /// Throws a failure with status 75 if the mail was last received too long ago.
    func check(_ groups: OpenGroups) throws {
        guard !anyway, let last = try groups.store.preview({ try $0.lastReceived() }) else {
            return
        }
        let age = Timestamp.now().seconds - last.seconds
        guard age > Self.freshness else { return }
        throw Failure(
            .tryAgain,
            "the mail was last received \(age / 3_600) h ago, and the change could void what others changed since",
            hint: "receive it first: sotto recv | sotto decrypt; or give --anyway")
    }
}

/// The question before a change that cannot be taken back.
struct Confirmation: ArgumentGroup {
    @Flag("--yes", help: "Do not ask.")
    var yes = false

    /// Asks on the terminal. Throws a failure with status 1 for another answer than yes.
    func ask(to action: String) throws {
        guard !yes, Terminal.isTerminal(0) else { return }
        guard try Terminal.confirms("Type yes to \(action): ") else {
            throw Failure(.no, "nothing was changed")
        }
    }
}

/// The use of a group that was restored from a backup, before a member has confirmed it.
struct UnconfirmedUse: ArgumentGroup {
    @Flag("--anyway", help: "Continue although no member has confirmed the restored group.")
    var anyway = false
}

/// The group that a command changes.
struct ChangeArgument: ArgumentGroup {
    @OptionGroup var group: GroupArgument

    @OptionGroup var mail: RecentMail

    /// Opens the state, and finds the group. Throws a failure with status 75 if the mail was last received too long ago.
    func open() throws -> (groups: OpenGroups, group: StoredGroup) {
        var (groups, found) = try group.open()
        try mail.check(groups)
        groups.takesDoubtful = mail.anyway
        return (groups, found)
    }
}

/// The members and invited people that a command works on, and their group.
struct MembersArgument: ArgumentGroup {
    @OptionGroup var group: GroupArgument

    @Argument("who", help: "The members or invited people: contacts, ids or nicknames.")
    var names: [String]

    /// Opens the state, and finds the group and the people. Throws a failure with status 66 for a person who is neither a member nor
    /// invited.
    func open() throws -> (groups: OpenGroups, group: StoredGroup, members: [KeyID]) {
        let (groups, group) = try group.open()
        return (groups, group, try groups.members(names, of: group, orInvited: true))
    }
}

/// The options of every subcommand.
struct GroupOptions: ArgumentGroup {
    @OptionGroup var identity: IdentityOptions

    @OptionGroup var lock: LockOptions

    @OptionGroup var records: RecordOutput

    @Flag("-q", "--quiet", help: "Print no notes on stderr.")
    var quiet = false

    /// Prints a note on stderr unless `--quiet` is set.
    func note(_ text: String) { if !quiet { Terminal.say("\(GroupTool.toolName): \(text)") } }

    /// Opens the address book and the state.
    func open() throws -> OpenGroups { try OpenGroups(self) }
}

/// The form of the output about groups.
struct GroupForm: ArgumentGroup {
    @Flag("--text", help: "Print text for people, in a pipe or a file too.")
    var text = false

    /// Throws ``UsageError`` if records are requested too.
    func check(_ options: GroupOptions) throws {
        try OutputForm.check(text: text, json: options.records.isForced)
    }

    /// Returns whether the form is text.
    func isText(_ options: GroupOptions) -> Bool {
        OutputForm.isText(text: text, json: options.records.isForced)
    }

    /// Prints a record, or its members as text.
    func print(_ record: JSONObject, _ options: GroupOptions) throws {
        let output = try Output(path: "-", content: .text)
        if isText(options) {
            try output.writeText(record.table.text)
        } else {
            try output.writeRecord(record)
        }
        try output.finish()
    }
}

/// The groups that a command works on.
struct OpenGroups {
    let book: AddressBook
    let store: IdentityStore
    let owner: Identity
    private let output: RecordOutput
    /// Whether the command changes a restored group that no member has confirmed.
    var takesDoubtful = false

    init(_ options: GroupOptions) throws {
        book = AddressBook(options.identity.choice.load, lockTimeout: options.lock.timeout)
        owner = try book.identity()
        output = options.records
        store = try book.writableStore()
        try store.takeGroupFiles()
    }

    /// Returns the group that an argument names. Throws a failure with status 66 if none does.
    func group(_ text: String, for use: NameUse) throws -> StoredGroup {
        try book.requiredGroup(text, for: use)
    }

    /// Changes a group of which the owner is a member, in a transaction, and prints the records that tell the members. `also` are
    /// further people who are told of their removal.
    func change(
        _ found: StoredGroup, also: [KeyID] = [],
        _ body: (StoredGroup, StateTransaction) throws -> StoredGroup
    ) throws {
        let records = try store.transaction { transaction in
            let group = try present(found, transaction)
            guard group.standing == .member else { throw GroupError.notMember }
            return try told(news(of: try body(group, transaction), also: also, transaction))
        }
        try print(records)
    }

    /// Returns a group as it is in a transaction that changes it: another process may have changed it meanwhile.
    func present(_ found: StoredGroup, _ transaction: StateTransaction) throws -> StoredGroup {
        guard let group = try transaction.group(found.id) else { throw GroupError.unknown }
        return takesDoubtful ? try transaction.confirm(group) : group
    }

    /// Returns the records that tell the members, and those who are members no longer, what they lack.
    func news(
        of group: StoredGroup, also: [KeyID] = [], asksForKeys: Bool = false,
        _ transaction: StateTransaction
    ) throws -> [JSONObject] {
        try transaction.news(of: group, also: also, asksForKeys: asksForKeys).map {
            $0.body.record(to: $0.to)
        }
    }

    /// Returns records for `encrypt`. Throws a failure with status 64 if there are any and they would be lost on a terminal: the
    /// transaction then changes nothing.
    func told(_ records: [JSONObject]) throws(Failure) -> [JSONObject] {
        if !records.isEmpty { try output.check() }
        return records
    }

    /// Prints records.
    func print(_ records: [JSONObject]) throws {
        let output = try Output(path: "-", content: .text)
        for record in records { try output.writeRecord(record) }
        try output.finish()
    }

    /// Returns the ids of members, and of invited people if they count too, by the names of contacts, ids, or nicknames, as
    /// ``NameRule`` says. Throws a failure with status 66 for another person.
    ///
    /// It is not called within a transaction, in which the address book cannot be read.
    func members(
        _ names: [String], of group: StoredGroup, orInvited: Bool = false
    ) throws -> [KeyID] {
        let found = try lookUp(names, in: group, orInvited: orInvited)
        return try zip(names, found).map { name, id in
            guard let id else {
                throw Failure(
                    .noInput, "\(name) is not a member",
                    hint: "list the members: sotto group participants \(try argument(of: group))")
            }
            return id
        }
    }

    /// Returns the ids like ``members(_:of:orInvited:)``, or `nil` for another person.
    func lookUp(
        _ names: [String], in group: StoredGroup, orInvited: Bool
    ) throws -> [KeyID?] {
        guard !names.isEmpty else { return [] }
        let contacts = try store.contacts()
        let ids = Array(group.state.ranks.keys) + (orInvited ? group.invited.map(\.id) : [])
        let known =
            contacts.map { NameRule.Known($0) }
            + ids.map { id in
                NameRule.Known(.peer(id), id: id.description, name: "")
            }
        // A member chooses the nickname, so it stands behind the names of all contacts.
        let chosen = try chosenNames(in: group)
        let nicknamed = ids.map { id in
            NameRule.Known(.peer(id), id: id.description, name: chosen[id] ?? "")
        }
        return try names.map { name in
            if ContactName.meansOwner(name) { return owner.id }
            let found =
                try book.meaning(of: name, among: known, for: .acting)?.peer
                ?? KeyID(RecipientArgument.pasted(name))
                ?? book.meaning(of: name, among: nicknamed, for: .acting)?.peer
            return found.flatMap { ids.contains($0) ? $0 : nil }
        }
    }

    /// Returns the name of a group in texts for the owner.
    func localName(of group: StoredGroup) throws -> String {
        try store.preview { try $0.shownName(of: group.id) }
    }

    /// Returns the argument that names a group, quoted for the shell. A name that the owner gave the conversation can be that of
    /// another group too.
    func argument(of group: StoredGroup) throws -> String {
        shellWord(try store.preview { try $0.groupNames() }[group.id] ?? group.id.short)
    }

    /// Returns the argument that names a person, quoted for the shell: the name of a contact, or the id of another person.
    func argument(of id: KeyID) throws -> String {
        try store.readableContact(id: id)?.argument ?? id.description
    }

    /// Returns the names that the members and invited people chose: their nicknames, or the names on their cards.
    func chosenNames(in group: StoredGroup) throws -> [KeyID: String] {
        try store.preview { transaction in
            let people = group.state.ranks.keys + group.invited.map(\.id)
            let names = try people.compactMap { id in
                try transaction.memberName(of: id, in: group).map { (id, $0) }
            }
            return Dictionary(names) { first, _ in first }
        }
    }

    /// Returns the displayed name of a person: the contact's name, or the beginning of the id.
    func name(of id: KeyID) throws -> String {
        if id == owner.id { return "me" }
        let name = try store.readableContact(id: id)?.name ?? ""
        return name.isEmpty ? id.short + "…" : name
    }
}

/// Throws a usage error if a name of a group or a nickname has characters that the name of a contact cannot have.
func checkCharacters(of name: String?) throws {
    if let reason = name.flatMap({ ContactName.characterRefusal(of: $0) }) {
        throw UsageError(reason)
    }
}
