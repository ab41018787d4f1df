public import Sotto
import SottoDatabase

/// A message as it stands now: with its edits applied, and with the reactions, pins and receipts of others.
public struct MessageView: Sendable {
    /// A reaction. Each author has one for each message.
    public struct Reaction: Sendable, Hashable {
        /// The author, or `nil` if they are not authenticated.
        public let from: KeyID?
        /// The author's nickname in the group at that time, or `nil`.
        public let nickname: String?
        /// The emoji.
        public let emoji: String
        /// When the author says to have written it.
        public let time: Timestamp?
    }

    /// A pin.
    public struct Pin: Sendable, Hashable {
        /// The person by whom the message was pinned, or `nil` if they are not authenticated.
        public let from: KeyID?
        /// When they say to have done it.
        public let time: Timestamp?
        /// The end of the pin, or `nil`.
        public let until: Timestamp?
    }

    /// A receipt for a sent message.
    public struct Receipt: Sendable, Hashable {
        /// The recipient.
        public let from: KeyID
        /// ``HistoryEntry/State/delivered`` or ``HistoryEntry/State/read``.
        public let status: HistoryEntry.State
        /// When the recipient says that it happened.
        public let time: Timestamp?
    }

    /// Events that were erased because their author wrote too many of them on the message.
    public struct Dropped: Sendable, Hashable {
        /// The author, or `nil` if they are not authenticated.
        public let from: KeyID?
        /// The number of the events.
        public let count: Int
    }

    /// An earlier or the present content.
    public struct Version: Sendable, Hashable {
        /// The content.
        public let body: JSONObject
        /// When its author says to have written it.
        public let time: Timestamp?
    }

    /// The message.
    public let entry: HistoryEntry
    /// The versions of the content, the oldest first. Empty if the message was deleted.
    public private(set) var versions: [Version]
    /// The reactions, one for each author, in the order of writing.
    public private(set) var reactions: [Reaction] = []
    /// The pin, or `nil` if the message is not pinned now.
    public private(set) var pin: Pin?
    /// The receipts, one for each recipient: the first that tells of reading, or else the newest.
    public private(set) var receipts: [Receipt] = []
    /// The erased events above ``StateTransaction/eventsPerAuthor``, by author.
    public fileprivate(set) var dropped: [Dropped] = []

    /// The call that the message offers, or `nil`. Its ``Call/body`` is the present content.
    public private(set) var call: Call?

    /// When the relay deletes the file of the message, or deleted it, if it keeps files for ``Blob/lifetime``; `nil` without a
    /// file at a relay.
    public private(set) var fileEnd: Timestamp?
    /// Whether the file was fetched. Of an imported message this is not known, and it counts as fetched.
    public fileprivate(set) var isFileFetched = false
    /// The times at which the author sent the message again.
    private var repeats: [Timestamp] = []

    /// The present content, or `nil` if the message was deleted.
    public var body: JSONObject? { versions.last?.body }
    /// ``body``, or `nil` if it is malformed.
    public private(set) var parsedBody: MessageBody?
    /// Whether the content was changed by its author.
    public var isEdited: Bool { versions.count > 1 }

    /// Applies events to a message of the history of `owner`. An edit or a deletion counts only from the message's own
    /// author, and a receipt only from the peer of its conversation, or in a group from a reader, as the events are only those
    /// that count for the message. `now` is the time at which a pin may have ended.
    public init(
        _ entry: HistoryEntry, events: [HistoryEntry], owner: KeyID, now: Timestamp = .now()
    ) {
        self.entry = entry
        versions =
            (entry.record["body"]?.object).map { [Version(body: $0, time: entry.time)] } ?? []
        guard !entry.isGone else { return }
        let author = entry.author(owner)
        for event in events {
            guard let body = event.body, !event.isImported || entry.isImported else { continue }
            if let target = body.target, target.from != author { continue }
            apply(event, body, from: event.author(owner), author: author)
        }
        if let until = pin?.until, until <= now { pin = nil }
        parsedBody = body.flatMap { MessageBody(local: $0) }
        if body?["type"]?.string == "file", entry.file?.place != nil, let sent = entry.shownTime {
            fileEnd = endOfFile(sent)
        }
    }

    /// Shows a call in place of its offer.
    fileprivate mutating func show(_ call: Call?) {
        guard let call, !entry.isGone else { return }
        self.call = call
        versions = [Version(body: call.body, time: entry.time)]
        parsedBody = MessageBody(local: call.body)
    }

    /// Returns when the relay deletes a file that was first sent at a time. A repeat brings it to the relay again only if the relay
    /// had deleted it.
    private func endOfFile(_ sent: Timestamp) -> Timestamp {
        var end = sent.seconds + Blob.lifetime
        for time in repeats.map(\.seconds).sorted() where time >= end { end = time + Blob.lifetime }
        return Timestamp(seconds: end)
    }

