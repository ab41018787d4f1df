public import Sotto
import SottoDatabase

/// The known records about the end and the replacement of an id. A revocation stays for ever, also without a contact.
public struct KnownNews: Sendable, Equatable {
    /// The revocation, or `nil`.
    public internal(set) var revocation: Revocation?
    /// The successions with different successors: at most two, which prove a fork.
    public internal(set) var successions: [Succession] = []

    /// The only succession of an id that is not revoked, or `nil`.
    public var succession: Succession? {
        revocation == nil && successions.count == 1 ? successions[0] : nil
    }

    /// Whether the old key signed two successors, so that neither counts.
    public var isForked: Bool { successions.count > 1 }

    /// Nothing.
    public static let none = KnownNews()

    private init() {}

    var record: JSONObject {
        JSONObject([
            ("revocation", revocation.map { .object($0.record) }),
            ("successions", .array(successions.map { .object($0.record) })),
        ])
    }

    init?(record: JSONObject) {
        do {
            revocation = try record["revocation"]?.object.map { try Revocation(record: $0) }
            successions = try (record["successions"]?.array ?? []).compactMap(\.object)
                .map { try Succession(record: $0) }
        } catch {
            return nil
        }
    }
}

/// The result of taking a record about an identity.
public enum NewsOutcome: Sendable {
    /// The id belongs to no contact, and nothing was stored.
    case unknown(KeyID)
    /// The record was taken before, and nothing has changed. `nil` if the id belongs to no contact any more.
    case known(Contact?)
    /// The new key is offered for the contact until the user decides.
    case offered(Contact, Succession)
    /// The old key of the contact signed another successor too, so neither counts.
    case forked(Contact?)
    /// The id is revoked. The contacts are those whose key it is, or whose key was accepted because it signed a succession.
    case revoked(KeyID, [Contact])
    /// A succession that is not taken, and the reason.
    case refused(Succession, NewsRefusal)
    /// The record is about the owner of the state.
    case own(IdentityNews)
}

/// A reason to refuse a succession.
public enum NewsRefusal: Sendable, Equatable {
    /// The old id is revoked.
    case revoked
    /// The new id is revoked.
    case successorRevoked
    /// The new id was replaced by the old one, or by others that lead to it, or it is the reader's own.
    case loop
}

extension StateTransaction {
    /// The most successions that are followed to find a loop.
    private static let chainLimit = 16

    /// Returns what is known about the end and the replacement of an id.
    public func news(of id: KeyID) throws(StateError) -> KnownNews {
        let mark = store.mark(id)
        return try store.readable(.news, mark) { () throws(StateError) in
            try connection.first("SELECT sealed FROM news WHERE peer = ?", mark) {
                row throws(StateError) in try known(row.bytes(0), mark)
            }
        }.flatMap(\.self) ?? .none
    }

    private func known(_ sealed: [UInt8], _ mark: [UInt8]) throws(StateError) -> KnownNews {
        let bytes = try store.unseal(sealed, .news(peer: mark))
        guard let record = try? JSON.object(parsing: bytes), let news = KnownNews(record: record)
        else { throw .unsealable(path: store.database.path) }
        return news
    }

    /// Queues all that is known about identities for the owner's other devices.
    func tellDevicesNews() throws(StateError) {
        let all = try connection.rows("SELECT sealed, peer FROM news") {
            row throws(StateError) in
            let (sealed, mark) = (row.bytes(0), row.bytes(1))
            return try store.readable(.news, mark) { () throws(StateError) in
                try known(sealed, mark)
            }
        }
        for news in all.compactMap(\.self) {
            for succession in news.successions { try tellDevices(.news(succession.record)) }
            if let revocation = news.revocation { try tellDevices(.news(revocation.record)) }
        }
    }

    /// Returns whether an id is known to be revoked.
    public func isRevoked(_ id: KeyID) throws(StateError) -> Bool {
        if hasNews == nil {
            hasNews = try connection.integer("SELECT EXISTS (SELECT 1 FROM news)") != 0
        }
        guard hasNews == true else { return false }
        return try news(of: id).revocation != nil
    }

    private func keep(_ news: KnownNews, of id: KeyID) throws(StateError) {
        let mark = store.mark(id)
        try connection.run(
            """
            INSERT INTO news (peer, sealed) VALUES (?, ?)
            ON CONFLICT (peer) DO UPDATE SET sealed = excluded.sealed
            """, mark, store.seal(news.record.serialized(), .news(peer: mark)))
        hasNews = true
    }

    /// Takes a record about an identity, as sotto-formats(5) says in "Succession and revocation". `isGiven` is true for a record
    /// that the user gave: a revocation is then stored for every id.
    public func take(
        _ news: IdentityNews, isGiven: Bool = false, at time: Timestamp = .now()
    ) throws -> NewsOutcome {
        switch news {
        case .succession(let succession): try take(succession, at: time)
        case .revocation(let revocation): try take(revocation, isGiven: isGiven, at: time)
        }
    }

