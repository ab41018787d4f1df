public import Sotto
import SottoDatabase

/// The last profile of each contact, and that of the owner.
extension IdentityStore {
    /// Returns the profile of a contact or of the owner, or `nil` if none is known or it cannot be read.
    public func profile(of id: KeyID) throws(StateError) -> OwnerProfile? {
        try use { connection throws(StateError) in try profile(of: id, connection) }
    }

    fileprivate func profile(
        of id: KeyID, _ connection: StateConnection
    ) throws(StateError) -> OwnerProfile? {
        let mark = mark(id)
        return try readable(.profile, mark) { () throws(StateError) in
            try connection.first("SELECT sealed FROM profile WHERE peer = ?", mark) {
                row throws(StateError) in
                let sealed = row.bytes(0)
                guard
                    let record = try? JSON.object(
                        parsing: try unseal(sealed, .profile(peer: mark))),
                    let profile = try? OwnerProfile(record: record)
                else { throw .unsealable(path: database.path) }
                return profile
            }
        } ?? nil
    }

    /// Returns the number of the message that brought the picture of a contact's profile, or `nil` without a picture, or if its
    /// blob is nowhere.
    package func message(ofPictureOf id: KeyID) throws(StateError) -> Int64? {
        try use { connection throws(StateError) in
            guard let picture = try profile(of: id, connection)?.picture, picture.blob.place != nil,
                let row = try conversationRow(.peer(id), connection)
            else { return nil }
            let entries = try entries(
                """
                WHERE conversation = ? AND kind = ? AND sent = 0 AND sealed IS NOT NULL
                ORDER BY number DESC LIMIT 1000
                """, row.number, HistoryEntry.Kind.event.rawValue, connection: connection)
            return entries.first { entry in
                guard !entry.isImported, let body = entry.record["body"]?.object,
                    case .profile(let profile)? = (try? MessageBody(body))?.kind
                else { return false }
                return profile.picture == picture
            }?.number
        }
    }

    /// Returns the profiles of the owner and of all contacts that have one.
    package func profiles() throws(StateError) -> [(id: KeyID, profile: OwnerProfile)] {
        var found: [(KeyID, OwnerProfile)] = []
        for id in try [owner.id] + contacts().map(\.id) {
            if let profile = try profile(of: id) { found.append((id, profile)) }
        }
        return found
    }
}

extension StateTransaction {
    /// Returns the profile of a contact or of the owner, or `nil` if none is known or it cannot be read.
    public func profile(of id: KeyID) throws(StateError) -> OwnerProfile? {
        try store.profile(of: id, connection)
    }

    /// Replaces the profile of a contact or of the owner by one that was issued later. Returns the profile that is kept; `nil` if
    /// this one is not later, or `id` is no contact or is blocked.
    ///
    /// A picture with many pixels is left out: a program that shows it would need much memory.
    @discardableResult
    package func keep(_ new: OwnerProfile, of id: KeyID) throws(StateError) -> OwnerProfile? {
        if id != owner.id {
            guard let contact = try readableContact(id: id), !contact.name.isEmpty,
                !contact.isBlocked
            else { return nil }
        }
        if let known = try profile(of: id), known.issued >= new.issued { return nil }
        var profile = new
        if let avatar = new.avatar, JPEGSize(of: avatar)?.isSmall != true { profile.avatar = nil }
        if profile.avatar == nil { profile.picture = nil }
        let mark = store.mark(id)
        try connection.run(
            """
            INSERT INTO profile (peer, sealed) VALUES (?, ?)
            ON CONFLICT (peer) DO UPDATE SET sealed = excluded.sealed
            """, mark,
            store.seal(JSONObject(profile.members).serialized(), .profile(peer: mark)))
        return profile
    }

    /// Takes a profile that arrived, and tells of its changes in the conversation.
    func take(
        _ profile: OwnerProfile, of peer: KeyID, from author: KeyID?, at time: Timestamp
    ) throws(StateError) {
        guard author == peer, peer != owner.id else { return }
        let known = try self.profile(of: peer)
        guard let kept = try keep(profile, of: peer) else { return }
        let changes = kept.changes(since: known)
        guard !changes.isEmpty else { return }
        try recordSystem(
            .profile, about: peer,
            members: [
                ("changed", .array(changes.map { .string($0.rawValue) })),
                ("name", changes.contains(.name) ? kept.name.map { .string($0) } : nil),
            ], at: time)
    }

    /// Removes the profile of a former contact. If it becomes a contact again, it gets the owner's profile again.
    func removeProfile(of id: KeyID) throws(StateError) {
        try connection.run("DELETE FROM profile WHERE peer = ?", store.mark(id))
        try removeNote(.profile, mark: store.mark(id))
    }
}

/// The owner's profile for its contacts.
extension StateTransaction {
    /// The owner's profile as a contact sees it.
    public struct ProfileCopy: Sendable, Hashable {
        /// The profile, without what the contact does not see.
        public let profile: OwnerProfile
        /// Whether it differs from the profile that was sent to the contact last. A profile without parts is not due before another one
        /// was sent.
        public let isDue: Bool
    }

    /// Changes the owner's profile. Returns it, or `nil` if nothing changed.
    public func changeOwnProfile(
        at time: Timestamp = .now(), _ change: (inout OwnerProfile) throws -> Void
    ) throws -> OwnerProfile? {
        let known = try profile(of: owner.id)
        var profile = known ?? OwnerProfile(issued: time)
        try change(&profile)
        guard !profile.changes(since: known).isEmpty else { return nil }
        profile.issued = later(known.map { $0.issued }, than: time)
        return try keep(profile, of: owner.id)
    }

    /// Returns the owner's profile for a contact, or `nil` if the owner never had one.
    public func ownProfile(
        for contact: Contact, at time: Timestamp = .now()
    ) throws(StateError) -> ProfileCopy? {
        guard let own = try profile(of: owner.id) else { return nil }
        var copy = own.without(Contact.detailParts.subtracting(contact.seenDetails))
        let mark = store.mark(contact.id)
        let sent = try note(.profile, mark: mark)
        let last = try note(.profileIssued, mark: mark).map { Timestamp(seconds: $0) }
        // The contact keeps only a later one.
        copy.issued = max(later(last, than: time), own.issued)
        return ProfileCopy(
            profile: copy,
            isDue: sent.map { $0 != self.mark(ofParts: copy) } ?? !copy.parts.isEmpty)
    }

    /// Notes that the owner's profile was encrypted for a person.
    func noteSent(_ profile: OwnerProfile, to peer: KeyID) throws(StateError) {
        guard peer != owner.id else { return }
        let mark = store.mark(peer)
        try setNote(.profile, mark: mark, to: self.mark(ofParts: profile))
        try setNote(.profileIssued, mark: mark, to: profile.issued.seconds)
    }

    /// Returns `time`, or the second after `last` if that is later.
    private func later(_ last: Timestamp?, than time: Timestamp) -> Timestamp {
        last.map { max(time, Timestamp(seconds: $0.seconds + 1)) } ?? time
    }

    /// Returns the keyed hash of the parts of a profile, without the place of the picture, 8 bytes.
    private func mark(ofParts profile: OwnerProfile) -> Int64 {
        var parts = profile
        parts.picture?.blob.place = nil
        parts.issued = Timestamp(seconds: 0)
        let text = JSON.object(JSONObject(parts.members)).canonical()
        return store.mark(envelope: "profile " + String(decoding: text, as: UTF8.self))
    }
}
