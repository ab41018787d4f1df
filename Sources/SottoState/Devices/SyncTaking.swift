package import Sotto
import SottoDatabase

/// The result of an item of another own device.
package enum TakenItem: Sendable {
    /// It was taken, or was known.
    case taken
    /// A message that only the first device got, with its number.
    case received(Message, number: Int64)
    /// A message with this id and other content is here.
    case different
    /// Its content is malformed, or its device may not decide this.
    case refused
}

/// The items of the owner's other devices.
extension StateTransaction {
    /// Seconds for which a read mark or a deletion waits for its message.
    private static let aheadSeconds = waitingDays * day
    /// The most read marks and deletions that wait for their messages.
    private static let mostAhead: Int64 = 20_000

    /// Takes an item. `sender` is the device whose message has the item, and `state` what that device may do.
    package func take(
        _ item: SyncItem, from sender: KeyID, _ state: DeviceList.State,
        at time: Timestamp = .now()
    ) throws -> TakenItem {
        // Nobody tells what another device did, and a device that is not trusted yet decides nothing.
        guard item.device == sender, state == .full || item.isForNewDevices else {
            return .refused
        }
        isTakingSync = true
        defer { isTakingSync = false }
        try see(counter: item.counter)
        switch item.change {
        case .message(let record, true, let received):
            return try take(sent: record, by: sender, received: received, at: time)
        case .unsent(let record, let received):
            guard sender != owner.id else { return .refused }
            return try take(
                sent: record, by: sender, isWaiting: true, received: received, at: time)
        case .message(let record, false, _):
            guard sender == owner.id else { return .refused }
            return try take(received: record, at: time)
        case .read(let members, let ids, let readAt):
            guard let conversation = Conversation(members), conversation != .unknown else {
                return .refused
            }
            try read(ids, in: conversation, at: min(readAt, time), now: time)
        case .delete(let members, let ids):
            guard let conversation = Conversation(members), conversation != .unknown else {
                return .refused
            }
            try delete(ids, in: conversation, at: time)
        case .conversation(let members, let setting):
            guard let conversation = Conversation(members), conversation != .unknown else {
                return .refused
            }
            guard try counts(item, at: time) else { return .taken }
            try change(conversation) { settings in
                switch setting {
                case .favourite(let value): settings.isFavourite = value
                case .muted(let value): settings.isMuted = value
                case .name(let name): settings.name = name
                }
            }
        case .contact(let id, let decision):
            guard id != owner.id else { return .refused }
            var card: Card?
            switch decision {
            case .card(let record), .replaces(_, let record):
                card = try? Card(record: record)
                guard card?.id == id else { return .refused }
            default: break
            }
            guard try counts(item, at: time) else { return .taken }
            if case .replaces(let former, _) = decision, let card {
                try take(acceptedKeyOn: card, former: former)
            } else {
                try applyDecisions(about: id, at: time)
            }
        case .news(let record):
            guard let news = (try? IdentityNews(record: record)) ?? nil else { return .refused }
            _ = try take(news, isGiven: true, at: time)
        }
        return .taken
    }

    /// Stores an item if it counts in place of the one about the same thing. Returns whether it does.
    private func counts(_ item: SyncItem, at time: Timestamp) throws(StateError) -> Bool {
        guard let subject = item.subject else { return true }
        let known = try keptItem(about: subject)
        if let known, !item.wins(over: known.item) { return false }
        try keep(
            KeptItem(item, taken: time, before: try before(item, known, at: time)),
            about: subject)
        return true
    }

    // MARK: Messages

