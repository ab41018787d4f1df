package import Sotto
import SottoDatabase

/// A file with changes and cards that a member offers.
package struct OfferedGroupFile: Sendable {
    let number: Int64
    let group: GroupID
    let from: KeyID
    let file: GroupFile

    /// The blob, which has a place.
    package var pointer: BlobPointer { file.pointer }

    /// Reads ``encoded``, or returns `nil`.
    init?(_ bytes: [UInt8], number: Int64) {
        guard let object = try? JSON.object(parsing: bytes),
            let group = object["group"]?.string.flatMap({ GroupID($0) }),
            let from = object["from"]?.string.flatMap({ KeyID($0) }),
            let file = (object["file"]?.object).flatMap({ try? GroupFile($0) })
        else { return nil }
        (self.number, self.group, self.from, self.file) = (number, group, from, file)
    }

    static func encoded(_ file: GroupFile, of group: GroupID, from: KeyID) -> [UInt8] {
        let object: JSONObject = [
            "group": .string(group.description), "from": .string(from.description),
            "file": .object(file.object),
        ]
        return object.serialized()
    }
}

/// The files with changes and cards that members offer. `recv` fetches them, and the next program takes their content.
///
/// An invitation's file is fetched only after `group accept`.
extension StateTransaction {
    /// The stages of a file.
    private enum Stage {
        /// It belongs to an invitation that is not accepted.
        static let offered: Int64 = 0
        /// The file must be fetched.
        static let wanted: Int64 = 1
        /// It was taken or given up. The row keeps it from being fetched again.
        static let done: Int64 = 2
        /// It was taken by a program that opens no messages. Messages may have waited for its changes.
        static let taken: Int64 = 3
    }

    /// The most files of a person for a group that wait, and the most in a day.
    private static let mostWaitingFiles: Int64 = 4
    private static let mostFilesOfDay: Int64 = 24
    /// Days for which the row of a file is kept.
    private static let fileDays: Int64 = 30

    /// Notes a file that a person offers. Without room for it, its changes are asked for in messages. Of an invitation it is
    /// only the inviter's, or in the body that begins the group: `group accept` waits for it. `device` is that of the sender: another
    /// device of the owner brings the whole log.
    func note(
        _ file: GroupFile, from sender: KeyID, _ device: KeyID, in group: StoredGroup,
        beginsGroup: Bool, at time: Timestamp
    ) throws(StateError) {
        let isOwn = sender == owner.id
        let isInvitation = !isOwn && group.standing == .invited
        guard file.pointer.place != nil, device != owner.device,
            isOwn || isInvitation || group.isInTouch && group.state.ranks[sender] != nil
        else { return }
        try connection.run(
            "DELETE FROM group_file WHERE time < ?", time.seconds - Self.fileDays * Self.day)
        if isInvitation, !beginsGroup {
            guard try inviter(of: group) == sender else { return }
        }
        let (mark, source) = (store.mark(file, of: group.id, from: sender), store.mark(sender))
        guard
            try !connection.exists("SELECT 1 FROM group_file WHERE mark = ?", mark)
        else { return }
        let waiting = try connection.integer(
            "SELECT count(*) FROM group_file WHERE group_id = ? AND device = ? AND stage < ?",
            group.number, source, Stage.done)
        let recent = try connection.integer(
            "SELECT count(*) FROM group_file WHERE group_id = ? AND device = ? AND time > ?",
            group.number, source, time.seconds - Self.day)
        guard waiting < Self.mostWaitingFiles, recent < Self.mostFilesOfDay else {
            return try note(missing: file.heads, of: sender, in: group)
        }
        try connection.run(
            """
            INSERT INTO group_file (group_id, mark, device, stage, time, sealed)
            VALUES (?, ?, ?, ?, ?, ?)
            """, group.number, mark, source, isInvitation ? Stage.offered : Stage.wanted,
            time.seconds,
            store.seal(
                OfferedGroupFile.encoded(file, of: group.id, from: sender), .groupFile(mark: mark)))
    }

    /// Wants the files of an invitation that the owner accepts. Returns whether a file of the inviter is still to be fetched.
    /// Files that others offered do not delay the owner.
    package func wantFiles(of group: StoredGroup) throws(StateError) -> Bool {
        try connection.run(
            "UPDATE group_file SET stage = ? WHERE group_id = ? AND stage = ?", Stage.wanted,
            group.number, Stage.offered)
        guard let inviter = try inviter(of: group) else { return false }
        return try connection.exists(
            "SELECT 1 FROM group_file WHERE group_id = ? AND stage = ? AND device = ?",
            group.number,
            Stage.wanted, store.mark(inviter))
    }

    /// Returns the files to fetch, the oldest first, each with the addresses of the relays that may be asked.
    package func wantedFiles() throws(StateError) -> [(file: OfferedGroupFile, relays: [String])] {
        let rows = try connection.rows(
            "SELECT number, mark, sealed FROM group_file WHERE stage = ? ORDER BY number",
            Stage.wanted
        ) { (number: $0.integer(0), mark: $0.bytes(1), sealed: $0.bytes(2)) }
        var files: [OfferedGroupFile] = []
        for row in rows {
            if let file = try offer(row.sealed, mark: row.mark, number: row.number) {
                files.append(file)
            } else {
                try connection.run("DELETE FROM group_file WHERE number = ?", row.number)
            }
        }
        guard !files.isEmpty else { return [] }
        let contacts = try store.contacts(connection).filter { !$0.isBlocked }
        let ownersCard = try ownersCard()?.relay
        var wanted: [(file: OfferedGroupFile, relays: [String])] = []
        for file in files {
            guard let group = try readableGroup(file.group) else { continue }
            let known =
                [owner.relay, ownersCard]
                + contacts.map { $0.card?.record == nil ? nil : $0.card?.relay }
                + group.state.policy.relays.map { $0 }
            wanted.append((file, known.compactMap(\.self)))
        }
        return wanted
    }

