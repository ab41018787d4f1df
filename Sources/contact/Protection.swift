import Sotto
import SottoState

/// The current protection of messages to a contact.
struct Protection {
    /// The suite that `encrypt` uses without `--suite`.
    let suite: Suite
    /// The session, whether messages use it or not; `nil` if none exists.
    let session: SessionSummary?
    /// Whether the next message begins a session with a bundle that `recv` claimed.
    let canBegin: Bool
    /// Whether the keys of the suite are post-quantum: those that began the session, or without a session those of the
    /// card. `encrypt` begins no other session with a recipient whose card has a post-quantum key.
    let isPostQuantum: Bool

    init(of contact: Contact, _ store: IdentityStore) throws {
        session = try store.sessionSummary(with: contact.id)
        canBegin =
            try session == nil
            && store.preview { try $0.freshBundle(of: contact.id) }?.pqSignedPreKey != nil
        suite = contact.suite ?? (session == nil && !canBegin ? .sealed : .ratchet)
        isPostQuantum =
            suite == .ratchet && (session != nil || canBegin)
            ? session?.isPostQuantum ?? true : contact.card?.hybrid != nil
    }

    /// The cells of a list: the suite, the start of the session, and whether it is post-quantum.
    var cells: [String] {
        [
            suite.rawValue, "session " + since(length: 10),
            "post-quantum " + (isPostQuantum ? "yes" : "no"),
        ]
    }

    /// Returns when the session began, truncated to `length` characters; `ready` if the next message begins one.
    func since(length: Int = .max) -> String {
        guard let session else { return canBegin ? "ready" : "none" }
        return String(session.began.description.prefix(length))
    }

    /// Adds the members of a record: `uses`, `session` with its `since`, and `postQuantum`.
    func add(to record: inout JSONObject) {
        record["uses"] = .string(suite.rawValue)
        record["session"] = session.map { session in
            .object(
                JSONObject([
                    ("since", .string(session.began.description)),
                    ("postQuantum", .bool(session.isPostQuantum)),
                ]))
        }
        record["postQuantum"] = .bool(isPostQuantum)
    }
}
