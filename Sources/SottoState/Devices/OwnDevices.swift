public import Sotto
import SottoDatabase

/// Another device of the owner.
public struct OwnDevice: Sendable {
    /// The card of the device, with its mailbox and keys.
    public let card: Card
    /// The name on the list; `nil` for the first device.
    public let name: String?
    /// The rights of the device.
    public let state: DeviceList.State

    /// The id of the device, which is its mailbox.
    public var id: KeyID { card.id }
}

/// The news for the owner's other devices: a queue of items, and for each device the place in it up to which it was told.
///
/// Every device tells its own changes to all others, so that no device passes items on.
extension StateTransaction {
    /// The name of the greatest counter that was seen.
    private static let counterName = "sync counter"

    /// Whether the owner has another device that this one writes to.
    package func hasOtherDevices() throws(StateError) -> Bool {
        guard let list = try devices(of: owner.id) else { return false }
        return owner.owner == nil ? !list.devices.isEmpty : list.device(owner.device) != nil
    }

    /// Returns the owner's other devices, the first one first. A device that was removed has none.
    package func otherDevices() throws(StateError) -> [OwnDevice] {
        guard try hasOtherDevices(), let list = try devices(of: owner.id) else { return [] }
        var others = list.devices.filter { $0.id != owner.device }.map {
            OwnDevice(card: $0.card, name: $0.name, state: $0.state)
        }
        if owner.owner != nil, let card = try ownersCard() {
            others.insert(OwnDevice(card: card, name: nil, state: .full), at: 0)
        }
        return others
    }

    /// The rights of this device; `nil` if it was removed from the list.
    package func ownDeviceState() throws(StateError) -> DeviceList.State? {
        owner.owner == nil ? .full : try devices(of: owner.id)?.device(owner.device)?.state
    }

    /// Begins and ends the telling of devices: a device that is new on the owner's list gets what changes from now on.
    func noteOwnDevices(_ list: DeviceList) throws(StateError) {
        let last = try lastItem()
        let present = ([owner.id] + list.devices.map(\.id)).filter { $0 != owner.device }
        let known = try connection.rows("SELECT mark FROM sync_device") { $0.bytes(0) }
        let marks = Set(present.map(store.mark))
        for mark in known where !marks.contains(mark) {
            try connection.run("DELETE FROM sync_device WHERE mark = ?", mark)
            try connection.run("DELETE FROM sync_sent WHERE device = ?", mark)
        }
        for mark in marks {
            try connection.run(
                "INSERT OR IGNORE INTO sync_device (mark, told, told_full) VALUES (?1, ?2, ?2)",
                mark, last)
        }
        try forgetTold()
    }

    // MARK: Items

    /// Queues a change of this device for the others. Does nothing without other devices, and for a change that another device
    /// told.
    func tellDevices(_ change: SyncItem.Change) throws(StateError) {
        guard !isTakingSync, try hasOtherDevices() else { return }
        let item = SyncItem(counter: try nextCounter(), device: owner.device, change)
        if let subject = item.subject { try keep(KeptItem(item), about: subject) }
        try queue(
            item.subject ?? "item \(item.counter) \(Envelope.newID())", item.record,
            isForNew: item.isForNewDevices)
    }

    /// Queues a message that was stored here, by its number. Its content is read when a device is told. A new device gets no message
    /// of a group.
    func tellDevices(message number: Int64, isForNew: Bool = true) throws(StateError) {
        guard !isTakingSync, try hasOtherDevices() else { return }
        let reference = JSONObject([
            ("counter", .integer(try nextCounter())), ("number", .integer(number)),
        ])
        try queue("message \(number)", reference, isForNew: isForNew)
    }

