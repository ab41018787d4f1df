public import Sotto

/// The address book.
extension IdentityStore {
    /// What a name or the beginning of one means.
    public enum Resolution: Sendable {
        /// This contact.
        case found(Contact)
        /// Several; their names, or ids where they have none.
        case ambiguous([String])
        /// Nobody.
        case unknown
    }

    /// The fewest characters of an id that may stand for it.
    public static let idPrefix = 8

    /// All contacts, by name.
    public func contacts() throws(StateError) -> [Contact] {
        try database.use { connection throws(StateError) in try contacts(connection) }
    }

    func contacts(_ connection: Connection) throws(StateError) -> [Contact] {
        let select = try connection.statement("SELECT sealed FROM contact")
        defer { select.reset() }
        var rows: [[UInt8]] = []
        while try select.step() { rows.append(select.bytes(0)) }
        var contacts: [Contact] = []
        for row in rows { contacts.append(try contact(sealed: row)) }
        return contacts.sorted {
            ($0.name.lowercased(), $0.id.description) < ($1.name.lowercased(), $1.id.description)
        }
    }

    /// The addresses of ours that contacts were given. Mail to that of one who is blocked is not taken.
    public func addresses() throws(StateError) -> [SendAddress] {
        try contacts().filter { !$0.isBlocked }.compactMap(\.address)
    }

    /// The contact of an id.
    public func contact(id: SessionID) throws(StateError) -> Contact? {
        try database.use { connection throws(StateError) in
            try contact(connection, "SELECT sealed FROM contact WHERE peer = ?", mark(id))
        }
    }

    /// Whom `text` means: a whole name, a whole id, or the beginning of one name or of one id.
    public func resolve(_ text: String) throws(StateError) -> Resolution {
        let exact = try database.use { connection throws(StateError) in
            try contact(connection, "SELECT sealed FROM contact WHERE name = ?", mark(name: text))
        }
        if let exact { return .found(exact) }
        if let id = SessionID(text) {
            return try contact(id: id).map { .found($0) } ?? .unknown
        }
        guard !text.isEmpty else { return .unknown }
        let beginning = text.lowercased()
        let matches = try contacts().filter {
            $0.name.lowercased().hasPrefix(beginning)
                || beginning.utf8.count >= Self.idPrefix && $0.id.description.hasPrefix(beginning)
        }
        // A name that was typed in another form of Unicode is the whole name, too.
        if let whole = matches.first(where: { $0.name.lowercased() == beginning }) {
            return .found(whole)
        }
        switch matches.count {
        case 0: return .unknown
        case 1: return .found(matches[0])
        default:
            return .ambiguous(matches.map { $0.name.isEmpty ? $0.id.description : $0.name })
        }
    }

    fileprivate func contact(_ connection: Connection, _ sql: String, _ mark: [UInt8])
        throws(StateError) -> Contact?
    {
        let select = try connection.statement(sql)
        defer { select.reset() }
        select.bind(1, mark)
        return try select.step() ? try contact(sealed: select.bytes(0)) : nil
    }

    private func contact(sealed: [UInt8]) throws(StateError) -> Contact {
        guard let record = try? JSON.object(parsing: try unseal(sealed, .contact)),
            let contact = Contact(record: record)
        else { throw .unsealable(path: database.path) }
        return contact
    }
}

extension StateTransaction {
    /// The contact of an id.
    public func contact(id: SessionID) throws(StateError) -> Contact? {
        if let known = contacts[id] { return known }
        let found = try store.contact(
            connection, "SELECT sealed FROM contact WHERE peer = ?", store.mark(id))
        contacts[id] = .some(found)
        return found
    }

    /// The contact of a whole name, without regard to case and to the form of Unicode in which it is written.
    public func contact(named name: String) throws(StateError) -> Contact? {
        let exact = try store.contact(
            connection, "SELECT sealed FROM contact WHERE name = ?", store.mark(name: name))
        guard exact == nil, !name.utf8.allSatisfy({ $0 < 0x80 }) else { return exact }
        return try store.contacts(connection).first { $0.name.lowercased() == name.lowercased() }
    }

