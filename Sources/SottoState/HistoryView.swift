public import Sotto
import SottoDatabase

/// A message as it stands now: with its edits applied, and with the reactions, pins and receipts of others.
public struct MessageView: Sendable {
    /// A reaction. Each author has one for each message.
    public struct Reaction: Sendable, Hashable {
        /// The author, or `nil` if they are not authenticated.
        public let from: SessionID?
        /// The emoji.
        public let emoji: String
        /// When the author says to have written it.
        public let time: Timestamp?
    }

    /// A pin.
    public struct Pin: Sendable, Hashable {
        /// Who pinned the message.
        public let from: SessionID?
        /// When they say to have done it.
        public let time: Timestamp?
        /// The end of the pin, or `nil`.
        public let until: Timestamp?
    }

    /// A receipt for a sent message.
    public struct Receipt: Sendable, Hashable {
        /// The recipient.
        public let from: SessionID
        /// ``HistoryEntry/State/delivered`` or ``HistoryEntry/State/read``.
        public let status: HistoryEntry.State
        /// When the recipient says that it happened.
        public let time: Timestamp?
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
    /// The receipts, the newest for each recipient.
    public private(set) var receipts: [Receipt] = []

    /// The present content, or `nil` if the message was deleted.
    public var body: JSONObject? { versions.last?.body }
    /// Whether the content was changed by its author.
    public var isEdited: Bool { versions.count > 1 }

    /// Applies events to a message of the history of `owner`. An edit or a deletion counts only from the message's own
    /// author, and a receipt only from the peer of its conversation. `now` is the time at which a pin may have ended.
    public init(
        _ entry: HistoryEntry, events: [HistoryEntry], owner: SessionID, now: Timestamp = .now()
    ) {
        self.entry = entry
        versions =
            (entry.record["body"]?.object).map { [Version(body: $0, time: entry.time)] } ?? []
        guard !entry.isGone else { return }
        let author = entry.author(owner)
        for event in events where !event.isGone {
            guard let body = event.record["body"]?.object,
                body["target"]?.object?["from"]?.string == author?.description
                    || body["type"]?.string == "receipt"
            else { continue }
            apply(event, body, from: event.author(owner), author: author)
        }
        if let until = pin?.until, until <= now { pin = nil }
    }

    private mutating func apply(
        _ event: HistoryEntry, _ body: JSONObject, from: SessionID?, author: SessionID?
    ) {
        switch body["type"]?.string {
        case "reaction":
            reactions.removeAll { $0.from == from }
            guard let emoji = body["emoji"]?.string, !emoji.isEmpty else { return }
            reactions.append(Reaction(from: from, emoji: emoji, time: event.time))
        case "edit":
            guard let content = body["body"]?.object, let from, from == author,
                ["text", "data", "file"].contains(content["type"]?.string)
            else { return }
            versions.append(Version(body: content, time: event.time))
        case "delete":
            if let from, from == author { versions = [] }
        case "pin":
            pin = Pin(
                from: from, time: event.time,
                until: body["until"]?.string.flatMap { Timestamp($0) })
        case "unpin": pin = nil
        case "receipt":
            guard entry.direction == .sent, let from, from == entry.peer, from != author,
                let status: HistoryEntry.State = ["delivered": .delivered, "read": .read][
                    body["status"]?.string ?? ""]
            else { return }
            if receipts.contains(where: { $0.status == .read }) { return }
            let time = body["time"]?.string.flatMap { Timestamp($0) } ?? event.time
            receipts = [Receipt(from: from, status: status, time: time)]
        default: return
        }
    }
}

extension HistoryEntry {
    /// Returns the author in the history of `owner`, or `nil` if they are not authenticated.
    public func author(_ owner: SessionID) -> SessionID? {
        direction == .sent ? owner : record["from"]?.string.flatMap { SessionID($0) }
    }
}

extension IdentityStore {
    /// Returns messages as they stand now.
    public func views(of entries: [HistoryEntry]) throws(StateError) -> [MessageView] {
        var views: [MessageView] = []
        for entry in entries {
            var events: [HistoryEntry] = []
            if let id = entry.id { events = try self.events(on: id, in: entry.conversation) }
            views.append(MessageView(entry, events: events, owner: owner.id))
        }
        return views
    }
}