    /// Queues again for a device what the owner wrote since a time, and what this device decided about contacts and conversations.
    func tellAgain(_ device: KeyID, since time: Timestamp) throws(StateError) {
        let last = try lastItem()
        var owed: [GroupID: [String]] = [:]
        let sent = try store.entries(
            "WHERE sent = 1 AND time >= ? AND sealed IS NOT NULL ORDER BY number", time.seconds,
            connection: connection)
        for entry in sent {
            guard entry.state != .claimed, entry.conversation != .unknown,
                entry.body?.isTold == true
            else { continue }
            // All but the first device tell their messages to groups as authors.
            if let group = entry.conversation.group, owner.owner != nil {
                guard entry.state != .sentElsewhere, let id = entry.id else { continue }
                owed[group, default: []].append(id)
            } else {
                try tellDevices(
                    message: entry.number, isForNew: entry.conversation.group == nil)
            }
        }
        for (id, messages) in owed {
            guard let group = try readableGroup(id) else { continue }
            try noteOwed(messages, to: device, in: group)
        }
        for kept in try keptItems() where kept.item.device == owner.device {
            guard let subject = kept.item.subject else { continue }
            try queue(subject, kept.item.record, isForNew: kept.item.isForNewDevices)
        }
        try tellDevicesNews()
        // The devices that lacked nothing have these.
        let next = try lastItem()
        try connection.run(
            """
            UPDATE sync_device SET told = CASE WHEN told >= ?2 THEN ?3 ELSE told END,
                told_full = CASE WHEN told_full >= ?2 THEN ?3 ELSE told_full END
            WHERE mark != ?1
            """, store.mark(device), last, next)
    }

    /// The number of the last item that was queued, or 0.
    private func lastItem() throws(StateError) -> Int64 {
        try connection.first("SELECT seq FROM sqlite_sequence WHERE name = 'sync_item'") {
            $0.integer(0)
        } ?? 0
    }

    /// Passes a received message on to the other devices, if its sender did not know their present list. Only the first device does
    /// so. `number` is that of the message.
    package func passOn(_ message: Message, number: Int64) throws(StateError) {
        guard owner.owner == nil, message.authenticated, message.group == nil,
            let from = message.from, from != owner.id, Envelope.isID(message.id),
            try hasOtherDevices(), message.list != (try devices(of: owner.id)?.seq)
        else { return }
        if message.body["type"]?.string == RepairBody.type {
            return try tellDevices(message: number)
        }
        switch MessageBody(local: message.body)?.kind {
        case .system, .other, .history, .typing, .presence, .call, nil: return
        default: try tellDevices(message: number)
        }
    }

    /// Returns the counter of the next item: the time in milliseconds since 1970, or one more than the greatest counter that was seen if
    /// that is greater. A device that was added later counts from the time too.
    private func nextCounter() throws(StateError) -> Int64 {
        let last = try remembered(Self.counterName) ?? 0
        let next = max(Timestamp.milliseconds(), min(last, SyncItem.greatestCounter - 1) + 1)
        try remember(Self.counterName, next)
        return next
    }

    /// Notes the counter of an item of another device.
    func see(counter: Int64) throws(StateError) {
        guard counter > (try remembered(Self.counterName) ?? 0) else { return }
        try remember(Self.counterName, counter)
    }

    private func queue(
        _ subject: String, _ record: JSONObject, isForNew: Bool
    ) throws(StateError) {
        let mark = store.mark(sync: subject)
        try connection.run(
            "INSERT OR REPLACE INTO sync_item (mark, level, sealed) VALUES (?, ?, ?)", mark,
            isForNew ? 0 : 1, store.seal(record.serialized(), .syncItem(mark: mark)))
    }

    /// Returns the item about something that counts until now, or `nil`.
    func item(about subject: String) throws(StateError) -> SyncItem? {
        try keptItem(about: subject)?.item
    }

    /// Returns the same with the value before it.
    func keptItem(about subject: String) throws(StateError) -> KeptItem? {
        let mark = store.mark(sync: subject)
        return try connection.first("SELECT sealed FROM sync_value WHERE mark = ?", mark) {
            row throws(StateError) -> KeptItem? in try keptItem(row.bytes(0), mark)
        } ?? nil
    }

    /// Returns the items about contacts and conversations that count.
    func keptItems() throws(StateError) -> [KeptItem] {
        try connection.rows("SELECT mark, sealed FROM sync_value") {
            row throws(StateError) -> KeptItem? in try keptItem(row.bytes(1), row.bytes(0))
        }.compactMap(\.self)
    }