    /// Stores a message that was sent on another device, or with `isWaiting` one that the first device has to send.
    private func take(
        sent record: JSONObject, by sender: KeyID, isWaiting: Bool = false, received: Timestamp,
        at now: Timestamp
    ) throws(StateError) -> TakenItem {
        // The first device passes on what another device wrote to a group.
        guard let message = Message(record: record), message.from == owner.id,
            message.group == nil || sender == owner.id && !isWaiting, Envelope.isID(message.id),
            message.body.isTold,
            message.to.map({ $0 != owner.device || owner.owner == nil }) ?? true
        else { return .refused }
        guard !isWaiting || message.to.map({ $0 != owner.id }) == true && message.body.isHandedOver
        else { return .refused }
        let time = min(received, now)
        let imported = ImportedMessage(
            record: message.record, direction: .sent, state: isWaiting ? .waiting : .sentElsewhere,
            received: time, place: time, expires: nil, isUnread: false, number: 0, digest: [])
        switch try add(imported, isOwn: true, at: now) {
        case .different: return .different
        case .added:
            let conversation = Conversation(of: imported.record, owner: owner.id)
            try applyEarlyReceipts(of: message.id, in: row(of: conversation))
        case .known where !isWaiting:
            // The first device has sent it.
            try connection.run(
                "UPDATE message SET state = ? WHERE mark = ? AND state = -1",
                HistoryEntry.State.sentElsewhere.rawValue, store.mark(sent: message.id))
        default: break
        }
        return .taken
    }

    // MARK: Messages of devices of a private list

    /// The most messages that the first device sends for other devices in a run.
    private static let mostHandedOver: Int64 = 256

    /// Returns the messages of other devices that the first device has to send, the oldest first.
    package func handedOver() throws(StateError) -> [HistoryEntry] {
        guard owner.owner == nil, try hasDevices() else { return [] }
        return try store.entries(
            "WHERE state = -1 AND sealed IS NOT NULL ORDER BY number LIMIT ?",
            Self.mostHandedOver, connection: connection)
    }

    /// Notes that a message of another device was encrypted, and tells it the other devices.
    package func noteSent(handedOver entry: HistoryEntry) throws(StateError) {
        try connection.run(
            "UPDATE message SET state = ? WHERE number = ? AND state = -1",
            HistoryEntry.State.new.rawValue, entry.number)
        try tellDevices(message: entry.number)
    }

    /// Stores a message that only the first device got.
    private func take(
        received record: JSONObject, at now: Timestamp
    ) throws(StateError) -> TakenItem {
        guard let message = Message(record: record), let from = message.from,
            from != owner.id, Envelope.isID(message.id),
            try person(ofDevice: from) == nil
        else { return .refused }
        if message.group == nil, message.body["type"]?.string == RepairBody.type {
            return try take(passedRepair: message, from: from, at: now)
        }
        guard message.body.isTold else { return .refused }
        // The first device had not blocked the sender when it took the message; all devices have the same messages.
        switch try known(message) {
        case .new:
            let number = try recordOpened(
                id: message.id, digest: StoredMessage.repeatDigest, message, at: now)
            return deletedOnArrival.contains(number)
                ? .taken : .received(message, number: number)
        case .same, .deleted: return .taken
        case .different: return .different
        }
    }

    /// Takes the news that a contact lost a state, which only the first device got.
    private func take(
        passedRepair message: Message, from: KeyID, at now: Timestamp
    ) throws(StateError) -> TakenItem {
        guard let contact = try contact(id: from), !contact.name.isEmpty, contact.changed == nil,
            let written = message.time,
            case .news(let body) = try takeRepair(
                message.body, from: contact, device: message.device ?? from, written: written,
                at: now)
        else { return .taken }
        var message = message
        message.body = body
        let number = try recordOpened(
            id: message.id, digest: StoredMessage.repeatDigest, message, at: now)
        return .received(message, number: number)
    }

    /// Queues an own message for the other devices, except one that a device makes itself or that is for one device.
    func tellDevices(sent number: Int64, _ message: NewMessage) throws(StateError) {
        guard message.direction == .sent, message.origin == nil, !message.isClaimed,
            message.conversation != .unknown
        else { return }
        if let group = message.conversation.group, try !lacksDevices(group) { return }
        guard message.body?.isTold == true else { return }
        try tellDevices(message: number, isForNew: message.conversation.group == nil)
    }

    /// Whether a device on the owner's list gets no copies of what the first device writes to a group, because it is new or the group
    /// does not list it.
    private func lacksDevices(_ id: GroupID) throws(StateError) -> Bool {
        guard owner.owner == nil, let shown = try shownDevices(), !shown.devices.isEmpty,
            let group = try group(id), group.rank > .nobody
        else { return false }
        let readers = Set(group.seats.map(\.device))
        return !shown.devices.allSatisfy { readers.contains($0.id) }
    }

