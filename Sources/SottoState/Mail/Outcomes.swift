import Glibc
import Sotto
import SottoDatabase

/// The outcomes of sent envelopes. `send` has no identity and cannot write into the history, so it leaves them in the
/// outbox, and a tool with the identity collects them.
extension IdentityStore {
    /// Takes the outcomes of this identity's messages from the outbox into the history. Outcomes of other identities
    /// stay there, at most ``Outbox/outcomeDays``.
    public func collectOutcomes(from outbox: Outbox) throws {
        // An outcome of a later version stays for that version.
        let outcomes = try outbox.outcomes().filter { Self.state(of: $0.outcome) != nil }
        guard !outcomes.isEmpty else { return }
        let found = try preview { transaction -> (own: [SentOutcome], copies: FoundCopies) in
            let own = try outcomes.filter {
                if try transaction.hasSent($0.id) { return true }
                return try transaction.isForDevice($0.id)
            }
            guard own.count < outcomes.count, try transaction.hasGroups else {
                return (own, FoundCopies())
            }
            let known = Set(own.map(\.id))
            let others = outcomes.filter { !known.contains($0.id) }
            return (own, try transaction.copies(with: others))
        }
        guard !found.own.isEmpty || found.copies.isNews else { return }
        try transaction { transaction in
            for (id, outcome) in found.own { try transaction.record(outcome, of: id) }
            try transaction.forgetOldCopies()
            try transaction.record(found.copies)
        }
        // If the program ends before this, the next one collects the same outcomes again.
        let ids = found.own.map(\.id) + found.copies.ids
        if !ids.isEmpty { try outbox.forgetOutcomes(of: ids) }
    }

    /// Returns the state of a sent envelope with an outcome, or `nil` for an unknown outcome.
    static func state(of outcome: String) -> HistoryEntry.State? {
        switch OutcomeStatus(outcome: outcome) {
        case .stored, .duplicate: .stored
        case .rejected: .failed
        case .dropped: .dropped
        case .expired: .lapsed
        case nil: nil
        }
    }
}

/// The first word of an outcome in the outbox: the status of the result that `send` prints.
public enum OutcomeStatus: String, Sendable {
    /// A relay has the envelope.
    case stored, duplicate
    /// No relay gets it.
    case rejected, dropped, expired

    /// Reads the status of an outcome; `nil` for another text, such as one of a later version.
    public init?(outcome: String) {
        self.init(rawValue: String(outcome.prefix { $0 != " " }))
    }
}

/// The outcome of an envelope, and its id.
typealias SentOutcome = (id: String, outcome: String)

extension StateTransaction {
    fileprivate func record(_ outcome: String, of id: String) throws(StateError) {
        guard let outcome = IdentityStore.state(of: outcome),
            let (state, mark) = try settled(store.mark(sent: id), outcome)
        else { return }
        // A receipt may be here already.
        try connection.run(
            """
            UPDATE message SET state = ? WHERE mark = ?
                AND state IN (?, ?, \(HistoryEntry.State.failedValues))
            """, state.rawValue, mark, HistoryEntry.State.new.rawValue,
            HistoryEntry.State.handedOn.rawValue)
        if state == .stored { try storeRepeated(by: mark) }
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