    private func keptItem(_ sealed: [UInt8], _ mark: [UInt8]) throws(StateError) -> KeptItem? {
        try store.readable(.syncValue, mark) { () throws(StateError) -> KeptItem in
            let bytes = try store.unseal(sealed, .syncValue(mark: mark))
            guard let record = try? JSON.object(parsing: bytes), let item = KeptItem(record) else {
                throw .unsealable(path: store.database.path)
            }
            return item
        }
    }

    /// Stores the item about something that counts from now on.
    func keep(_ item: KeptItem, about subject: String) throws(StateError) {
        let mark = store.mark(sync: subject)
        try connection.run(
            "INSERT OR REPLACE INTO sync_value (mark, sealed) VALUES (?, ?)", mark,
            store.seal(item.record.serialized(), .syncValue(mark: mark)))
    }

    // MARK: Telling

    /// The items that a device lacks.
    package struct DueItems {
        /// The records of the items.
        package let items: [JSONObject]
        /// The number of the newest own message among them, or `nil`.
        fileprivate let message: Int64?
        fileprivate let told: Int64
        fileprivate let first: Int64
        fileprivate let isFull: Bool
    }

    /// The most bytes of the items in a body, if it has more than one.
    private static let bodyBytes = 20_000

    /// Returns the next items that a device lacks, for one body; `nil` if it lacks none.
    ///
    /// A device that is `new` gets new mail, read marks, names and cards. It tells no more either.
    package func dueItems(for device: OwnDevice) throws(StateError) -> DueItems? {
        guard let own = try ownDeviceState() else { return nil }
        let isFull = own == .full && device.state == .full
        let mark = store.mark(device.id)
        let place = try connection.first(
            "SELECT told, told_full FROM sync_device WHERE mark = ?", mark
        ) { (told: $0.integer(0), full: $0.integer(1)) }
        guard let place else { return nil }
        let rows = try connection.rows(
            """
            SELECT number, mark, sealed FROM sync_item
            WHERE level = 0 AND number > ?1 OR level = 1 AND ?2 AND number > ?3
            ORDER BY number LIMIT ?4
            """, place.told, isFull, place.full, SyncItem.mostItems
        ) { (number: $0.integer(0), mark: $0.bytes(1), sealed: $0.bytes(2)) }
        var items: [JSONObject] = []
        var message: Int64?
        var (bytes, told) = (0, Int64(0))
        for row in rows {
            let item =
                try store.readable(.syncItem, row.mark) { () throws(StateError) in
                    try self.item(sealed: row.sealed, row.mark)
                } ?? nil
            if let item {
                let count = item.record.serialized().count
                guard items.isEmpty || bytes + count <= Self.bodyBytes else { break }
                items.append(item.record)
                message = item.sent ?? message
                bytes += count
            }
            told = row.number
        }
        guard told > 0 else { return nil }
        return DueItems(
            items: items, message: message, told: told,
            first: isFull ? min(place.told, place.full) : place.told,
            isFull: isFull)
    }

    /// Notes that a device was told items in an envelope; `nil` if they were left out because nothing of them is here any more.
    package func noteTold(
        _ due: DueItems, to device: OwnDevice, in envelope: String?, at time: Timestamp = .now()
    ) throws(StateError) {
        let mark = store.mark(device.id)
        try connection.run(
            """
            UPDATE sync_device SET told = max(told, ?2),
                told_full = CASE WHEN ?3 THEN max(told_full, ?2) ELSE told_full END
            WHERE mark = ?1
            """, mark, due.told, due.isFull)
        if let envelope {
            try connection.run(
                """
                INSERT OR REPLACE INTO sync_sent (envelope, device, first, made)
                VALUES (?, ?, ?, ?)
                """, store.mark(sent: envelope), mark, due.first, time.seconds)
            if let message = due.message {
                try connection.run(
                    "INSERT OR REPLACE INTO sync_copy (envelope, message, day) VALUES (?, ?, ?)",
                    store.mark(sent: envelope), message, time.seconds / Self.day)
            }
        }
        try forgetTold()
    }

