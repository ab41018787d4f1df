public import Sotto
import SottoDatabase

/// A message from a backup or from an export.
public struct ImportedMessage: Sendable {
    /// The record, as ``HistoryEntry/record``.
    public let record: JSONObject
    /// Whether it was received or sent.
    public let direction: HistoryEntry.Direction
    /// The progress of a sent message; ``HistoryEntry/State/new`` for a received one.
    public let state: HistoryEntry.State
    /// When it was first stored, if this is known.
    public let received: Timestamp?
    /// The end of its lifetime, if it has begun.
    public let expires: Timestamp?
    /// The time of its place in the history from which it comes, or `nil` for ``received``.
    public let place: Timestamp?
    /// Whether a received message was not read yet.
    public let isUnread: Bool
    /// The number in the state from which it comes, or 0.
    public let number: Int64
    /// The first 16 bytes of the envelope's digest, or empty. A message of another origin than the owner's backup has
    /// none.
    public let digest: [UInt8]

    /// When the sender wrote it, as the sender claims.
    var written: Timestamp? { record["time"]?.string.flatMap { Timestamp($0) } }

    /// Whether its author is only claimed.
    var isClaim: Bool { record["imported"] == .bool(true) }

    /// Creates a message. The record has a valid id.
    public init(
        record: JSONObject, direction: HistoryEntry.Direction, state: HistoryEntry.State,
        received: Timestamp?, place: Timestamp? = nil, expires: Timestamp?, isUnread: Bool,
        number: Int64, digest: [UInt8]
    ) {
        self.record = record
        self.direction = direction
        self.state = state
        self.received = received
        self.place = place
        self.expires = expires
        self.isUnread = isUnread
        self.number = number
        self.digest = digest
    }
}

/// A message of an import in the form in which it is inserted.
public struct PreparedImport: Sendable {
    fileprivate let message: ImportedMessage
    fileprivate let isOwn: Bool
    fileprivate let new: NewMessage
}

extension IdentityStore {
    /// Prepares a message for ``StateTransaction/add(_:readers:at:)``. The function only reads the keys, so several threads
    /// may call it.
    public func prepared(_ message: ImportedMessage, isOwn: Bool) -> PreparedImport {
        let (record, direction) = (message.record, message.direction)
        let id = record["id"]?.string ?? ""
        let conversation = Conversation(of: record, owner: owner.id)
        let body = MessageBody(of: record)
        let kind = HistoryEntry.Kind(body)
        let mark =
            direction == .sent
            ? mark(sent: id)
            : mark(
                received: id, in: conversation,
                bodyType: record["body"]?.object?["type"]?.string)
        let new = NewMessage(
            mark: mark, id: id, conversation: conversation,
            packed: PackedRecord.pack(record, conversation, owner: owner.id),
            written: message.written, body: body, direction: direction, kind: kind,
            state: message.isClaim ? .claimed : message.state, time: message.received,
            expires: StateTransaction.expiry(of: message, body, kind),
            // A claim stays one in the owner's backup.
            digest: message.digest,
            author: direction == .sent
                ? owner.id : record["from"]?.string.flatMap { KeyID($0) },
            isClaimed: !isOwn || message.isClaim,
            origin: .init(
                place: (message.place ?? message.received)?.seconds ?? 0,
                isUnread: message.isUnread))
        return PreparedImport(message: message, isOwn: isOwn, new: new)
    }
}

/// A deleted or expired message. The hash of its id is the same in each state of an identity.
public struct Tombstone: Sendable, Hashable {
    /// The hash of the id.
    public let mark: Int64
    /// The number in the state from which it comes.
    public let number: Int64
    /// The conversation.
    public let conversation: Conversation
    /// Whether the message was received or sent.
    public let direction: HistoryEntry.Direction
    /// The effect that the message had.
    public let kind: HistoryEntry.Kind
    /// ``HistoryEntry/State/deleted`` or ``HistoryEntry/State/expired``.
    public let state: HistoryEntry.State
    /// When the message was stored.
    public let received: Timestamp?
    /// The time of its place in the history from which it comes, or `nil` for ``received``.
    public let place: Timestamp?
    /// ``HistoryEntry/formerAuthor``.
    public let author: KeyID?

    /// Creates a tombstone. Returns `nil` if the state is another one.
    public init?(
        mark: Int64, number: Int64, conversation: Conversation,
        direction: HistoryEntry.Direction, kind: HistoryEntry.Kind, state: HistoryEntry.State,
        received: Timestamp?, place: Timestamp? = nil, author: KeyID? = nil
    ) {
        guard state.rawValue >= HistoryEntry.State.deleted.rawValue else { return nil }
        self.mark = mark
        self.number = number
        self.conversation = conversation
        self.direction = direction
        self.kind = kind
        self.state = state
        self.received = received
        self.place = place
        self.author = author
    }
}

