import SottoWire

/// The rule by which envelopes in the outbox follow their recipient to another relay.
enum OutboxForwarding {
    /// Returns the address for envelopes that wait in a queue of the outbox for a person whose later card names a relay, or
    /// `nil` if they stay.
    @Sendable static func address(for relay: String, from queue: String) -> String? {
        guard let relay = try? RelayURL(relay) else { return nil }
        let former = try? RelayURL(queue)
        guard queue.isEmpty || former != nil, former?.text != relay.text, relay.mayFollow(former)
        else { return nil }
        return relay.text
    }
}