    /// Reads the row of a file, or returns `nil` if it cannot be read.
    private func offer(
        _ sealed: [UInt8], mark: [UInt8], number: Int64
    ) throws(StateError) -> OfferedGroupFile? {
        try store.readable(.file, mark) { () throws(StateError) in
            let bytes = try store.unseal(sealed, .groupFile(mark: mark))
            guard let offer = OfferedGroupFile(bytes, number: number) else {
                throw .unsealable(path: store.database.path)
            }
            return offer
        }
    }

    /// Gives up a file that its relay does not have. Its changes are asked for in messages.
    package func giveUp(_ offer: OfferedGroupFile) throws(StateError) {
        try end(offer)
        guard let group = try readableGroup(offer.group) else { return }
        try note(missing: offer.file.heads, of: offer.from, in: group)
    }

    fileprivate func end(_ offer: OfferedGroupFile) throws(StateError) {
        try connection.run(
            "UPDATE group_file SET stage = ? WHERE number = ?", Stage.done, offer.number)
    }

    /// Records that the messages which wait were not tried after a file was taken in this transaction.
    package func leaveHeldMessages() throws(StateError) {
        try connection.run(
            "UPDATE group_file SET stage = ? WHERE number = (SELECT max(number) FROM group_file WHERE stage = ?)",
            Stage.taken, Stage.done)
    }

    /// Whether messages that wait may open: a chain or a change arrived in this transaction, or in another program. Call it
    /// once before they are tried.
    package func triesHeldMessages() throws(StateError) -> Bool {
        if try connection.exists("SELECT 1 FROM group_file WHERE stage = ?", Stage.taken) {
            try connection.run(
                "UPDATE group_file SET stage = ? WHERE stage = ?", Stage.done, Stage.taken)
            return true
        }
        return hasGroupNews
    }

    /// Returns the person who offered a file of an invitation, or `nil`.
    package func offerer(of group: StoredGroup) throws(StateError) -> KeyID? {
        try connection.first(
            "SELECT mark, sealed FROM group_file WHERE group_id = ? ORDER BY number LIMIT 1",
            group.number
        ) { row throws(StateError) in
            try offer(row.bytes(1), mark: row.bytes(0), number: 0)?.from
        } ?? nil
    }

    /// Takes the content of a file, as of a message from the person who offered it. Returns the news, or `nil`.
    fileprivate func take(
        _ offer: OfferedGroupFile, _ file: (changes: [GroupChange], cards: [Card])
    ) throws -> GroupNews? {
        try end(offer)
        let news = try take(GroupBody(offer.group), file: file, from: offer.from)
        // What another device of the owner brings is no news of others.
        return offer.from == owner.id ? news?.withoutEvents : news
    }
}

extension IdentityStore {
    /// Returns the keyed hash of a file that a person offers for a group, 16 bytes. With another place the same content is another
    /// offer: a false place must not hide the true one.
    func mark(_ file: GroupFile, of group: GroupID, from sender: KeyID) -> [UInt8] {
        let offer = Array("file of a group ".utf8) + group.bytes + sender.publicKey
        return keyedHash(offer + JSON.object(file.object).canonical(), key: lookupKey)
    }

    /// Whether a file was fetched whose content was not taken.
    package func hasFetchedFiles() throws -> Bool {
        try preview { try $0.wantedFiles() }.contains { offer, _ in
            blobs.incoming(offer).map {
                FetchedBlob($0, size: offer.pointer.size) != nil
            } ?? false
        }
    }

    /// Takes the content of the files that were fetched. Returns what changed, and who offered it. `events` is called in
    /// the transaction with each of them.
    package func takeFetchedFiles(
        _ events: (GroupNews, KeyID, StateTransaction) throws -> Void = { _, _, _ in }
    ) throws {
        for (offer, _) in try preview({ try $0.wantedFiles() }) {
            guard let path = blobs.incoming(offer),
                let blob = FetchedBlob(path, size: offer.pointer.size)
            else { continue }
            // Only a complete file is here, so another content is not that of the pointer.
            let records = try? offer.file.records(in: blob)
            do {
                try transaction { transaction in
                    guard let records else { return try transaction.giveUp(offer) }
                    if let news = try transaction.take(offer, records) {
                        try events(news, offer.from, transaction)
                    }
                }
            } catch is GroupError {
                // The rules refuse the content, and no part was stored.
                try transaction { try $0.giveUp(offer) }
            }
            blob.remove()
        }
    }
}

extension BlobFolder {
    /// Returns the path of an offered file that is being fetched, or was fetched, or `nil` if the offer has no place. Another
    /// member's offer of a blob with the same id has another path.
    package func incoming(_ offer: OfferedGroupFile) -> String? {
        offer.pointer.place.map {
            incoming(
                $0.id,
                of: [
                    "from": .string(offer.from.description),
                    "group": .string(offer.group.description),
                ])
        }
    }
}
