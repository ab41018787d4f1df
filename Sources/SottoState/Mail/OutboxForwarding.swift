import Sotto
import SottoDatabase

/// Envelopes in the outbox follow their recipient to the relay that a later card names.
///
/// The transaction that stores such a card notes the contact in the state. After its commit the envelopes are moved. The note
/// is removed when no envelope is left that has to move: if the outbox cannot be used, the program ends before, or an envelope
/// is being sent or waits for its blob, then the next program that opens the state continues.
extension IdentityStore {
    /// Seconds to wait for another program that writes to the outbox.
    private static let forwardTimeout = 5.0

    /// Moves what waits for the noted contacts. If the outbox cannot be used now, a later program moves it.
    func settleForwardingIfPossible() {
        do throws(StateError) {
            try settleForwarding()
        } catch {
            // `send` reports an outbox that cannot be used.
        }
    }

    private func settleForwarding() throws(StateError) {
        guard let follow else { return }
        let notes = try database.use { (connection: StateConnection) throws(StateError) in
            try connection.rows("SELECT peer, max(number) FROM forwarding GROUP BY peer") {
                (peer: $0.bytes(0), last: $0.integer(1))
            }
        }
        guard !notes.isEmpty else { return }
        var settled = notes
        if Outbox.exists(in: directory) {
            let outbox = try Outbox(directory: directory, lockTimeout: Self.forwardTimeout)
            let waiting = try withConversations(outbox.waitingEnvelopes())
            let queues = Dictionary(grouping: waiting, by: \.relay)
            if !queues.isEmpty {
                settled = []
                for note in notes {
                    if try isSettled(note.peer, queues, outbox, follow) { settled.append(note) }
                }
            }
        }
        // Another process may have noted a still later card.
        let done = settled
        try database.transaction { (connection: StateConnection) throws(StateError) in
            for note in done {
                try connection.run(
                    "DELETE FROM forwarding WHERE peer = ? AND number <= ?", note.peer, note.last)
            }
        }
    }

    /// Moves what waits for the contact with a keyed hash. Returns whether no envelope is left that has to move.
    private func isSettled(
        _ peer: [UInt8], _ queues: [String: [Outbox.WaitingEnvelope]], _ outbox: Outbox,
        _ follow: (String, String) -> String?
    ) throws(StateError) -> Bool {
        guard let contact = try contact(marked: peer), let relay = contact.card?.relay else {
            return true
        }
        let conversation = mark(Conversation.peer(contact.id))
        var isSettled = true
        for (queue, envelopes) in queues {
            guard let new = follow(relay, queue) else { continue }
            // The recipient is the contact's id, or the history has the envelope as a message to the contact. The address on the
            // contact's card proves nothing, because it can be the mailbox of another person.
            let numbers = envelopes.filter {
                $0.recipient == contact.id.description || $0.conversation == conversation
            }.map(\.number)
            guard !numbers.isEmpty else { continue }
            if try !outbox.move(numbers, from: queue, to: new) { isSettled = false }
        }
        return isSettled
    }

    /// Adds to envelopes the conversations in which the history has them as own messages.
    private func withConversations(
        _ envelopes: [Outbox.WaitingEnvelope]
    ) throws(StateError) -> [Outbox.WaitingEnvelope] {
        try database.use { (connection: StateConnection) throws(StateError) in
            var known = envelopes
            for index in known.indices {
                known[index].conversation = try connection.first(
                    """
                    SELECT conversation.mark FROM message
                    JOIN conversation ON conversation.number = message.conversation
                    WHERE message.mark = ? AND sent = 1
                    """, mark(sent: known[index].id)
                ) { $0.bytes(0) }
            }
            return known
        }
    }
}

extension StateTransaction {
    /// Notes a contact whose signed card names another relay than the stored card, which it replaces and which is not later.
    func noteForwarding(to contact: Contact) throws(StateError) {
        guard let card = contact.card, card.record != nil, let issued = card.issued,
            let relay = card.relay
        else { return }
        let old = try readableContact(id: contact.id)?.card
        guard relay != old?.relay, issued.seconds >= old?.issued?.seconds ?? .min else { return }
        try connection.run("INSERT INTO forwarding (peer) VALUES (?)", store.mark(contact.id))
        isForwarding = true
    }
}

extension Outbox {
    /// An envelope that waits.
    struct WaitingEnvelope {
        let number: Int64
        /// The address of the queue, or empty.
        let relay: String
        let recipient: String
        let id: String
        /// The keyed hash of the conversation in which the history has the envelope as an own message, or `nil`.
        var conversation: [UInt8]?
    }

    /// Returns all envelopes that wait.
    func waitingEnvelopes() throws(StateError) -> [WaitingEnvelope] {
        try read(
            "SELECT number, relay, recipient, id FROM outbox WHERE kind = 0 AND outcome IS NULL"
        ) { row in
            WaitingEnvelope(
                number: row.integer(0), relay: row.text(1), recipient: row.text(2), id: row.text(3))
        }
    }

    /// Moves envelopes to the queue of another relay. Returns whether all were moved.
    ///
    /// An envelope that needs a waiting blob stays, because its content names the relay of the blob. While another process
    /// sends from the queue, the envelopes of running processes stay too.
    func move(_ numbers: [Int64], from queue: String, to new: String) throws(StateError) -> Bool {
        let lock = try lock(of: queue)
        let isIdle = lock.tryLock()
        defer { lock.unlock() }
        var count = 0
        try write { connection throws(StateError) in
            for number in numbers {
                try connection.run(
                    """
                    UPDATE outbox SET relay = ?1, owner = NULL
                    WHERE number = ?2 AND relay = ?3 AND outcome IS NULL
                        AND (owner IS NULL OR ?4)
                        AND (needs IS NULL OR NOT EXISTS (SELECT 1 FROM outbox AS blob
                            WHERE blob.kind = 4 AND blob.id = outbox.needs
                                AND blob.outcome IS NULL))
                    """, new, number, queue, isIdle)
                count += connection.changes
            }
        }
        return count == numbers.count
    }
}
