import Sotto
import SottoState

/// The search for messages by their present texts, each at its own place.
///
/// An edit can stand anywhere: behind its message, or before it if it arrived first. So all edits with the text are found before the
/// search begins, and the messages that they change wait until it comes to their places.
struct MessageSearch {
    private let wanted: String
    private let conversation: Conversation?
    private let store: IdentityStore
    /// The first place of a search towards the newest message, or `nil` for the other direction.
    private let first: HistoryPlace?
    /// The place after the last one.
    private let end: HistoryPlace
    /// The edited messages to which the search has not come, the next one last.
    private var edited: [HistoryEntry] = []
    private var found: Set<Int64> = []

    init(
        _ wanted: String, in conversation: Conversation?, after: IdentityStore.Point?,
        before: IdentityStore.Point?, _ store: IdentityStore
    ) throws {
        self.wanted = wanted
        self.conversation = conversation
        self.store = store
        first = try after.map { try store.place(after: $0) }
        end = try before.map { try store.place(of: $0) } ?? .end
    }

    /// Calls `show` with each message that has the text, in the order of the search, until it returns `false`.
    mutating func run(_ show: (HistoryEntry) throws -> Bool) throws {
        edited = try editedMessages()
        var goesOn = true
        try store.search(
            wanted, in: conversation, first.map { SearchStart.from($0) } ?? .before(end),
            of: .contents
        ) { entry in
            goesOn = try takeEdited(passedAt: entry.place, show)
            if goesOn { goesOn = try take(entry, show) }
            return goesOn
        }
        if goesOn { _ = try takeEdited(passedAt: nil, show) }
    }

    /// Returns the messages within the search of which an edit has the text, in the opposite of its order.
    private func editedMessages() throws -> [HistoryEntry] {
        var messages: [Int64: HistoryEntry] = [:]
        try store.search(wanted, in: conversation, of: .events) { edit in
            if let message = try message(of: edit), contains(message.place) {
                messages[message.number] = message
            }
            return true
        }
        let isForward = first != nil
        return messages.values.sorted {
            isForward ? $0.place > $1.place : $0.place < $1.place
        }
    }

    /// Returns the message that an edit changes.
    private func message(of edit: HistoryEntry) throws -> HistoryEntry? {
        guard let id = edit.body?.target?.id else { return nil }
        let owner = store.owner.id
        return try store.historyEntries(id: id, in: edit.conversation).first {
            $0.author(owner) == edit.author(owner)
        }
    }

    private func contains(_ place: HistoryPlace) -> Bool {
        place >= first ?? .start && place < end
    }

    /// Shows a message if it matches as it stands now. Returns whether the search goes on.
    private mutating func take(
        _ entry: HistoryEntry, _ show: (HistoryEntry) throws -> Bool
    ) throws -> Bool {
        guard contains(entry.place), !found.contains(entry.number),
            let body = try store.views(of: [entry])[0].body, SearchText(wanted).occurs(in: body)
        else { return true }
        found.insert(entry.number)
        return try show(entry)
    }

    /// Shows the edited messages whose places the search has passed; without a place all. Returns whether the search goes on.
    private mutating func takeEdited(
        passedAt place: HistoryPlace?, _ show: (HistoryEntry) throws -> Bool
    ) throws -> Bool {
        while let next = edited.last {
            if let place, first != nil ? next.place >= place : next.place <= place { break }
            edited.removeLast()
            guard try take(next, show) else { return false }
        }
        return true
    }
}