    // MARK: Read marks and deletions

    /// Marks messages of a conversation as read that were read on another device, and moves the read mark over those that were.
    private func read(
        _ ids: [String], in conversation: Conversation, at readAt: Timestamp, now: Timestamp
    ) throws(StateError) {
        var row = try row(of: conversation)
        for id in ids {
            let mark = store.marks(of: id, in: conversation).received
            let entry = try store.entries("WHERE mark = ?", mark, connection: connection).first
            if let entry {
                guard entry.conversation == conversation else { continue }
                try noteRead(entry, at: readAt)
            } else {
                try wait(mark, .read, at: readAt, now: now)
            }
        }
        try moveReadMark(&row)
    }

    private func noteRead(_ entry: HistoryEntry, at time: Timestamp) throws(StateError) {
        guard entry.direction == .received, entry.state == .new else { return }
        try connection.run(
            "UPDATE message SET state = ? WHERE number = ?", HistoryEntry.State.read.rawValue,
            entry.number)
        guard let expires = entry.body?.content.expires, expires.start == .read else { return }
        try connection.run(
            """
            UPDATE message SET expires = min(coalesce(expires, 9223372036854775807), ?)
            WHERE number = ?
            """, time.seconds + expires.after, entry.number)
    }

    /// Moves the read mark of a conversation to the last message before the first unread one.
    private func moveReadMark(_ row: inout ConversationRow) throws(StateError) {
        let unread = try connection.first(
            """
            SELECT place, number FROM message WHERE conversation = ? AND kind = 0 AND sent = 0
            AND state = 0 AND sealed IS NOT NULL AND (place, number) > (?, ?)
            ORDER BY place, number LIMIT 1
            """, row.number, row.read.rank, row.read.number
        ) { HistoryPlace(rank: $0.integer(0), number: $0.integer(1) - 1) }
        if let last = try lastContent(of: row, upTo: unread ?? .end)?.place, last > row.read {
            row.read = last
        }
        row.unread = try self.unread(in: row)
        row.isChanged = true
        conversations[row.conversation] = row
    }

    private func delete(
        _ ids: [String], in conversation: Conversation, at now: Timestamp
    ) throws(StateError) {
        for id in ids {
            let marks = store.marks(of: id, in: conversation)
            let entries = try store.entries(
                "WHERE mark IN (?, ?)", marks.received, marks.sent, connection: connection)
            for entry in entries where entry.conversation == conversation && !entry.isGone {
                try delete(entry, at: now)
            }
            guard entries.isEmpty else { continue }
            for mark in [marks.received, marks.sent] {
                try wait(mark, .deleted, at: now, now: now)
            }
        }
    }

    /// An action on a message that arrives later.
    private enum Ahead: Int64 {
        case read = 1
        case deleted = 2
    }

    private func wait(
        _ mark: Int64, _ action: Ahead, at time: Timestamp, now: Timestamp
    ) throws(StateError) {
        hasSyncAhead = true
        try connection.run(
            """
            INSERT INTO sync_ahead (mark, action, time) VALUES (?1, ?2, ?3)
            ON CONFLICT (mark) DO UPDATE SET action = max(action, ?2), time = min(time, ?3)
            """, mark, action.rawValue, time.seconds)
        try connection.run(
            "DELETE FROM sync_ahead WHERE time < ?", now.seconds - Self.aheadSeconds)
        let count = try connection.integer("SELECT count(*) FROM sync_ahead")
        guard count > Self.mostAhead else { return }
        try connection.run(
            """
            DELETE FROM sync_ahead WHERE mark IN
                (SELECT mark FROM sync_ahead ORDER BY time, mark LIMIT ?)
            """, count - Self.mostAhead)
    }

