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
    /// About how many bytes an envelope has, from what was read last.
    private var typicalBytes = 16 << 10

    /// About how many bytes are read at once. A consumer that reads nothing costs the relay some times that.
    private static let readBytes = 128 << 10

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
        return (cursor, min(room, 64, max(1, Self.readBytes / typicalBytes)))
    }

    /// Takes what was read; says what to push.
    mutating func endRead(_ page: Page) -> [Response] {
        isReading = false
        if page.hasMore { mayHaveMore = true }
        if !page.messages.isEmpty {
            let bytes = page.messages.reduce(0) { $0 + $1.delivered.envelope.count }
            typicalBytes = max(1, bytes / page.messages.count)
        }
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
