import Arguments
import Sotto
import SottoContacts
import SottoState
import SottoTool

/// The options of every subcommand.
struct GroupOptions: ArgumentGroup {
    @OptionGroup var identity: IdentityOptions

    @OptionGroup var lock: LockOptions

    @Flag("-q", "--quiet", help: "Print no notes on stderr.")
    var quiet = false

    /// Prints a note on stderr unless `--quiet` is set.
    func note(_ text: String) { if !quiet { Terminal.say("\(GroupTool.toolName): \(text)") } }

    /// Opens the address book and the state.
    func open() throws -> OpenGroups { try OpenGroups(self) }
}

/// The groups that a command works on.
struct OpenGroups {
    let book: AddressBook
    let store: IdentityStore
    let owner: Identity
    private let options: GroupOptions

    init(_ options: GroupOptions) throws {
        self.options = options
        book = AddressBook({ try options.identity.load() }, lockTimeout: options.lock.timeout)
        owner = try book.identity()
        store = try book.writableStore()
    }

    /// Returns the group that an argument names. Throws a failure with status 66 if none does.
    func group(_ text: String) throws -> StoredGroup { try book.requiredGroup(text) }

    /// Changes a group in a transaction, and prints the records that tell the members. `also` are others who get the change.
    /// Returns the changed group.
    @discardableResult
    func change(
        _ text: String, also: [SessionID] = [],
        _ body: (StoredGroup, StateTransaction) throws -> StoredGroup
    ) throws -> StoredGroup {
        let id = try group(text).id
        let (changed, records) = try store.transaction { transaction in
            // Another process may have changed the group meanwhile.
            guard let group = try transaction.group(id) else { throw GroupError.unknown }
            let changed = try body(group, transaction)
            return (changed, try news(of: changed, also: also, transaction))
        }
        try print(records)
        return changed
    }

    /// Returns the records that tell the members, and `also`, what they lack.
    func news(
        of group: StoredGroup, also: [SessionID] = [], _ transaction: StateTransaction
    ) throws -> [JSONObject] {
        let notes = try transaction.notes(of: group)
        let members = group.members.map(\.id).filter { $0 != owner.id }
        let told = try members.flatMap { member in
            let note = notes[member] ?? GroupMemberNote(id: member)
            return try transaction.due(for: note, in: group, notes).map { record($0, to: member) }
        }
        let former = notes.keys.filter { group.state.ranks[$0] == nil }
        let others = (also + former.filter { !also.contains($0) }).filter {
            group.state.ranks[$0] == nil
        }
        return told
            + others.sorted { $0.description < $1.description }.flatMap { person in
                let note = notes[person] ?? GroupMemberNote(id: person)
                return transaction.farewell(to: note, in: group).map { record($0, to: person) }
            }
    }

    /// Returns the record of a body for a person, for `encrypt`.
    func record(_ body: GroupBody, to person: SessionID) -> JSONObject {
        [
            "v": .integer(1), "type": .string("message"), "to": .string(person.description),
            "time": .string(Timestamp.now().description), "body": .object(body.record),
        ]
    }

    /// Prints records.
    func print(_ records: [JSONObject]) throws {
        let output = try Output(path: "-", content: .text)
        for record in records { try output.writeRecord(record) }
        try output.finish()
    }

    /// Returns the ids of people who are members, by the names of contacts, ids, or nicknames.
    func members(_ names: [String], of group: StoredGroup) throws -> [SessionID] {
        try names.map { name in
            let people = group.state.ranks.keys.filter { id in
                group.state.nicknames[id]?.lowercased() == name.lowercased()
            }
            if let contact = try book.lookUp(name) { return contact.id }
            if let id = SessionID(name) { return id }
            guard let id = people.first else { throw notMember(name, of: group) }
            guard people.count == 1 else {
                throw Failure(
                    .usage, "\(name) is the nickname of several members", hint: "use an id")
            }
            return id
        }
    }

    /// Throws a failure with status 66 if a person is no member of a group. The address book cannot be read within a
    /// transaction.
    func require(_ id: SessionID, in group: StoredGroup) throws {
        guard group.state.ranks[id] == nil else { return }
        throw notMember(try name(of: id), of: group)
    }

    private func notMember(_ name: String, of group: StoredGroup) -> Failure {
        Failure(
            .noInput, "\(name) is not a member",
            hint: "list the members: sotto group participants \(shellWord(group.name))")
    }

    /// Returns the displayed name of a person: the contact's name, or the beginning of the id.
    func name(of id: SessionID) throws -> String {
        if id == owner.id { return "me" }
        let name = try store.contact(id: id)?.name ?? ""
        return name.isEmpty ? id.short + "…" : name
    }
}
