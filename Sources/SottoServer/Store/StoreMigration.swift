import Sotto
import SottoDatabase

/// Copies a whole store into another one.
public enum StoreMigration {
    /// The numbers of rows that were copied.
    public struct Summary: Sendable, Equatable {
        /// Mailboxes, including empty ones.
        public var mailboxes = 0
        /// Envelopes, including dead letters.
        public var envelopes = 0
        /// Owners of prekeys.
        public var owners = 0
        /// Ids that are members, or have a card or a login key.
        public var accounts = 0
        /// Complete blobs.
        public var blobs = 0
    }

    /// Copies a store into a new one: the complete blobs, then envelopes in their order with failures and minutes, known
    /// envelope ids, prekeys, and the results of claims.
    ///
    /// All but the blobs is one transaction of the target, so either everything is copied or nothing. No relay may use either store.
    /// Throws ``StoreError/notEmpty(path:)`` if the target has any row.
    public static func run(from source: StoreLocation, to target: StoreLocation)
        throws(StoreError) -> Summary
    {
        let source = try source.open(Retention())
        let summary: Summary
        do throws(StoreError) {
            let target = try target.open(Retention())
            summary = try run(from: source, to: target)
            try target.close()
        } catch {
            try? source.close()
            throw error
        }
        try source.close()
        return summary
    }

    static func run(from source: any CopyableStore, to target: any CopyableStore) throws(StoreError)
        -> Summary
    {
        var summary = Summary()
        // Before the rows: an interrupted copy of blobs can be repeated.
        var blobs = 0
        if let from = try source.openBlobs(.none), let to = try target.openBlobs(.none) {
            do throws(BlobStoreError) {
                blobs = try from.copy(to: to)
            } catch {
                throw error.cause
            }
        }
        try target.load { add throws(StoreError) in
            summary = Summary()
            try source.export { table, rows throws(StoreError) in
                switch table {
                case .mailbox: summary.mailboxes += rows.count
                case .envelope: summary.envelopes += rows.count
                case .preKeyOwner: summary.owners += rows.count
                case .account: summary.accounts += rows.count
                default: break
                }
                try add(table, rows)
            }
        }
        summary.blobs = blobs
        if let clock = try source.clock() { try target.remember(clock) }
        return summary
    }
}

/// A store that can be copied into another one.
protocol CopyableStore: Store {
    /// Passes every row of every table to `sink`, as of one moment.
    func export(_ sink: StoreTable.Sink) throws(StoreError)

    /// Inserts all rows that `copy` passes to its sink into an empty store, in one transaction.
    func load(_ copy: (StoreTable.Sink) throws(StoreError) -> Void) throws(StoreError)
}

/// A value of a store's table.
enum StoreValue: Sendable, DatabaseValue {
    case null
    case integer(Int64)
    case bytes([UInt8])

    func bind(to statement: OpaquePointer, _ index: Int32) {
        switch self {
        case .null: Int64?.none.bind(to: statement, index)
        case .integer(let value): value.bind(to: statement, index)
        case .bytes(let value): value.bind(to: statement, index)
        }
    }
}

/// The tables of every store. In an export `seq` is one sequence of all envelopes; it is 0 in `seen` if the envelope
/// is gone.
enum StoreTable: String, CaseIterable {
    case mailbox
    case envelope
    case seen
    case preKeyOwner = "prekey_owner"
    case preKeySigned = "prekey_signed"
    case preKeyOneTime = "prekey_one_time"
    case preKeyClaim = "prekey_claim"
    case account
    case cardName = "card_name"
    case invitation
    case room
    case wake
    case instance

    /// The columns; `isBytes` is false for integers.
    var columns: [(name: String, isBytes: Bool)] {
        switch self {
        case .mailbox:
            [
                ("number", false), ("key", true), ("messages", false), ("bytes", false),
                ("dead", false), ("dead_bytes", false), ("stranger", false),
            ]
        case .envelope:
            [
                ("seq", false), ("mailbox", false), ("minute", false), ("failures", false),
                ("id", true), ("body", true), ("until", false),
            ]
        case .seen:
            [
                ("mailbox", false), ("id", true), ("digest", true), ("seq", false),
                ("minute", false),
            ]
        case .preKeyOwner:
            [
                ("number", false), ("key", true), ("signed", false), ("signed_id", false),
                ("one_time_mark", false), ("minute", false),
            ]
        case .preKeySigned: [("number", false), ("head", true), ("superseded", false)]
        case .preKeyOneTime: [("owner", false), ("id", false), ("key", true)]
        case .preKeyClaim:
            [
                ("id", true), ("owner", false), ("signed", false), ("one_time", false),
                ("key", true), ("minute", false),
            ]
        case .account:
            [
                ("key", true), ("member", false), ("minute", false), ("card", true),
                ("card_issued", false), ("login_key", true), ("login_key_issued", false),
            ]
        case .cardName: [("name", true), ("key", true), ("minute", false)]
        case .invitation:
            [
                ("tag", true), ("key", true), ("until", false), ("owner", true), ("label", true),
                ("inviter", true),
            ]
        case .room:
            [
                ("key", true), ("publisher", true), ("seq", false), ("minute", false),
                ("body", true),
            ]
        case .wake:
            [
                ("key", true), ("kind", false), ("url", true), ("token", true), ("until", false),
            ]
        case .instance: [("key", true), ("mark", true), ("day", false)]
        }
    }

    /// The names of the columns, separated by commas.
    var list: String { columns.map(\.name).joined(separator: ", ") }

    /// The most rows that are passed to a sink at once.
    static let rows = 256

    /// Receives rows of a table.
    typealias Sink = (StoreTable, [[StoreValue]]) throws(StoreError) -> Void
}
