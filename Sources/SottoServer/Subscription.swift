import SottoWire

/// How far a consumer has been pushed its mailbox.
///
/// Envelopes are always read from the store, after the last one pushed: what a commit adds only makes the
/// subscription look again. So none is missed, none comes twice, and order is the store's.
struct Subscription {
    private var cursor: Int64 = 0
    private var inFlight: Set<String> = []
    private var isReading = false
    private var mayHaveMore = true
    private var saidEmpty = false

    /// Notes that the mailbox got something.
    mutating func noteArrival() { mayHaveMore = true }

    /// Notes that the consumer is done with some of what was pushed.
    mutating func noteAcknowledged(_ ids: [String]) {
        for id in ids { inFlight.remove(id) }
    }

    /// Begins to read: after which number, and how many. `nil` while that is useless or not allowed.
    mutating func beginRead() -> (after: Int64, limit: Int)? {
        let room = WireLimits.window - inFlight.count
        guard !isReading, mayHaveMore, room > 0 else { return nil }
        isReading = true
        mayHaveMore = false
        return (cursor, min(room, 64))
    }

    /// Takes what was read; says what to push.
    mutating func endRead(_ page: Page) -> [Response] {
        isReading = false
        if page.hasMore { mayHaveMore = true }
        var pushes: [Response] = []
        for message in page.messages {
            cursor = message.delivered.sequence
            inFlight.insert(message.id)
            pushes.append(.newMessage(message.delivered))
        }
        if !mayHaveMore, !saidEmpty {
            saidEmpty = true
            pushes.append(.empty)
        }
        return pushes
    }
}
