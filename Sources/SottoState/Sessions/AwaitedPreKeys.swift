import Sotto
import SottoDatabase

/// The prekeys named by authentic envelopes that have not been opened: message requests, and envelopes in the inbox
/// that the reading program's policy refused. Their secrets are kept while the envelope waits.
extension StateTransaction {
    /// Records the prekeys that an envelope names. Does nothing for a message of an existing session.
    public func awaitPreKeys(of step: Step, id: String) throws(StateError) {
        guard let header = step.begun else { return }
        try connection.run(
            """
            INSERT INTO awaited (id, signed, post_quantum, one_time) VALUES (?, ?, ?, ?)
            ON CONFLICT (id) DO NOTHING
            """, id, header.signedPreKeyID, header.kem?.preKeyID, header.oneTimePreKeyID)
    }

    /// Deletes the prekeys recorded for envelopes that no longer wait.
    func forgetAwaited() throws(StateError) {
        try connection.run(
            """
            DELETE FROM awaited WHERE id NOT IN (SELECT id FROM request)
            AND id NOT IN (SELECT id FROM inbox WHERE envelope IS NOT NULL AND state <> 2)
            """)
    }
}
