public import Sotto
import SottoDatabase

/// Storing of messages, in the transaction that opens or encrypts them.
extension StateTransaction {
    /// Records that an envelope was opened. The id must not have a message yet. `digest` is ``Envelope/digest``. Returns
    /// the message's number. Without a kind it is that of the body.
    @discardableResult
    public func recordOpened(
        id: String, digest: [UInt8], _ message: Message, kind known: HistoryEntry.Kind? = nil,
        at time: Timestamp = .now()
    ) throws(StateError) -> Int64 {
        var kind = known
        let conversation = Conversation(of: message, owner: owner.id)
        if try isCopy(message.id, of: message.from, message.body, in: conversation) {
            kind = .copy
        }
        return try insert(
            store.newMessage(
                id, message, .received, kind, digest: digest, author: message.from, time),
            at: time)
    }

    /// Records that a message was encrypted, or sent by another device. It has the owner as `from` and its recipient as `to`. Returns the
    /// message's number.
    @discardableResult
    public func recordSent(
        _ message: Message, state: HistoryEntry.State = .new, at time: Timestamp = .now()
    ) throws(StateError) -> Int64 {
        try record(
            store.row(
                ofSent: message, state: state,
                in: place(of: Conversation(of: message, owner: owner.id)), at: time))
    }

    /// Inserts a row that the store made. Returns the message's number.
    @discardableResult
    public func record(_ row: HistoryRow) throws(StateError) -> Int64 {
        try insert(row.message, sealed: row.sealed, at: row.time)
    }

    /// Returns the place of a conversation, or `nil` if it does not exist.
    public func place(of conversation: Conversation) throws(StateError) -> ConversationPlace? {
        if conversations[conversation] == nil,
            try store.conversationRow(conversation, connection) == nil
        {
            return nil
        }
        return ConversationPlace(number: try row(of: conversation).number)
    }

    /// Returns whether an opened message was sent from here. A message of a chat has no author, and its server returns it to all
    /// members: it must have the content of the sent one too, because another member can claim the id.
    func isCopy(
        _ id: String, of author: KeyID?, _ body: JSONObject, in conversation: Conversation
    ) throws(StateError) -> Bool {
        if let author {
            guard author == owner.id else { return false }
            return try hasSent(id)
        }
        guard case .chat = conversation else { return false }
        let sent = try store.entries(
            "WHERE mark = ?", store.mark(sent: id), connection: connection
        ).first
        guard let sent, sent.conversation == conversation else { return false }
        return sent.record["body"]?.object?.isSameContent(as: body) ?? false
    }

    /// Returns whether a message with this id was sent from here.
    package func hasSent(_ id: String) throws(StateError) -> Bool {
        try connection.exists("SELECT 1 FROM message WHERE mark = ?", store.mark(sent: id))
    }