/// The readers of the state from which messages are imported, and what they have acknowledged of the imported messages.
public struct ImportedReaders: Sendable {
    private var readers: [(reader: IdentityStore.Reader, number: Int64)] = []

    /// Creates an empty list.
    public init() {}

    /// Adds a reader, with the number of the other state. It is added before the messages.
    public mutating func add(_ reader: IdentityStore.Reader) { readers.append((reader, 0)) }

    /// Notes that a message has another number here.
    fileprivate mutating func note(_ message: Int64, is number: Int64) {
        for index in readers.indices where message <= readers[index].reader.acknowledged {
            readers[index].number = max(readers[index].number, number)
        }
    }

    /// The readers with the numbers that they have here.
    fileprivate var here: [IdentityStore.Reader] {
        readers.map { .init(name: $0.reader.name, acknowledged: $0.number) }
    }
}

/// Import of messages. It changes no session, and no message that exists.
///
/// Imported messages get the next numbers, and places by the time at which they were first stored.
extension StateTransaction {
    /// The result of an import.
    public enum Imported: Sendable {
        /// The message is new here.
        case added
        /// The message is here already.
        case known
        /// A message with the same id and other content is here.
        case different
        /// The message was deleted or has expired here.
        case gone
        /// The message's lifetime has ended.
        case expired
    }

    /// Stores a message.
    ///
    /// With `isOwn`, it comes from a backup that the owner signed. Otherwise its author is only claimed: its record must
    /// have the member `imported`, it changes only messages with that member, and its place is not later than now.
    public func add(
        _ message: ImportedMessage, isOwn: Bool, at now: Timestamp = .now()
    ) throws(StateError) -> Imported {
        var readers = ImportedReaders()
        return try add(message, isOwn: isOwn, readers: &readers, at: now)
    }

    /// Stores a message like ``add(_:isOwn:at:)``, and notes its number for the readers of the state from which it comes.
    public func add(
        _ message: ImportedMessage, isOwn: Bool, readers: inout ImportedReaders,
        at now: Timestamp = .now()
    ) throws(StateError) -> Imported {
        try add(store.prepared(message, isOwn: isOwn), readers: &readers, at: now)
    }

    /// Stores a message that ``IdentityStore/prepared(_:isOwn:)`` made.
    public func add(
        _ prepared: PreparedImport, readers: inout ImportedReaders, at now: Timestamp = .now()
    ) throws(StateError) -> Imported {
        let (message, isOwn) = (prepared.message, prepared.isOwn)
        var new = prepared.new
        if let (known, number) = try compare(message, mark: new.mark, isOwn: isOwn) {
            readers.note(message.number, is: number)
            return known
        }
        let record = message.record
        if message.direction == .received, isOwn, let body = record["body"]?.object,
            try isCopy(new.id ?? "", of: new.author, body, in: new.conversation)
        {
            new.kind = .copy
            new.expires = Self.expiry(of: message, new.body, .copy)
        }
        if isOwn, message.direction == .sent, message.state != .sentElsewhere, !message.isClaim,
            let written = message.written, written > importedSent ?? Timestamp(seconds: .min)
        {
            importedSent = written
        }
        let isOver = new.expires.map { $0 <= now.seconds } ?? false
        // A tombstone from elsewhere would refuse an envelope that is still to come.
        guard isOwn || !isOver else { return .expired }
        if !isOwn { new.origin = new.origin?.notAfter(now) }
        readers.note(message.number, is: try insert(new, at: now))
        try expectRetention(of: message.received)
        return isOver ? .expired : .added
    }

    /// Makes the retentions consider a message again that was stored before the time that they have reached.
    private func expectRetention(of received: Timestamp?) throws(StateError) {
        let kept = max(0, (received?.seconds ?? 1) - 1)
        guard kept < expectedRetention else { return }
        expectedRetention = kept
        try connection.run("UPDATE retention SET kept = min(kept, ?)", kept)
    }

    /// Returns the end of a message's lifetime: the known one or that of the body, the earlier of the two. A message that
    /// was read without a known end was read when it was received.
    fileprivate static func expiry(
        of message: ImportedMessage, _ body: MessageBody?, _ kind: HistoryEntry.Kind
    ) -> Int64? {
        let time = message.received ?? Timestamp(seconds: 0)
        var end = body?.expiry(
            kind, message.direction, written: message.written ?? time, storedAt: time)
        if end == nil, kind == .content, !message.isUnread, let lifetime = body?.content.expires {
            end = time.seconds + lifetime.after
        }
        return [message.expires?.seconds, end].compactMap(\.self).min()
    }