    /// Returns whether an own device lacks an item, waits for this one to send a message, or was told something in an envelope that
    /// did not reach the outbox.
    public func hasDueItems(at time: Timestamp = .now()) throws(StateError) -> Bool {
        if try !handedOver().isEmpty { return true }
        for device in try otherDevices() where try dueItems(for: device) != nil { return true }
        return try !lostEnvelopes(at: time).isEmpty
    }

    /// Tells a device again what it was told in envelopes that did not reach the outbox within a minute, or that no relay gets: the
    /// program that made or sent them was killed. A device that gets an item twice ignores the second one.
    package func settleTold(at time: Timestamp = .now()) throws(StateError) {
        for mark in try lostEnvelopes(at: time) {
            _ = try takeOutcome(ofSync: mark, isStored: false)
        }
    }

    private func lostEnvelopes(at time: Timestamp) throws(StateError) -> [Int64] {
        let rows = try connection.rows(
            "SELECT envelope, made FROM sync_sent WHERE made <= ?",
            time.seconds - Departure.recent
        ) { (envelope: $0.integer(0), made: $0.integer(1)) }
        guard let first = rows.map(\.made).min() else { return [] }
        let arrivals = Dictionary(
            try Outbox.arrivals(in: store.directory, since: first).map {
                (store.mark(sent: $0.id), $0.arrival)
            }, uniquingKeysWith: max)
        return rows.map(\.envelope).filter { (arrivals[$0] ?? .failed) == .failed }
    }

    /// Takes the outcome of an envelope with items: if no relay has it, the device is told again. Returns `false` for another
    /// envelope.
    func takeOutcome(ofSync mark: Int64, isStored: Bool) throws(StateError) -> Bool {
        let sent = try connection.first(
            "SELECT device, first FROM sync_sent WHERE envelope = ?", mark
        ) { (device: $0.bytes(0), first: $0.integer(1)) }
        guard let sent else { return false }
        if !isStored {
            try connection.run(
                """
                UPDATE sync_device SET told = min(told, ?2), told_full = min(told_full, ?2)
                WHERE mark = ?1
                """, sent.device, sent.first)
        }
        try connection.run("DELETE FROM sync_sent WHERE envelope = ?", mark)
        try forgetTold()
        return true
    }

    /// Deletes the items that all devices have.
    private func forgetTold() throws(StateError) {
        let last = Timestamp.now().seconds - Departure.lifetime
        try connection.run("DELETE FROM sync_sent WHERE made < ?", last)
        try connection.run(
            """
            DELETE FROM sync_item WHERE number <= min(
                coalesce((SELECT min(min(told, told_full)) FROM sync_device), 9223372036854775807),
                coalesce((SELECT min(first) FROM sync_sent), 9223372036854775807))
            """)
    }

    /// Returns the record of a queued item, with the number of an own message; `nil` for a message that is gone or too deep for a
    /// body.
    private func item(
        sealed: [UInt8], _ mark: [UInt8]
    ) throws(StateError) -> (record: JSONObject, sent: Int64?)? {
        guard
            let record = try? JSON.object(
                parsing: try store.unseal(sealed, .syncItem(mark: mark)))
        else { throw .unsealable(path: store.database.path) }
        guard let number = record["number"]?.integer else { return (record, nil) }
        let entry = try store.entries(
            "WHERE number = ?", number, connection: connection
        ).first
        guard let entry, !entry.isGone, let counter = record["counter"]?.integer,
            let received = entry.received ?? entry.time
        else { return nil }
        let change: SyncItem.Change =
            entry.state == .waiting
            ? .unsent(entry.record, received: received)
            : .message(entry.record, isSent: entry.direction == .sent, received: received)
        let item = SyncItem(counter: counter, device: owner.device, change).record
        // The body and its array are around the item. A message that nests deeper stays here.
        guard JSON.object(item).nests(atMost: RecordForm.body.depth - 2) else { return nil }
        return (item, entry.direction == .sent ? number : nil)
    }
}
