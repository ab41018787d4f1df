public import Sotto
import SottoDatabase

extension Outbox {
    /// Moves the envelopes that wait for some mailboxes to the queues of other relays. `address` returns the new address for
    /// the address of a queue, or `nil` if its envelopes stay.
    ///
    /// An envelope that needs a waiting blob stays, because its content names the relay of the blob. While another process
    /// sends from a queue, the envelopes of running processes stay too.
    public func forward(
        _ mailboxes: Set<KeyID>, address: (String) -> String?
    ) throws(StateError) {
        let recipients = Set(mailboxes.map(\.description))
        let waiting = try read(
            "SELECT DISTINCT relay, recipient FROM outbox WHERE kind = 0 AND outcome IS NULL"
        ) { (relay: $0.text(0), recipient: $0.text(1)) }
        for (relay, recipient) in waiting where recipients.contains(recipient) {
            guard let new = address(relay) else { continue }
            let lock = try lock(of: relay)
            let isIdle = lock.tryLock()
            defer { lock.unlock() }
            try write { connection throws(StateError) in
                try connection.run(
                    """
                    UPDATE outbox SET relay = ?1, owner = NULL
                    WHERE relay = ?2 AND recipient = ?3 AND kind = 0 AND outcome IS NULL
                        AND (owner IS NULL OR ?4)
                        AND (needs IS NULL OR NOT EXISTS (SELECT 1 FROM outbox AS blob
                            WHERE blob.kind = 4 AND blob.id = outbox.needs
                                AND blob.outcome IS NULL))
                    """, new, relay, recipient, isIdle)
            }
        }
    }
}