    private func take(_ succession: Succession, at time: Timestamp) throws -> NewsOutcome {
        let former = succession.former
        var known = try news(of: former)
        if former == owner.id {
            // The owner's own, or a second one of a thief.
            return owner.succession.map { $0.agrees(with: succession) } == true
                ? .known(nil) : .own(.succession(succession))
        }
        guard known.revocation == nil else { return .refused(succession, .revoked) }
        guard try !isRevoked(succession.next) else {
            return .refused(succession, .successorRevoked)
        }
        guard try !leads(from: succession.next, to: former) else {
            return .refused(succession, .loop)
        }
        let holder = try allContacts().first { $0.former == former }
        let contact = try readableContact(id: former)
        if known.successions.contains(where: { $0.agrees(with: succession) }) {
            if known.isForked { return .forked(contact ?? holder) }
            // The user may have rejected the key. It is offered again only by the user.
            guard let contact, !contact.name.isEmpty else { return .known(holder) }
            return contact.changed?.id == succession.next
                ? .offered(contact, succession) : .known(contact)
        }
        guard known.successions.count < 2 else { return .forked(contact ?? holder) }
        if !known.successions.isEmpty {
            known.successions.append(succession)
            try keep(known, of: former)
            try tellDevices(.news(succession.record))
            if var holder {
                try doubt(&holder, .fork, at: time)
                return .forked(holder)
            }
            return .forked(contact)
        }
        guard var contact, !contact.name.isEmpty, !contact.isBlocked else {
            return .unknown(former)
        }
        known.successions = [succession]
        try keep(known, of: former)
        try tellDevices(.news(succession.record))
        contact.changed = succession.card
        contact.getsRepeats = false
        try save(contact)
        try recordSystem(
            .keysUpdated, about: former,
            members: [("next", .string(succession.next.description))], at: time)
        return .offered(contact, succession)
    }

    /// Whether known successions lead from one id to another, or the first is the owner's.
    private func leads(from start: KeyID, to end: KeyID) throws(StateError) -> Bool {
        if start == owner.id { return true }
        var ids = [start]
        var place = 0
        while place < ids.count, place < Self.chainLimit {
            if ids[place] == end { return true }
            ids += try news(of: ids[place]).successions.map(\.next).filter { !ids.contains($0) }
            place += 1
        }
        return ids.contains(end)
    }

    private func take(
        _ revocation: Revocation, isGiven: Bool, at time: Timestamp
    ) throws -> NewsOutcome {
        let id = revocation.id
        var known = try news(of: id)
        let contacts = try allContacts().filter {
            $0.id == id || $0.former == id || $0.changed?.id == id
        }
        if known.revocation != nil {
            return id == owner.id ? .own(.revocation(revocation)) : .known(contacts.first)
        }
        guard isGiven || id == owner.id || !contacts.isEmpty || known != .none else {
            return .unknown(id)
        }
        known.revocation = revocation
        try keep(known, of: id)
        try tellDevices(.news(revocation.record))
        guard id != owner.id else { return .own(.revocation(revocation)) }
        var changed: [Contact] = []
        for var contact in contacts where !contact.name.isEmpty {
            if contact.id == id {
                try doubt(&contact, .revoked, at: time)
            } else if contact.former == id {
                try doubt(&contact, .void, at: time)
            }
            changed.append(contact)
        }
        return .revoked(id, changed)
    }

    /// Lowers the trust in a contact's key, and stores the contact.
    private func doubt(
        _ contact: inout Contact, _ doubt: Contact.Doubt, at time: Timestamp
    ) throws {
        // A revocation of the key itself is final.
        guard contact.doubt != .revoked else { return }
        contact.doubt = doubt
        contact.trust = .unverified
        contact.getsRepeats = false
        try save(contact)
        try recordSystem(
            doubt == .revoked ? .revoked : .keysDoubtful, about: contact.id, at: time)
    }
}

extension IdentityStore {
    /// Seconds between two questions about the revocation and the successions of a contact.
    public static let newsPause: Int64 = 7 * 86_400
}

extension StateTransaction {
    /// An id about which a relay is asked.
    public struct NewsQuestion: Sendable, Equatable {
        /// The id.
        public let id: KeyID
        /// The address of its relay.
        public let relay: String
    }

    /// Returns the contacts that were added a week ago, and about whom their relays were not asked for a week: not blocked, not
    /// revoked, with a relay on the card. The owner's own id is one of them, so that the owner learns what a thief published.
    public func newsQuestions(at time: Timestamp = .now()) throws(StateError) -> [NewsQuestion] {
        var questions: [NewsQuestion] = []
        func add(_ id: KeyID, _ relay: String?, since start: Int64) throws(StateError) {
            guard let relay else { return }
            let asked = try note(.newsAsked, mark: store.mark(id)) ?? start
            // A question in the future, from a clock that was ahead, does not count.
            guard !(0..<IdentityStore.newsPause).contains(time.seconds - asked) else { return }
            questions.append(NewsQuestion(id: id, relay: relay))
        }
        for contact in try store.contacts(connection)
        where !contact.name.isEmpty && !contact.isBlocked && contact.doubt != .revoked
            && contact.id.isKey
        {
            try add(contact.id, contact.card?.relay, since: contact.added.seconds)
        }
        let made = try connection.integer("SELECT value FROM number WHERE name = 'made'")
        try add(owner.id, owner.relay, since: made)
        return questions
    }

    /// Notes that a relay is asked about ids. Until it has answered, the next question is a day later.
    public func noteNewsQuestions(
        _ ids: [KeyID], areAnswered: Bool, at time: Timestamp = .now()
    ) throws(StateError) {
        let asked = areAnswered ? time.seconds : time.seconds - IdentityStore.newsPause + Self.day
        for id in ids { try setNote(.newsAsked, mark: store.mark(id), to: asked) }
    }
}
