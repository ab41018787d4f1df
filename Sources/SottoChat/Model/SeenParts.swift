/// The order of a message in its conversation.
struct MessageOrder: Sendable, Hashable, Comparable {
    /// The seconds of the message's place in the history.
    var time: Int64
    var number: Int64

    static func < (a: Self, b: Self) -> Bool { (a.time, a.number) < (b.time, b.number) }
}

/// The parts of a conversation that were on the screen: in each of them, all messages from the first to the last were there.
struct SeenParts: Sendable {
    typealias Part = ClosedRange<MessageOrder>

    private(set) var parts: [Part] = []

    /// The part with a message, or `nil`.
    func part(with message: MessageOrder) -> Part? { parts.first { $0.contains(message) } }

    /// Adds a part, and joins it with those that have a message in common or one beside it: `before` and `after` are the orders of
    /// the messages directly before and after it, as far as they are known.
    mutating func add(_ part: Part, before: MessageOrder?, after: MessageOrder?) {
        var joined = part
        parts.removeAll { other in
            let isBeside =
                before.map(other.contains) ?? false || after.map(other.contains) ?? false
            guard isBeside || other.overlaps(part) else { return false }
            joined =
                min(
                    joined.lowerBound, other.lowerBound)...max(
                    joined.upperBound, other.upperBound)
            return true
        }
        parts.append(joined)
    }

    /// Forgets all parts if a message that was stored now has its place in one of them: it was not on the screen.
    mutating func note(stored message: MessageOrder) {
        if part(with: message) != nil { parts = [] }
    }
}