    /// Applies to a new message what another device did with it before it came.
    func applyAhead(_ number: Int64, mark: Int64, at now: Timestamp) throws(StateError) {
        if hasSyncAhead == nil {
            let hasDevices = try hasDevices()
            hasSyncAhead =
                try hasDevices ? connection.exists("SELECT 1 FROM sync_ahead LIMIT 1") : false
        }
        guard hasSyncAhead == true else { return }
        let found = try connection.first(
            "SELECT action, time FROM sync_ahead WHERE mark = ?", mark
        ) { (action: Ahead(rawValue: $0.integer(0)), time: Timestamp(seconds: $0.integer(1))) }
        guard let found else { return }
        try connection.run("DELETE FROM sync_ahead WHERE mark = ?", mark)
        let entry = try store.entries(
            "WHERE number = ?", number, connection: connection
        ).first
        guard let entry, !entry.isGone else { return }
        switch found.action {
        case .read:
            try noteRead(entry, at: found.time)
            var row = try row(of: entry.conversation)
            try moveReadMark(&row)
        case .deleted:
            deletedOnArrival.insert(number)
            try delete(entry, at: now)
        case nil: break
        }
    }

    /// Erases messages because their owner says so here, and tells the other devices. Returns how many were there.
    package func deleteByOwner(
        _ entries: [HistoryEntry], at time: Timestamp = .now()
    ) throws(StateError) -> Int {
        try tellDevices(deleted: entries)
        var count = 0
        for entry in entries where try delete(entry, at: time) { count += 1 }
        return count
    }

    /// Tells the other devices of messages that their owner deletes here.
    func tellDevices(deleted entries: [HistoryEntry]) throws(StateError) {
        try tellDevices(entries) { .delete($0, ids: $1) }
    }

    /// Tells the other devices of messages that were read here.
    func tellDevices(
        read entries: [HistoryEntry], at time: Timestamp
    ) throws(StateError) {
        try tellDevices(entries) { .read($0, ids: $1, time) }
    }

    private func tellDevices(
        _ entries: [HistoryEntry], _ change: (JSONObject, [String]) -> SyncItem.Change
    ) throws(StateError) {
        guard !isTakingSync, !entries.isEmpty, try hasOtherDevices() else { return }
        for (conversation, entries) in Dictionary(grouping: entries, by: \.conversation) {
            let ids = entries.compactMap(\.id).filter { Envelope.isID($0) }
            for start in stride(from: 0, to: ids.count, by: SyncItem.mostIDs) {
                let some = Array(ids[start..<min(start + SyncItem.mostIDs, ids.count)])
                try tellDevices(change(conversation.members, some))
            }
        }
    }

    // MARK: Settings and contacts

    /// Tells the other devices of the settings of a conversation that changed here.
    func tellDevices(
        _ settings: ConversationSettings, before: ConversationSettings,
        of conversation: Conversation
    ) throws(StateError) {
        guard !isTakingSync, conversation != .unknown, try hasOtherDevices() else { return }
        let members = conversation.members
        if settings.isFavourite != before.isFavourite {
            try tellDevices(.conversation(members, .favourite(settings.isFavourite)))
        }
        if settings.isMuted != before.isMuted {
            try tellDevices(.conversation(members, .muted(settings.isMuted)))
        }
        if settings.name != before.name {
            try tellDevices(.conversation(members, .name(settings.name)))
        }
    }

    /// Tells the other devices of the decisions about a contact that are stored now.
    func tellDevices(_ contact: Contact, before: Contact?) throws(StateError) {
        guard !isTakingSync, contact.id != owner.id, try hasOtherDevices() else { return }
        let id = contact.id
        if let card = contact.card, let record = card.record,
            record != before?.card?.record
        {
            try tellDevices(.contact(id, .card(record)))
        }
        if contact.name != before?.name { try tellDevices(.contact(id, .name(contact.name))) }
        if contact.trust != before?.trust {
            try tellDevices(
                .contact(id, .trust(contact.trust, key: contact.card?.age.text)))
        }
        if contact.isBlocked != before?.isBlocked ?? false {
            try tellDevices(.contact(id, .blocked(contact.isBlocked)))
        }
    }