    /// Inserts a message. Its lifetime may have ended at `now`. `sealed` is its encrypted content, if that was made
    /// before.
    func insert(
        _ message: NewMessage, sealed: SealedContent? = nil, at now: Timestamp
    ) throws(StateError) -> Int64 {
        let (direction, author) = (message.direction, message.author)
        // The members of a group know the ids of the owner's next messages to it, and can claim them.
        let isOwnOfGroup =
            direction == .sent && message.origin == nil && message.conversation.group != nil
        if replaced.remove(message.mark) != nil || isOwnOfGroup { try removeClaim(message.mark) }
        var row = try row(of: message.conversation)
        var content = sealed ?? store.sealed(message, in: row.number)
        if content.conversation != row.number { content = store.sealed(message, in: row.number) }
        let time = message.time ?? Timestamp(seconds: 0)
        let placed =
            if let origin = message.origin {
                try placeOfImport(at: origin.place)
            } else {
                try placeOfArrival(at: time.seconds)
            }
        try connection.run(
            """
            INSERT INTO message
                (mark, conversation, sent, kind, state, place, time, arrived, sealed, expires)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """, message.mark, row.number, direction.rawValue, message.kind.rawValue,
            message.state.rawValue, placed, message.time?.seconds,
            message.origin == nil ? nil : now.seconds, content.bytes, message.expires)
        let number = connection.lastRow
        let place = HistoryPlace(rank: placed, number: number)
        newestPlace = try max(placed, lastPlace())
        let isOver = message.expires.map { $0 <= now.seconds } ?? false
        switch message.kind {
        case .content:
            if try isLast(message, at: place, in: row) {
                row.last = place
                row.time = message.time?.seconds ?? row.time
            }
            var deletions: [KeyID] = []
            if let id = message.id {
                try endWaiting(for: id, in: row)
                deletions = try earlyDeletions(
                    of: id, in: row, by: author, at: time, isImported: message.isClaimed)
            }
            let hadUnread = row.unread > 0
            let member =
                direction == .received && row.conversation.group != nil && !message.isClaimed
                ? author : nil
            if !deletions.isEmpty {
                // Members know the ids of messages before these are written, so a moderator can delete a message before it arrives.
                if deletions.contains(where: { $0 == author }) { deletedOnArrival.insert(number) }
                try erase(number, .deleted, author: member, at: time)
            } else if isOver {
                try erase(number, .expired, author: member, at: time)
            } else if direction == .received, message.state == .new, place > row.read {
                row.unread += 1
            }
            if let origin = message.origin, !origin.isUnread, message.state != .claimed {
                try passRead(place, hadUnread: hadUnread, in: &row)
            }
            row.isChanged = true
            conversations[row.conversation] = row
            if let signal = message.body?.call {
                try link(
                    number, signal, in: row, author: author, at: time,
                    isImported: message.isClaimed)
            }
            if case .timer(let seconds)? = message.body?.kind, author != nil,
                row.conversation.peer != nil, !message.isClaimed
            {
                try setTimer(
                    seconds, written: message.written ?? time, in: row.conversation, at: time)
            }
        case .event, .pin:
            if let body = message.body {
                try apply(
                    number, body, in: row, author: author, direction, at: time,
                    isImported: message.isClaimed)
            }
        case .copy: if isOver { try erase(number, .expired, at: time) }
        }
        if message.kind == .content { try applyAhead(number, mark: message.mark, at: now) }
        try tellDevices(sent: number, message)
        return number
    }

    /// Removes an imported message with a claimed author, if one has the mark, so that an authentic one replaces it.
    func removeClaim(_ mark: Int64) throws(StateError) {
        guard
            let claim = try store.entries(
                "WHERE mark = ? AND state = ?", mark, HistoryEntry.State.claimed.rawValue,
                connection: connection
            ).first
        else { return }
        for table in ["event", "waiting"] {
            try connection.run("DELETE FROM \(table) WHERE message = ?", claim.number)
        }
        try connection.run("DELETE FROM message WHERE number = ?", claim.number)
        newestPlace = nil
        var row = try row(of: claim.conversation)
        if row.read == claim.place {
            row.read = try lastContent(of: row, upTo: claim.place)?.place ?? .start
        }
        row.unread = try unread(in: row)
        let last = try lastContent(of: row)
        (row.last, row.time) = (last?.place ?? .start, last?.time)
        row.isChanged = true
        conversations[row.conversation] = row
    }

    /// Whether a message is the last one of a conversation now. A claim is so only in a conversation without others.
    private func isLast(
        _ message: NewMessage, at place: HistoryPlace, in row: ConversationRow
    ) throws(StateError) -> Bool {
        let isLater = place > row.last
        guard isLater == (message.state == .claimed), row.last != .start else { return isLater }
        return try connection.exists(
            "SELECT 1 FROM message WHERE number = ? AND state = ?", row.last.number,
            HistoryEntry.State.claimed.rawValue)
    }

    /// Moves the read mark of a conversation to an imported message that was read before, unless an unread message is
    /// before it. `hadUnread` tells whether the conversation had unread messages before this one.
    private func passRead(
        _ place: HistoryPlace, hadUnread: Bool, in row: inout ConversationRow
    ) throws(StateError) {
        guard place > row.read else { return }
        guard hadUnread else {
            (row.read, row.unread) = (place, 0)
            return
        }
        let isUnreadBefore = try connection.exists(
            """
            SELECT 1 FROM message WHERE conversation = ? AND kind = 0 AND sent = 0
            AND state = 0 AND sealed IS NOT NULL
            AND (place, number) > (?, ?) AND (place, number) < (?, ?)
            """, row.number, row.read.rank, row.read.number, place.rank, place.number)
        guard !isUnreadBefore else { return }
        row.read = place
        row.unread = try unread(in: row)
    }
}

/// A message to insert.
struct NewMessage: Sendable {
    let mark: Int64
    let id: String?
    let conversation: Conversation
    /// The record in the form of ``PackedRecord``.
    let packed: [UInt8]
    /// When the sender wrote it, as the sender claims.
    let written: Timestamp?
    let body: MessageBody?
    let direction: HistoryEntry.Direction
    var kind: HistoryEntry.Kind
    var state = HistoryEntry.State.new
    /// When it was first stored, if this is known.
    let time: Timestamp?
    /// The end of its lifetime in seconds since 1970, or `nil`.
    var expires: Int64?
    let digest: [UInt8]
    let author: KeyID?
    /// Whether the author is only claimed.
    var isClaimed = false
    /// The origin of an imported message, or `nil`.
    var origin: Origin?

