public import Sotto
import SottoDatabase

/// The items that wait in the outbox, for all relays.
extension Outbox {
    /// A relay for which items wait.
    public struct Queue: Sendable, Equatable {
        /// The relay's address, as ``append(_:relay:)`` was given it. It is empty for items whose relay is not known.
        public let relay: String
        /// The number of items that wait.
        public let count: Int
    }

    /// An item that waits.
    public struct Waiting: Sendable {
        /// The kind of the item; `nil` for an unknown one, which cannot be sent.
        public let kind: Item.Kind?
        /// The envelope's id; for a publication, its owner's id.
        public let id: String
        /// The envelope's recipient; for a publication, its owner.
        public let to: String
        /// The relay's address, or empty if it is not known.
        public let relay: String
        /// Midnight (UTC) of the day on which the item was queued.
        public let since: Timestamp
        /// The item's length in bytes.
        public let count: Int
        /// The type of a record for a relay's directory; `nil` for other items.
        public let recordType: String?
    }

    /// Returns the relays for which items wait that are not held, in the order of their oldest item.
    public func queues() throws(StateError) -> [Queue] {
        try read(
            """
            SELECT relay, count(*) FROM outbox
            WHERE outcome IS NULL AND held IS NULL GROUP BY relay ORDER BY min(number)
            """
        ) { row in Queue(relay: row.text(0), count: Int(row.integer(1))) }
    }

    /// Returns all waiting items in the order of sending.
    public func list() throws(StateError) -> [Waiting] {
        try read(
            """
            SELECT kind, id, recipient, relay, day,
                CASE kind WHEN 4 THEN json_extract(CAST(envelope AS TEXT), '$.size')
                    ELSE length(envelope) END,
                CASE kind WHEN 2 THEN json_extract(CAST(envelope AS TEXT), '$.type') END
            FROM outbox
            WHERE outcome IS NULL ORDER BY number
            """
        ) { row in
            Waiting(
                kind: Item.Kind(rawValue: row.integer(0)), id: row.text(1), to: row.text(2),
                relay: row.text(3), since: Timestamp(seconds: row.integer(4) * 86_400),
                count: Int(row.integer(5)), recordType: row.isNull(6) ? nil : row.text(6))
        }
    }

    /// Returns the paths of the files of all waiting blobs.
    public func blobPaths(in folder: BlobFolder) throws(StateError) -> Set<String> {
        Set(
            try read("SELECT id FROM outbox WHERE kind = 4 AND outcome IS NULL") { $0.text(0) }
                .compactMap { bytes(hex: $0) }.map { folder.outgoing($0) })
    }

    /// Removes all items with this id, with an envelope the blob that it alone needs, and with a blob the envelopes that need
    /// it. They are not sent, unless a process is sending them now. A process that waits
    /// for their outcome gets `outcome`. Returns how many were removed.
    public func drop(id: String, outcome: String) throws(StateError) -> Int {
        let numbers = try read(
            """
            SELECT number FROM outbox WHERE outcome IS NULL AND (id = ?1 OR needs = ?1
                OR kind = 4 AND id = (SELECT needs FROM outbox AS envelope WHERE envelope.id = ?1)
                AND NOT EXISTS (SELECT 1 FROM outbox AS other
                    WHERE other.needs = outbox.id AND other.id <> ?1 AND other.outcome IS NULL))
            """, id
        ) { $0.integer(0) }
        try settle(numbers.map { ($0, outcome) })
        return numbers.count
    }

    /// Removes all items for a relay, the blobs that only they need, and the envelopes for other relays that need a blob there,
    /// as ``drop(id:outcome:)`` does. Returns the ids, each once, in the order of the items.
    public func drop(relay: String, outcome: String) throws(StateError) -> [String] {
        let items = try read(
            """
            SELECT number, id FROM outbox WHERE outcome IS NULL AND (relay = ?1
                OR needs IN (SELECT id FROM outbox AS blob
                    WHERE blob.kind = 4 AND blob.relay = ?1 AND blob.outcome IS NULL)
                OR kind = 4 AND EXISTS (SELECT 1 FROM outbox AS envelope
                    WHERE envelope.needs = outbox.id AND envelope.relay = ?1
                    AND envelope.outcome IS NULL)
                AND NOT EXISTS (SELECT 1 FROM outbox AS other
                    WHERE other.needs = outbox.id AND other.relay <> ?1
                    AND other.outcome IS NULL))
            ORDER BY number
            """, relay
        ) { ($0.integer(0), $0.text(1)) }
        try settle(items.map { ($0.0, outcome) })
        var seen: Set<String> = []
        return items.map(\.1).filter { seen.insert($0).inserted }
    }
}
