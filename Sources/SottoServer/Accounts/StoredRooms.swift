import Sotto
import SottoDatabase
import SottoWire

/// The record of a room as a store keeps it.
struct StoredRoom: Sendable, Equatable {
    /// The door of the room.
    let door: KeyID
    /// The key that signed the record, 32 bytes. The first one keeps the place.
    let publisher: [UInt8]
    /// The number of the record.
    let seq: Int64
    /// The record, one line.
    let bytes: [UInt8]

    /// Minutes without a publication after which a record is deleted.
    static let lifeMinutes: Int64 = 366 * 24 * 60
}

extension StoreTransaction {
    /// Stores the record of a room. A record with a number that is not higher changes nothing.
    func publish(_ room: StoredRoom) throws(StoreError) -> Outcome {
        let known = try connection.first(
            "SELECT publisher FROM room WHERE key = ?", room.door.publicKey
        ) { $0.bytes(0) }
        if let known, known != room.publisher { return .conflict }
        guard known != nil || !isScarce else { return .diskFull }
        try connection.run(
            """
            INSERT INTO room (key, publisher, seq, minute, body) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (key) DO UPDATE SET
                seq = excluded.seq, minute = excluded.minute, body = excluded.body
            WHERE excluded.seq > room.seq
            """, room.door.publicKey, room.publisher, room.seq, minute, room.bytes)
        return .published
    }
}

extension SQLiteStore {
    func room(of door: KeyID) throws(StoreError) -> [UInt8]? {
        try reader.use { connection throws(StoreError) in
            try connection.first("SELECT body FROM room WHERE key = ?", door.publicKey) {
                row throws(StoreError) in row.bytes(0)
            }
        }
    }

    /// Deletes records that were not published again for a year.
    static func forgetRooms(
        _ connection: StoreConnection, at minute: Int64, _ limit: Int64
    ) throws(StoreError) -> Bool {
        try connection.run(
            """
            DELETE FROM room WHERE key IN (SELECT key FROM room WHERE minute <= ? LIMIT ?)
            """, minute - StoredRoom.lifeMinutes, limit)
        return connection.changes == limit
    }
}

extension PostgresStore {
    func room(of door: KeyID) throws(StoreError) -> [UInt8]? {
        var query = PostgresQuery("SELECT * FROM sotto.room($1)")
        query.add(door.publicKey)
        let rows = try reader.rows(query)
        return rows.count > 0 ? rows.bytes(0, 0) : nil
    }

    /// Deletes records that were not published again for a year.
    func sweepRooms(at minute: Int64, _ limit: Int64) throws(StoreError) -> Bool {
        var query = PostgresQuery("SELECT sotto.sweep_rooms($1, $2)")
        query.add(minute - StoredRoom.lifeMinutes)
        query.add(limit)
        let rows = try writer.transaction([query]).rows[0]
        return (0..<rows.count).contains { rows.integer($0, 0) != 0 }
    }
}
