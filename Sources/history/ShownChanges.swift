import Sotto
import SottoState

/// The changes of a group between its messages; empty for a conversation with a person.
struct ShownChanges {
    private var rest: ArraySlice<ShownChange> = []

    /// The number of changes that were not returned.
    var count: Int { rest.count }

    /// Reads the changes of a conversation from a place on and before another one.
    init(
        _ history: OpenHistory, _ conversation: Conversation, from start: HistoryPlace = .start,
        before end: HistoryPlace = .end
    ) throws {
        guard let group = conversation.group else { return }
        rest = try history.store.shownChanges(of: group, from: start, before: end)[...]
    }

    /// Returns the changes before a place that were not returned before.
    mutating func next(before place: HistoryPlace) -> [ShownChange] {
        let next = rest.prefix { $0.place < place }
        rest = rest.dropFirst(next.count)
        return Array(next)
    }
}
