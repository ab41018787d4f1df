import Glibc
import Sotto
import SottoDatabase

/// The outcomes of sent envelopes. `send` has no identity and cannot write into the history, so it leaves them in the
/// outbox, and a tool with the identity collects them.
extension IdentityStore {
    /// Takes the outcomes of this identity's messages from the outbox into the history. Outcomes of other identities
    /// stay there, at most ``Outbox/outcomeDays``.
    public func collectOutcomes(from outbox: Outbox) throws {
        let outcomes = try outbox.outcomes()
        guard !outcomes.isEmpty else { return }
        let own = try preview { transaction in
            try outcomes.filter { try transaction.hasSent($0.id) }
        }
        guard !own.isEmpty else { return }
        try transaction { transaction in
            for (id, outcome) in own { try transaction.record(outcome, of: id) }
        }
        try outbox.forgetOutcomes(of: own.map(\.id))
    }
}

extension StateTransaction {
    fileprivate func record(_ outcome: String, of id: String) throws(StateError) {
        let state: HistoryEntry.State
        // The first word is the status of the result that `send` prints.
        switch outcome.prefix(while: { $0 != " " }) {
        case "stored", "duplicate": state = .stored
        case "rejected", "dropped", "expired": state = .failed
        default: return
        }
        // A receipt may be here already.
        try connection.run(
            "UPDATE message SET state = ? WHERE mark = ? AND state IN (?, ?)", state.rawValue,
            store.mark(sent: id), HistoryEntry.State.new.rawValue,
            HistoryEntry.State.failed.rawValue)
    }
}

extension Outbox {
    /// Days for which an outcome waits until a tool with the identity collects it.
    public static let outcomeDays: Int64 = 30

    /// Returns whether `directory` has an outbox.
    public static func exists(in directory: StateDirectory) -> Bool {
        access(directory.file("outbox.db"), F_OK) == 0
    }

    /// Returns the outcomes of envelopes that were not collected yet: the envelope's id, and the text that ``settle(_:)``
    /// was given.
    public func outcomes() throws(StateError) -> [(id: String, outcome: String)] {
        try read("SELECT id, outcome FROM outcome") { ($0.text(0), $0.text(1)) }
    }

    /// Deletes outcomes that were collected.
    public func forgetOutcomes(of ids: [String]) throws(StateError) {
        try write { connection throws(StateError) in
            for id in ids { try connection.run("DELETE FROM outcome WHERE id = ?", id) }
        }
    }
}