    /// Gives a contact the keys on a card that were accepted on another device. A contact that is not here any more, or who has the
    /// keys, stays what it is.
    private func take(acceptedKeyOn card: Card, former: KeyID) throws {
        guard former != owner.id, let contact = try readableContact(id: former),
            !contact.name.isEmpty, !contact.hasKeys(of: card),
            try card.id == former || readableContact(id: card.id) == nil, try !isRevoked(card.id)
        else { return }
        let accepted = try accept(card, for: contact)
        try save(accepted.contact, formerID: former)
    }

    /// Makes a contact what the items about it say.
    private func applyDecisions(about id: KeyID, at time: Timestamp) throws {
        func decision(_ name: String) throws(StateError) -> SyncItem.Decision? {
            let subject = SyncItem.subject(name, of: id)
            guard case .contact(_, let decision)? = try item(about: subject)?.change
            else { return nil }
            return decision
        }
        let entry = try decision("name")
        var isBlocked: Bool?
        if case .blocked(let value)? = try decision("blocked") { isBlocked = value }
        var contact = try readableContact(id: id)
        let isKnown = contact?.name.isEmpty == false
        switch entry {
        case .removed:
            guard isBlocked == true else {
                if contact != nil { try remove(id: id) }
                return
            }
            contact = Contact(name: "", id: id, card: nil, added: contact?.added ?? time)
        case .name(let name):
            var known = contact ?? Contact(name: "", id: id, card: nil, added: time)
            known.name = try free(name, for: id)
            contact = known
        default:
            if contact == nil, isBlocked == true {
                contact = Contact(name: "", id: id, card: nil, added: time)
            }
        }
        guard var contact else { return }
        if let isBlocked { contact.isBlocked = isBlocked }
        if case .card(let record)? = try decision("card"), let card = try? Card(record: record),
            contact.hasKeys(of: card), contact.card.map({ card.isLater(than: $0) }) ?? true
        {
            contact.keep(card)
        }
        let before = contact.trust
        if case .trust(let trust, let key)? = try decision("trust"), trust != .unverified {
            contact.trust = trust
            // The comparison was of the keys that the other device had.
            if trust == .verified, let card = contact.card, card.record == nil,
                card.age.text != key
            {
                contact.trust = .trusted
            }
            // A comparison does not depend on an old key.
            if contact.trust == .verified, contact.doubt != .revoked {
                (contact.former, contact.doubt) = (nil, nil)
            }
        }
        // An entry without a name and without a block says nothing.
        guard !contact.name.isEmpty || contact.isBlocked else { return }
        if isKnown, contact.trust != before {
            if contact.trust == .verified { try recordSystem(.verified, about: id, at: time) }
            if before == .verified { try recordSystem(.unverified, about: id, at: time) }
        }
        try save(contact)
    }

    /// Returns the name for a contact. Of two contacts with one name, the one with the smaller id keeps it on every device.
    private func free(_ name: String, for id: KeyID) throws -> String {
        func other(_ id: KeyID) -> String {
            var short = name[...]
            while short.utf8.count > Contact.nameLimit - 9 { short.removeLast() }
            return "\(short)-\(id.description.dropFirst(2).prefix(8))"
        }
        guard !name.isEmpty, var holder = try contact(named: name), holder.id != id else {
            return name
        }
        guard id.description < holder.id.description else { return other(id) }
        holder.name = other(holder.id)
        try save(holder)
        return name
    }
}

extension Card {
    /// Whether the signed card was issued later than another one of the same id, or that one is not signed.
    fileprivate func isLater(than other: Card) -> Bool {
        guard other.record != nil else { return true }
        guard let issued else { return false }
        return other.issued.map { issued.seconds > $0.seconds } ?? true
    }
}

extension JSONObject {
    /// Whether the first device can send a body for another device: a call does not wait.
    package var isHandedOver: Bool { isTold && (try? MessageBody(self))?.call == nil }

    /// Whether a body is of a kind that devices tell each other: no event of one device, and no body for one device.
    fileprivate var isTold: Bool { (try? MessageBody(self))?.isTold ?? false }
}

extension MessageBody {
    /// Whether devices tell each other the body: it is no event of one device, and not for one device.
    var isTold: Bool {
        switch kind {
        case .system, .other, .history, .typing, .presence: false
        default: true
        }
    }
}
