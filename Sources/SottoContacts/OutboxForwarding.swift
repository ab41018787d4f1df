import SottoBytes
import SottoState
import SottoTool
import SottoWire

/// Moves envelopes in the outbox to the relays that the later cards of their recipients name.
enum OutboxForwarding {
    /// Seconds to wait for another process that writes to the outbox.
    private static let lockTimeout = 5.0

    /// Moves the envelopes for the owners of cards. An error is reported: the envelopes then stay where they are.
    @Sendable static func forward(_ cards: [LaterCard]) {
        do throws(StateError) {
            guard let directory = try StateDirectory.existing(), Outbox.exists(in: directory) else {
                return
            }
            let outbox = try Outbox(directory: directory, lockTimeout: lockTimeout)
            for card in cards {
                guard let relay = try? RelayURL(card.relay) else { continue }
                try outbox.forward(card.mailboxes) { queue in
                    let former = try? RelayURL(queue)
                    guard queue.isEmpty || former != nil, former?.text != relay.text,
                        relay.mayFollow(former)
                    else { return nil }
                    return relay.text
                }
            }
        } catch {
            Terminal.note(
                "what waits in the outbox keeps its old relay: \(error.failure.message)")
        }
    }
}
