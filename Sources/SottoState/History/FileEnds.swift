public import Sotto
import SottoDatabase

/// Files of messages that a relay deletes before they are fetched.
///
/// No relay tells when it deletes a file, and no sender learns whether it was fetched. So the end follows from the times of the
/// messages, see ``MessageView/fileEnd``. Only that a file was fetched is stored.
extension IdentityStore {
    /// The seconds before the end of a file during which a person is warned: two days.
    public static let fileWarning: Int64 = 2 * 86_400

    /// The most messages that a search for such files reads.
    private static let mostRead = 2_000

    /// Notes that the file of a received message was fetched. `record` is that of the message, which another history can have
    /// printed.
    public func noteFetched(_ record: JSONObject) throws {
        guard let id = record["id"]?.string else { return }
        let numbers = try historyEntries(id: id).filter { entry in
            // A message to oneself is only in the history as a sent one.
            (entry.direction == .received || entry.peer == owner.id)
                && entry.record["from"] == record["from"]
        }.map(\.number)
        guard !numbers.isEmpty else { return }
        try transaction { transaction in
            for number in numbers { try transaction.noteFetched(number) }
        }
    }

    /// Whether the file of a message was fetched. Of an imported message this is not known.
    func isFileFetched(
        _ number: Int64, _ connection: StateConnection
    ) throws(StateError) -> Bool {
        try connection.exists(
            "SELECT 1 FROM message WHERE number = ? AND (fetched = 1 OR arrived IS NOT NULL)",
            number)
    }

    /// Returns the received messages whose files their relays delete within ``fileWarning`` and were not fetched, the file that ends
    /// first first. Of very many messages only the newest are searched.
    public func expiringFiles(at now: Timestamp = .now()) throws(StateError) -> [MessageView] {
        // A message is here since it arrived; a file that was sent before can end at any time.
        let recent = try use { connection throws(StateError) in
            try entries(
                """
                WHERE time > ? AND sent = 0 AND kind <= ? AND sealed IS NOT NULL
                ORDER BY time DESC LIMIT ?
                """, now.seconds - Blob.lifetime, HistoryEntry.Kind.event.rawValue, Self.mostRead,
                connection: connection)
        }
        var files = recent.filter { $0.kind == .content && $0.file != nil }
        for event in recent where event.isRepeat {
            for id in event.body?.targetIDs ?? [] {
                for entry in try historyEntries(id: id, in: event.conversation)
                where entry.direction == .received && entry.file != nil
                    && !files.contains(where: { $0.number == entry.number })
                {
                    files.append(entry)
                }
            }
        }
        let ending = try views(of: files).filter { view in
            guard let end = view.fileEnd, !view.isFileFetched, view.entry.state == .new else {
                return false
            }
            return end > now && end.seconds <= now.seconds + Self.fileWarning
        }
        return ending.sorted { ($0.fileEnd ?? now) < ($1.fileEnd ?? now) }
    }
}

extension StateTransaction {
    fileprivate func noteFetched(_ number: Int64) throws(StateError) {
        try connection.run("UPDATE message SET fetched = 1 WHERE number = ?", number)
    }
}

extension HistoryEntry {
    /// The file of the message as it was first written, or `nil`.
    public var file: BlobPointer? {
        guard record["body"]?.object?["type"]?.string == "file", case .file(let file)? = body?.kind
        else { return nil }
        return file.blob
    }

    /// Whether an event was received, or its envelopes left here.
    var hasLeft: Bool {
        switch state {
        case .new: direction == .received
        case .sentElsewhere, .handedOn, .stored, .delivered, .read: true
        case .waiting, .dropped, .lapsed, .failed, .claimed, .deleted, .damaged, .expired: false
        }
    }
}
