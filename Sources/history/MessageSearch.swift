import Sotto
import SottoState

/// The search for messages by their present texts, each at its own place.
///
/// An edit is behind the message that it changes. A message whose edit has the text waits until the search comes to its place.
struct MessageSearch {
    private let wanted: String
    private let conversation: Conversation?
    private let store: IdentityStore
    /// The first place of a search towards the newest message, or `nil` for the other direction.
    private let first: HistoryPlace?
    /// The place after the last one.
    private let end: HistoryPlace
    /// The edited messages whose places the search has not passed.
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
        try noteOtherEdits()
        var goesOn = true
        try store.search(
            wanted, in: conversation, first.map { SearchStart.from($0) } ?? .before(end),
            of: first == nil ? .all : .contents
        ) { entry in
            guard entry.kind == .content else {
                try note(entry)
                return true
            }
            goesOn = try takeEdited(passedAt: entry.place, show)
            if goesOn { goesOn = try take(entry, show) }
            return goesOn
        }
        if goesOn { _ = try takeEdited(passedAt: nil, show) }
    }

    /// Notes the edits that the search would meet after their messages or not at all: in the direction of the newest message all, in
    /// the other one those behind its beginning.
    private mutating func noteOtherEdits() throws {
        if let first {
            try store.search(wanted, in: conversation, .from(first), of: .events) {
                try note($0)
                return true
            }
        } else if end < .end {
            try store.search(wanted, in: conversation, of: .events) {
                guard $0.place >= end else { return false }
                try note($0)
                return true
            }
        }
    }

    /// Shows a message if it matches as it stands now. Returns whether the search goes on.
    private mutating func take(
        _ entry: HistoryEntry, _ show: (HistoryEntry) throws -> Bool
    ) throws -> Bool {
        guard entry.place >= first ?? .start, entry.place < end, !found.contains(entry.number),
            let body = try store.views(of: [entry])[0].body, SearchText(wanted).occurs(in: body)
        else { return true }
        found.insert(entry.number)
        return try show(entry)
    }

    /// Shows the edited messages whose places the search has passed; without a place all. Returns whether the search goes on.
    private mutating func takeEdited(
        passedAt place: HistoryPlace?, _ show: (HistoryEntry) throws -> Bool
    ) throws -> Bool {
        let isForward = first != nil
        func isPassed(_ entry: HistoryEntry) -> Bool {
            guard let place else { return true }
            return isForward ? entry.place < place : entry.place > place
        }
        let passed = edited.filter(isPassed).sorted {
            isForward ? $0.place < $1.place : $0.place > $1.place
        }
        edited.removeAll(where: isPassed)
        for entry in passed {
            guard try take(entry, show) else { return false }
        }
        return true
    }

    /// Notes the message that an edit changes.
    private mutating func note(_ edit: HistoryEntry) throws {
        guard let id = edit.body?.target?.id else { return }
        let owner = store.owner.id
        let target = try store.historyEntries(id: id, in: edit.conversation).first {
            $0.author(owner) == edit.author(owner)
        }
        if let target { edited.append(target) }
    }
}
