package import Sotto
import SottoDatabase

/// A registration for wake-ups that the owner made at a relay, to renew it.
package struct OwnWake: Sendable, Equatable {
    /// The name of the relay, `host:port`.
    package let relay: String
    /// The kind of the wake-ups, as in the relay protocol.
    package let kind: String
    /// The address to which the relay posts.
    package let url: String
    /// The text in each wake-up, or `nil`.
    package let token: String?
    /// When the relay last had it, in seconds since 1970, or 0, and for how many mailboxes.
    package private(set) var renewed: Int64 = 0
    package private(set) var mailboxes = 0

    /// Seconds after which a registration is renewed.
    private static let renewalSeconds: Int64 = 86_400

    package init(relay: String, kind: String, url: String, token: String?) {
        (self.relay, self.kind, self.url, self.token) = (relay, kind, url, token)
    }

    /// Whether it must be renewed: once a day, and when the owner has another number of mailboxes.
    package func isDue(mailboxes: Int, at time: Timestamp = .now()) -> Bool {
        self.mailboxes != mailboxes
            || !(0..<Self.renewalSeconds).contains(time.seconds - renewed)
    }

    fileprivate init?(_ bytes: [UInt8], renewed: Int64, mailboxes: Int64) {
        guard let record = try? JSON.object(parsing: bytes), let relay = record["relay"]?.string,
            let kind = record["kind"]?.string, let url = record["url"]?.string
        else { return nil }
        self.init(relay: relay, kind: kind, url: url, token: record["token"]?.string)
        (self.renewed, self.mailboxes) = (renewed, Int(clamping: mailboxes))
    }

    fileprivate var encoded: [UInt8] {
        JSONObject([
            ("relay", .string(relay)), ("kind", .string(kind)), ("url", .string(url)),
            ("token", token.map { .string($0) }),
        ]).serialized()
    }
}

extension IdentityStore {
    /// Returns the registrations at a relay.
    package func wakes(at relay: String) throws(StateError) -> [OwnWake] {
        try use { connection throws(StateError) in
            try connection.rows("SELECT mark, renewed, mailboxes, sealed FROM wake ORDER BY number")
            {
                row throws(StateError) -> OwnWake? in
                let (mark, sealed) = (row.bytes(0), row.bytes(3))
                let (renewed, mailboxes) = (row.integer(1), row.integer(2))
                return try readable(.wake, mark) { () throws(StateError) in
                    guard
                        let wake = OwnWake(
                            try unseal(sealed, .wake(mark: mark)), renewed: renewed,
                            mailboxes: mailboxes)
                    else { throw .unsealable(path: database.path) }
                    return wake
                }
            }.compactMap(\.self).filter { $0.relay == relay }
        }
    }
}

extension StateTransaction {
    /// Stores a registration in place of the one of its kind. It is due.
    package func keep(_ wake: OwnWake) throws(StateError) {
        let mark = store.mark(wake: wake.kind, at: wake.relay)
        try connection.run(
            """
            INSERT INTO wake (mark, renewed, mailboxes, sealed) VALUES (?, 0, 0, ?)
            ON CONFLICT (mark) DO UPDATE SET
                renewed = 0, mailboxes = 0, sealed = excluded.sealed
            """, mark, store.seal(wake.encoded, .wake(mark: mark)))
    }

    /// Notes that the relay has a registration for a number of mailboxes, unless it was deleted meanwhile.
    package func noteRenewed(
        _ wake: OwnWake, mailboxes: Int, at time: Timestamp = .now()
    ) throws(StateError) {
        try connection.run(
            "UPDATE wake SET renewed = ?, mailboxes = ? WHERE mark = ?", time.seconds,
            Int64(mailboxes), store.mark(wake: wake.kind, at: wake.relay))
    }

    /// Deletes the registration of a kind at a relay.
    package func forgetWake(_ kind: String, at relay: String) throws(StateError) {
        try connection.run(
            "DELETE FROM wake WHERE mark = ?", store.mark(wake: kind, at: relay))
    }
}