    /// The facts of an imported message from the state where it was first stored.
    struct Origin: Sendable {
        /// The time of its place, in seconds since 1970.
        let place: Int64
        /// Whether it was not read there.
        let isUnread: Bool

        /// Returns the origin with a place at this time or before.
        func notAfter(_ time: Timestamp) -> Origin {
            Origin(place: min(place, time.seconds), isUnread: isUnread)
        }
    }
}

/// The encrypted content of a message in the conversation with this number.
struct SealedContent {
    let bytes: [UInt8]
    let conversation: Int64
}

/// The place of a conversation in the history.
public struct ConversationPlace: Sendable {
    fileprivate let number: Int64
}

/// A message in the form in which the history stores it.
public struct HistoryRow: Sendable {
    fileprivate let message: NewMessage
    fileprivate let sealed: SealedContent?
    fileprivate let time: Timestamp
}

extension IdentityStore {
    /// Returns the row of a message that was encrypted and is stored at `time`. Its content is encrypted later if the
    /// place of its conversation is not known. The function only reads the keys, so several threads may call it during
    /// a transaction.
    public func row(
        ofSent message: Message, state: HistoryEntry.State = .new,
        in place: ConversationPlace?, at time: Timestamp = .now()
    ) -> HistoryRow {
        var new = newMessage(
            message.id, message, .sent, nil, digest: [], author: owner.id, time)
        new.state = state
        return row(new, in: place, time)
    }

    /// Returns the row of a message of another sender that was opened and is stored at `time`, as
    /// ``row(ofSent:in:at:)`` does. `digest` is ``Envelope/digest``. Returns `nil` for a message of the owner
    /// and for one of a chat, because it can be a copy.
    public func row(
        ofOpened message: Message, id: String, digest: [UInt8], in place: ConversationPlace?,
        at time: Timestamp
    ) -> HistoryRow? {
        guard let from = message.from, from != owner.id else { return nil }
        let new = newMessage(
            id, message, .received, nil, digest: digest, author: message.from, time)
        return row(new, in: place, time)
    }

    private func row(
        _ message: NewMessage, in place: ConversationPlace?, _ time: Timestamp
    ) -> HistoryRow {
        HistoryRow(
            message: message, sealed: place.map { sealed(message, in: $0.number) }, time: time)
    }

    /// Returns a message that is stored now. `id` recognises its repeats. Without a kind it is that of the body.
    fileprivate func newMessage(
        _ id: String, _ message: Message, _ direction: HistoryEntry.Direction,
        _ known: HistoryEntry.Kind?, digest: [UInt8], author: KeyID?, _ time: Timestamp
    ) -> NewMessage {
        let body = MessageBody(local: message.body)
        var message = message
        if let signal = body?.call { message.body = signal.kept }
        let kind = known ?? HistoryEntry.Kind(body)
        let conversation = Conversation(of: message, owner: owner.id)
        let mark =
            direction == .sent
            ? mark(sent: id)
            : mark(received: id, in: conversation, bodyType: message.body["type"]?.string)
        return NewMessage(
            mark: mark, id: message.id, conversation: conversation,
            packed: PackedRecord.pack(message, conversation, owner: owner.id),
            written: message.time, body: body, direction: direction, kind: kind, time: time,
            expires: body?.expiry(
                kind, direction, written: message.time ?? time, storedAt: time),
            digest: digest, author: author)
    }

    /// Returns the column `sealed` of a message in the conversation with this number.
    func sealed(
        _ packed: [UInt8], mark: Int64, in conversation: Int64, digest: [UInt8]
    ) -> [UInt8] {
        var content: [UInt8] = []
        content.reserveCapacity(StoredMessage.digestLength + packed.count)
        content += digest.prefix(StoredMessage.digestLength)
        while content.count < StoredMessage.digestLength { content.append(0) }
        content += packed
        return seal(content, .message(mark: mark, conversation: conversation))
    }

    fileprivate func sealed(_ message: NewMessage, in conversation: Int64) -> SealedContent {
        SealedContent(
            bytes: sealed(
                message.packed, mark: message.mark, in: conversation, digest: message.digest),
            conversation: conversation)
    }
}
