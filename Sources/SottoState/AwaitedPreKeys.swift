import Sotto

/// The prekeys that envelopes name which are authentic and were not opened: requests, and envelopes in the inbox that a
/// reader's policy refused. Their secrets are kept for as long as the envelope waits.
extension StateTransaction {
    /// Notes the prekeys that an envelope names. Does nothing for a message of a session that has begun.
    public func awaitPreKeys(of step: Step, id: String) throws(StateError) {
        guard let header = step.begun else { return }
        let insert = try connection.statement(
            """
            INSERT INTO awaited (id, signed, post_quantum, one_time) VALUES (?, ?, ?, ?)
            ON CONFLICT (id) DO NOTHING
            """)
        insert.bind(1, id)
        insert.bind(2, Int64(header.signedPreKeyID))
        if let kem = header.kem { insert.bind(3, Int64(kem.preKeyID)) } else { insert.bindNull(3) }
        if let number = header.oneTimePreKeyID {
            insert.bind(4, Int64(number))
        } else {
            insert.bindNull(4)
        }
        try insert.run()
    }

    /// Forgets what envelopes named that wait no longer.
    func forgetAwaited() throws(StateError) {
        try connection.run(
            """
            DELETE FROM awaited WHERE id NOT IN (SELECT id FROM request)
            AND id NOT IN (SELECT id FROM inbox WHERE envelope IS NOT NULL AND state <> 2)
            """)
    }
}
