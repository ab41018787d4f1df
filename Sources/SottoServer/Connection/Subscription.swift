import SottoWire

/// The state of a subscription to a mailbox.
///
/// Envelopes are always read from the store, after the last one pushed; a commit only makes the subscription read
/// again. So no envelope is missed or pushed twice, and the order is the store's.
struct Subscription {
    private var cursor: Int64 = 0
    private var inFlight: Set<String> = []
    private var isReading = false
    private var mayHaveMore = true
    private var hasSentEmpty = false
    /// The average size of an envelope in bytes, from the last read.
    private var typicalBytes = 16 << 10

    /// The approximate bytes of one read. A subscriber that does not take them costs the relay a few times as much
    /// memory.
    private static let readBytes = 128 << 10

    /// Notes that the mailbox got an envelope.
    mutating func noteArrival() { mayHaveMore = true }

    /// Notes that the subscriber has acknowledged envelopes.
    mutating func noteAcknowledged(_ ids: [String]) {
        for id in ids { inFlight.remove(id) }
    }

    /// Begins a read. Returns its start and limit, or `nil` while a read is useless or not allowed.
    mutating func beginRead() -> (after: Int64, limit: Int)? {
        let room = WireLimits.window - inFlight.count
        guard !isReading, mayHaveMore, room > 0 else { return nil }
        isReading = true
        mayHaveMore = false
        return (cursor, min(room, 64, max(1, Self.readBytes / typicalBytes)))
    }

    /// Ends a read. Returns the frames to push, with the envelopes in the client's form. Those without that form are not
    /// pushed.
    mutating func endRead(_ page: Page, as form: RelayProtocol = .own) -> [Response] {
        isReading = false
        if page.hasMore { mayHaveMore = true }
        if !page.messages.isEmpty {
            let bytes = page.messages.reduce(0) { $0 + $1.delivered.envelope.count }
            typicalBytes = max(1, bytes / page.messages.count)
        }
        var pushes: [Response] = []
        for message in page.messages {
            cursor = message.delivered.sequence
            guard let delivered = message.delivered.form(form) else { continue }
            inFlight.insert(message.id)
            pushes.append(.newMessage(delivered))
        }
        if !mayHaveMore, !hasSentEmpty {
            hasSentEmpty = true
            pushes.append(.empty)
        }
        return pushes
    }
}
