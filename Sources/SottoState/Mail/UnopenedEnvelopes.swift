package import Sotto
import SottoDatabase

/// Envelopes of the inbox that nothing here opens: their session is not in this state, no chat fits, or this version cannot read
/// them.
///
/// They stay, because a session can begin with a later envelope, or a chat can be added. Their senders are only claims, so limits
/// bound them, and they take no room of other envelopes.
extension StateTransaction {
    /// The most such envelopes, and their bytes, that claim to be from one sender, or from all senders of a kind.
    private struct Limits {
        let count: Int64
        let bytes: Int64

        /// Of one sender who is neither a contact nor a member of a group.
        static let stranger = Limits(count: 20, bytes: 1 << 20)
        /// Of all of them, and of those without a sender.
        static let strangers = Limits(count: 200, bytes: 16 << 20)
        /// Of one contact or member of a group.
        static let known = Limits(count: 1_000, bytes: 16 << 20)
    }

    /// The state of an envelope after it could not be opened.
    package enum Unopened: Sendable {
        /// It waits, or it is not in the inbox.
        case kept
        /// Another one with the same content waits, and this one was deleted.
        case equal
        /// It was deleted, because as many as are kept wait.
        case aboveLimit
    }

    /// Marks an envelope as one that nothing here opens. `envelope` is its printed bytes, `content` a hash of what it has
    /// besides its id. `sender` is the person from whom it claims to be, or `nil`.
    ///
    /// Above the limit of a sender the newest are deleted, because the first one begins a session, and above that of all strangers the
    /// oldest. One that a command handles becomes a dead letter, of which there is a limit.
    package func markUnopened(
        id: String, envelope: [UInt8], content: [UInt8], from sender: KeyID?
    ) throws(StateError) -> Unopened {
        let mark = store.mark(claimedSender: sender)
        let digest = keyedHash(content, key: store.lookupKey)
        let isKnown = try sender.map { id throws(StateError) in try self.isKnown(id) } ?? false
        try connection.run(
            """
            UPDATE inbox SET claimed = ?, digest = ?, known = ?
            WHERE id = ? AND envelope = ? AND state IN (0, 1, 4, 5)
            """, mark, digest, isKnown, id, envelope)
        let isPrinted = try connection.exists(
            "SELECT 1 FROM inbox WHERE id = ? AND envelope = ? AND state IN (1, 5)", id, envelope)
        guard isPrinted else { return .kept }
        let isEqual = try connection.exists(
            """
            SELECT 1 FROM inbox WHERE claimed = ? AND digest = ? AND id <> ? AND \(Self.isKept)
            """, mark, digest, id)
        if isEqual {
            try delete(unopened: "id = ?", id)
            return .equal
        }
        let limits: Limits = isKnown ? .known : sender == nil ? .strangers : .stranger
        let used = try connection.rows(
            """
            SELECT count(*), coalesce(sum(length(envelope)), 0) FROM inbox
            WHERE claimed = ? AND \(Self.isKept)
            """, mark
        ) { (count: $0.integer(0), bytes: $0.integer(1)) }[0]
        if used.count > limits.count || used.bytes > limits.bytes {
            try delete(unopened: "id = ?", id)
            return .aboveLimit
        }
        if !isKnown {
            try delete(
                unopened: """
                    number IN (SELECT number FROM (
                        SELECT number, row_number() OVER newest AS place,
                            sum(length(envelope)) OVER newest AS bytes
                        FROM inbox WHERE claimed IS NOT NULL AND known = 0 AND \(Self.isKept)
                        WINDOW newest AS (ORDER BY number DESC))
                    WHERE place > ? OR bytes > ?)
                    """, Limits.strangers.count, Limits.strangers.bytes)
        }
        return .kept
    }

    /// The condition of an envelope that was printed and waits.
    fileprivate static let isKept = "envelope IS NOT NULL AND state IN (1, 2, 5)"

    /// Whether a person is a contact or was in a group.
    private func isKnown(_ person: KeyID) throws(StateError) -> Bool {
        if try contact(id: person) != nil { return true }
        return try groupCard(of: person) != nil
    }

    /// Deletes envelopes that could not be opened. Returns their number.
    @discardableResult
    fileprivate func delete<each Value: DatabaseValue>(
        unopened condition: String, _ values: repeat each Value
    ) throws(StateError) -> Int {
        try connection.run(
            """
            \(IdentityStore.ending)
            WHERE claimed IS NOT NULL AND envelope IS NOT NULL AND state <> 0 AND \(condition)
            """, repeat each values)
        return connection.changes
    }
}

extension IdentityStore {
    /// Returns the number of printed envelopes that could not be opened and wait.
    package func unopenedCount() throws(StateError) -> Int {
        try use { connection throws(StateError) in
            Int(
                try connection.integer(
                    "SELECT count(*) FROM inbox WHERE claimed IS NOT NULL AND \(StateTransaction.isKept)"
                ))
        }
    }

    /// Deletes the envelopes that could not be opened, those that claim to be from one sender or all, so that a later copy is not
    /// printed. Returns their number.
    package func forgetUnopened(from sender: KeyID? = nil) throws -> Int {
        try transaction { transaction in
            guard let sender else { return try transaction.delete(unopened: "true") }
            let person = try transaction.person(ofDevice: sender) ?? sender
            return try transaction.delete(unopened: "claimed = ?", mark(claimedSender: person))
        }
    }

    /// Returns the keyed hash of a claimed sender, 16 bytes.
    fileprivate func mark(claimedSender sender: KeyID?) -> [UInt8] {
        keyedHash(Array("claimed ".utf8) + (sender?.publicKey ?? []), key: lookupKey)
    }
}