    /// The contacts that have the Whisper2 account of this name, on their card or learned. All are looked through.
    public func contacts(whisperID: WhisperID) throws(StateError) -> [Contact] {
        try store.contacts(connection).filter { $0.profiles.whisper2?.id == whisperID }
    }

    /// The contact that has the Whisper2 account of this name. All are looked through.
    public func contact(whisperID: WhisperID) throws(StateError) -> Contact? {
        try contacts(whisperID: whisperID).first
    }

    /// The contacts that have this id in Mercurio. All are looked through.
    public func contacts(mercurioID: SessionID) throws(StateError) -> [Contact] {
        try store.contacts(connection).filter { $0.profiles.mercurio?.id == mercurioID }
    }

    /// The contacts that have this user's id in Kecalek, compared as bytes. All are looked through.
    public func contacts(kecalekUserID: String) throws(StateError) -> [Contact] {
        try store.contacts(connection).filter {
            $0.profiles.kecalek?.utf8.elementsEqual(kecalekUserID.utf8) == true
        }
    }

    /// The contact that has this user's id in Kecalek. All are looked through.
    public func contact(kecalekUserID: String) throws(StateError) -> Contact? {
        try contacts(kecalekUserID: kecalekUserID).first
    }

    /// Whether there is any contact that is not merely blocked: an address book in use.
    public func hasContacts() throws(StateError) -> Bool {
        if let hasAnyContact { return hasAnyContact }
        let found = try connection.integer(
            "SELECT EXISTS (SELECT 1 FROM contact WHERE name IS NOT NULL)")
        hasAnyContact = found != 0
        return found != 0
    }

    /// Adds or replaces a contact. `formerID` is the id under which it was kept before, if that changed.
    ///
    /// Throws ``ContactError/nameTaken(_:)`` when another contact has the name.
    public func save(_ contact: Contact, formerID: SessionID? = nil) throws {
        if !contact.name.isEmpty, let other = try self.contact(named: contact.name),
            other.id != contact.id, other.id != formerID
        {
            throw ContactError.nameTaken(contact.name)
        }
        if let formerID, formerID != contact.id { try remove(id: formerID) }
        let upsert = try connection.statement(
            """
            INSERT INTO contact (peer, name, sealed) VALUES (?, ?, ?)
            ON CONFLICT (peer) DO UPDATE SET name = excluded.name, sealed = excluded.sealed
            """)
        upsert.bind(1, store.mark(contact.id))
        if contact.name.isEmpty {
            upsert.bindNull(2)
        } else {
            upsert.bind(2, store.mark(name: contact.name))
        }
        upsert.bind(3, store.seal(contact.record.serialized(), .contact))
        try upsert.run()
        contacts[contact.id] = contact
        hasAnyContact = nil
    }

    /// Removes a contact. What was opened, and sessions with them, stay.
    public func remove(id: SessionID) throws(StateError) {
        let delete = try connection.statement("DELETE FROM contact WHERE peer = ?")
        delete.bind(1, store.mark(id))
        try delete.run()
        contacts[id] = .some(nil)
        hasAnyContact = nil
    }
}

/// Why the address book refuses a change.
public enum ContactError: Error, Sendable, Equatable {
    /// Another contact has this name.
    case nameTaken(String)
}

extension ContactError: ReportableError {
    /// What went wrong.
    public var message: String {
        switch self {
        case .nameTaken(let name): "another contact is called \(name)"
        }
    }

    /// What to do about it.
    public var hint: String? {
        switch self {
        case .nameTaken(let name):
            "rename the other first: contact rename \(shellWord(name)) \(shellWord(name + "-2"))"
        }
    }

    /// 73: it cannot be created.
    public var status: Int32 { 73 }
}