    /// Whether the relay deleted the file before it was fetched. A sender cannot know of a fetch: a receipt of reading counts as one,
    /// and without it this holds for 30 days, for which the file can be sent again.
    public func hasExpiredFile(at now: Timestamp = .now()) -> Bool {
        guard let fileEnd, fileEnd <= now, !isFileFetched else { return false }
        return switch entry.state {
        case .new, .read: entry.direction == .received
        case .sentElsewhere, .handedOn, .stored, .delivered:
            now.seconds - fileEnd.seconds < Departure.lifetime
        case .waiting, .dropped, .lapsed, .failed, .claimed, .deleted, .damaged, .expired: false
        }
    }

    private mutating func apply(
        _ event: HistoryEntry, _ body: MessageBody, from: KeyID?, author: KeyID?
    ) {
        switch body.kind {
        case .reaction(_, let emoji):
            reactions.removeAll { $0.from == from }
            guard !emoji.isEmpty else { return }
            reactions.append(
                Reaction(
                    from: from, nickname: event.nickname, emoji: emoji, time: event.time))
        case .edit(_, let content):
            // The new content is shown as it was written, with its members in their order.
            guard let from, from == author,
                let written = event.record["body"]?.object?["body"]?.object
            else { return }
            if case .unknown = content.kind { return }
            versions.append(Version(body: written, time: event.time))
        case .delete:
            if let from, from == author || entry.conversation.isModerated { versions = [] }
        case .pin(_, let until): pin = Pin(from: from, time: event.time, until: until)
        case .unpin: pin = nil
        case .receipt(let receipt):
            guard entry.direction == .sent, let from, from == event.peer, from != author,
                receipt.group == entry.conversation.group?.description,
                receipt.group != nil || from == entry.peer
            else { return }
            let new = Receipt(
                from: from, status: HistoryEntry.State(receipt.status), time: receipt.time)
            guard let known = receipts.firstIndex(where: { $0.from == from }) else {
                receipts.append(new)
                return
            }
            if receipts[known].status != .read { receipts[known] = new }
        case .history:
            if from == author, event.hasLeft, let time = event.shownTime { repeats.append(time) }
        case .text, .data, .file, .timer, .typing, .presence, .profile, .call, .other, .system,
            .unknown:
            return
        }
    }
}

extension HistoryEntry.State {
    /// Returns the state of a sent message with such a receipt.
    init(_ status: Sotto.Receipt.Status) {
        switch status {
        case .delivered: self = .delivered
        case .read: self = .read
        }
    }
}

extension HistoryEntry {
    /// Returns the author in the history of `owner`, or `nil` if they are not authenticated.
    public func author(_ owner: KeyID) -> KeyID? {
        guard direction == .received else { return owner }
        let from = record["from"]?.string
        // The usual author needs no parsing.
        return peer.flatMap { $0.description == from ? $0 : nil } ?? from.flatMap { KeyID($0) }
    }
}

extension IdentityStore {
    /// Returns messages as they stand now.
    public func views(of entries: [HistoryEntry]) throws(StateError) -> [MessageView] {
        defer { damage.flush() }
        return try database.snapshot { (connection: StateConnection) throws(StateError) in
            try views(of: entries, connection)
        }
    }

    func views(
        of entries: [HistoryEntry], _ connection: StateConnection
    ) throws(StateError) -> [MessageView] {
        var rows: [Conversation: ConversationRow] = [:]
        var conversations: [Int64: Conversation] = [:]
        let now = Timestamp.now()
        return try entries.map { entry throws(StateError) in
            if rows[entry.conversation] == nil {
                rows[entry.conversation] = try conversationRow(entry.conversation, connection)
            }
            guard let id = entry.id, let row = rows[entry.conversation] else {
                return MessageView(entry, events: [], owner: owner.id, now: now)
            }
            let events = try self.events(on: id, in: row, connection, &conversations)
            var view = MessageView(entry, events: events, owner: owner.id, now: now)
            if let signal = entry.call { view.show(try call(signal.call, in: row, connection)) }
            view.dropped = try dropped(on: id, in: row, events, connection)
            if view.fileEnd != nil {
                view.isFileFetched = try isFileFetched(entry.number, connection)
            }
            return view
        }
    }

    /// Returns the erased events on a message. `events` are those that remain, which name the authors.
    private func dropped(
        on id: String, in row: ConversationRow, _ events: [HistoryEntry],
        _ connection: StateConnection
    ) throws(StateError) -> [MessageView.Dropped] {
        guard events.count >= StateTransaction.eventsPerAuthor else { return [] }
        var authors: [Int64: KeyID] = [:]
        for event in events {
            guard let author = event.author(owner.id) else { continue }
            authors[mark(author: author, isImported: event.isImported)] = author
        }
        return try connection.rows(
            "SELECT author, count FROM dropped WHERE target = ? ORDER BY count DESC, author",
            mark(target: id, conversation: row.number)
        ) { MessageView.Dropped(from: authors[$0.integer(0)], count: Int($0.integer(1))) }
    }
}
