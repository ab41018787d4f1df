import Sotto
import SottoDatabase

/// The copies of a message for the other devices of its recipient. The history has the message once: with the id of the envelope
/// for the first device, which the copies name.
extension StateTransaction {
    /// Records the envelopes with the copies of an own message. It is stored when a relay has stored one of its envelopes, and has
    /// failed when all have.
    package func noteCopies(_ envelopes: [String], of message: String) throws(StateError) {
        guard !envelopes.isEmpty else { return }
        let mark = store.mark(sent: message)
        let day = Timestamp.now().seconds / Self.day
        for id in envelopes + [message] {
            try connection.run(
                "INSERT OR IGNORE INTO device_copy (envelope, message, day) VALUES (?, ?, ?)",
                store.mark(sent: id), mark, day)
        }
    }

    /// Returns whether an envelope has a copy of an own message, or items for an own device.
    func isForDevice(_ envelope: String) throws(StateError) -> Bool {
        let mark = store.mark(sent: envelope)
        return try connection.exists(
            """
            SELECT 1 FROM device_copy WHERE envelope = ?1
            UNION ALL SELECT 1 FROM sync_sent WHERE envelope = ?1
            """, mark)
    }

    /// Takes the outcome of an envelope. Returns the state of its message and the keyed hash of the message's id; `nil` while no relay
    /// has it and other envelopes wait, and for items of own devices. Without copies the envelope is the message.
    func settled(
        _ envelope: Int64, _ state: HistoryEntry.State
    ) throws(StateError) -> (state: HistoryEntry.State, message: Int64)? {
        let isStored = state == .stored
        if try takeOutcome(ofSync: envelope, isStored: isStored) { return nil }
        guard let message = try message(ofDeviceCopy: envelope) else { return (state, envelope) }
        try connection.run(
            "UPDATE device_copy SET stored = ? WHERE envelope = ?", isStored, envelope)
        let counts = try connection.first(
            """
            SELECT count(*) - count(stored), coalesce(sum(stored), 0) FROM device_copy
            WHERE message = ?
            """, message
        ) { (open: $0.integer(0), stored: $0.integer(1)) }
        guard let counts, counts.stored > 0 || counts.open == 0 else { return nil }
        return (counts.stored > 0 ? .stored : state, message)
    }

    /// Returns the keyed hash of the id of the own message of which an envelope with a keyed hash had a copy, or `nil`.
    func message(ofDeviceCopy envelope: Int64) throws(StateError) -> Int64? {
        try connection.first("SELECT message FROM device_copy WHERE envelope = ?", envelope) {
            $0.integer(0)
        }
    }

    /// Returns the newest own message that an envelope told an own device, or `nil`.
    func message(toldIn envelope: Int64) throws(StateError) -> HistoryEntry? {
        let number = try connection.first(
            "SELECT message FROM sync_copy WHERE envelope = ?", envelope
        ) { $0.integer(0) }
        guard let number else { return nil }
        return try historyEntry(number: number)
    }

    /// Whether a copy of an own message for a device is among envelopes that wait, and the number of those with an outcome.
    func deviceCopies(
        of message: String, among waiting: () -> [String]
    ) throws(StateError) -> (isWaiting: Bool, settled: Int) {
        let copies = try connection.rows(
            "SELECT envelope, stored FROM device_copy WHERE message = ?", store.mark(sent: message)
        ) { (envelope: $0.integer(0), isOpen: $0.isNull(1)) }
        let open = Set(copies.filter(\.isOpen).map(\.envelope))
        let isWaiting = !open.isEmpty && waiting().contains { open.contains(store.mark(sent: $0)) }
        return (isWaiting, copies.count - open.count)
    }

    /// Forgets the copies whose outcomes come no more.
    func forgetOldCopies() throws(StateError) {
        let last = Timestamp.now().seconds / Self.day - Outbox.outcomeDays
        try connection.run("DELETE FROM device_copy WHERE day < ?", last)
        try connection.run("DELETE FROM sync_copy WHERE day < ?", last)
    }

    // MARK: Arrival

    /// Returns the number of the message of which an envelope with a copy was opened before, or `nil`.
    func message(ofCopy id: String, _ digest: [UInt8]) throws(StateError) -> Int64? {
        guard try hasDevices() else { return nil }
        if hasArrivedCopies == nil {
            hasArrivedCopies = try connection.exists("SELECT 1 FROM arrived_copy LIMIT 1")
        }
        guard hasArrivedCopies == true else { return nil }
        return try connection.first(
            "SELECT message FROM arrived_copy WHERE envelope = ?", mark(ofCopy: id, digest)
        ) { $0.integer(0) }
    }

    /// Notes that the envelope with a copy of a message was opened.
    package func noteArrival(
        ofCopy id: String, _ digest: [UInt8], of number: Int64
    ) throws(StateError) {
        hasArrivedCopies = true
        try connection.run(
            "INSERT OR REPLACE INTO arrived_copy (envelope, message, day) VALUES (?, ?, ?)",
            mark(ofCopy: id, digest), number, IdentityStore.today)
    }

    private func mark(ofCopy id: String, _ digest: [UInt8]) -> Int64 {
        store.mark(envelope: "copy \(id) \(hex(digest))")
    }
}