    /// Stores a tombstone of the owner's backup, and notes its number for the readers of the state from which it comes.
    public func add(
        _ tombstone: Tombstone, readers: inout ImportedReaders, at now: Timestamp = .now()
    ) throws(StateError) -> Imported {
        let known = try connection.first(
            "SELECT number FROM message WHERE mark = ?", tombstone.mark
        ) { $0.integer(0) }
        if let known {
            readers.note(tombstone.number, is: known)
            return .known
        }
        var row = try row(of: tombstone.conversation)
        let rank = try placeOfImport(at: (tombstone.place ?? tombstone.received)?.seconds ?? 0)
        try connection.run(
            """
            INSERT INTO message (mark, conversation, sent, kind, state, place, time, arrived)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """, tombstone.mark, row.number, tombstone.direction.rawValue, tombstone.kind.rawValue,
            tombstone.state.rawValue, rank, tombstone.received?.seconds, now.seconds)
        let place = HistoryPlace(rank: rank, number: connection.lastRow)
        if let author = tombstone.author {
            let sealed = store.seal(author.publicKey, .author(message: place.number))
            try connection.run(
                "UPDATE message SET author = ? WHERE number = ?", sealed, place.number)
        }
        newestPlace = try max(rank, lastPlace())
        readers.note(tombstone.number, is: place.number)
        if tombstone.kind == .content, place > row.last {
            (row.last, row.time) = (place, tombstone.received?.seconds)
            row.isChanged = true
            conversations[row.conversation] = row
        }
        return .added
    }

    /// Compares a message with the one that has its id, and returns that one's number. Returns `nil` if no message has it, or
    /// if a claim had it, which a message of the owner's backup replaces.
    private func compare(
        _ message: ImportedMessage, mark: Int64, isOwn: Bool
    ) throws(StateError) -> (Imported, number: Int64)? {
        let isClaim = message.isClaim
        let found = try store.entries(
            "WHERE mark IN (?, ?)", mark, isClaim ? Self.erasedClaim(mark) : mark,
            connection: connection
        ).first
        guard let found else { return nil }
        // A receipt is erased when a later one replaces it.
        guard !found.isGone else {
            return (found.kind == .content ? .gone : .known, found.number)
        }
        if isOwn, found.isImported, !isClaim {
            try removeClaim(mark)
            return nil
        }
        let isSame = ["from", "to", "time", "body"].allSatisfy {
            found.record[$0]?.canonical() == message.record[$0]?.canonical()
        }
        return (isSame ? .known : .different, found.number)
    }

    /// Restores the settings of a conversation. Settings that were made here stay.
    public func restore(
        _ settings: ConversationSettings, of conversation: Conversation
    ) throws(StateError) {
        let known = try row(of: conversation).settings
        try change(conversation) { present in
            present.name = known.name ?? settings.name
            present.isFavourite = known.isFavourite || settings.isFavourite
            present.isMuted = known.isMuted || settings.isMuted
            if settings.timerTime > known.timerTime {
                present.timer = settings.timer
                present.timerTime = settings.timerTime
            }
        }
    }

    /// Restores how long messages are kept, if this is not set here.
    public func restore(_ retention: IdentityStore.Retention) throws(StateError) {
        guard let seconds = retention.seconds, seconds >= IdentityStore.shortestRetention else {
            return
        }
        let number = try retention.conversation.map { conversation throws(StateError) in
            try row(of: conversation).number
        }
        let isSet = try connection.exists(
            "SELECT 1 FROM retention WHERE conversation = ?", number ?? 0)
        if !isSet { try keep(retention.conversation, seconds: seconds) }
    }
}

/// Readers and an import of the owner's backup.
extension StateTransaction {
    /// Restores the readers that do not exist here. They get the messages that arrived here before the import.
    public func restore(_ readers: ImportedReaders) throws(StateError) {
        guard !readers.here.isEmpty else { return }
        let first = try connection.first(
            "SELECT number FROM message WHERE arrived IS NULL ORDER BY number LIMIT 1"
        ) { $0.integer(0) }
        for reader in readers.here {
            let isKnown = try connection.exists(
                "SELECT 1 FROM reader WHERE mark = ?", store.mark(reader: reader.name))
            guard !isKnown else { continue }
            try acknowledge(min(reader.acknowledged, (first ?? .max) - 1), by: reader.name)
        }
    }

    /// Calls `body`, which imports messages. Those of the owner's backup are not new to the readers that have acknowledged
    /// all messages before. A message in it that this state, the only one of its identity, sent and does not have proves that another
    /// copy is used; see ``takeFoundBehind()``.
    public func importing<T>(isOwn: Bool, _ body: () throws -> T) throws -> T {
        guard isOwn else { return try body() }
        let before = try connection.integer("SELECT max(number) FROM message")
        importedSent = nil
        let value = try body()
        if let sent = importedSent, owner.owner == nil, try !hasDevices() {
            _ = try takeProof(of: sent, at: .now())
        }
        let after = try connection.integer("SELECT max(number) FROM message")
        if after > before {
            try connection.run(
                "UPDATE reader SET acknowledged = ? WHERE acknowledged >= ?", after, before)
        }
        return value
    }
}
