public import Sotto
import SottoDatabase

/// The stored records of a history as lines of JSON, with what the state knows of each message.
///
/// The lines are made from the stored form without parsing it, on all processors.
public final class HistoryLines {
    /// The present name and trust of a person.
    public struct Person: Sendable {
        /// The name, or `nil` without a name.
        public let name: String?
        /// The trust in its key.
        public let trust: Message.Trust

        /// Creates a person.
        public init(name: String?, trust: Message.Trust) {
            self.name = name
            self.trust = trust
        }
    }

    /// A part of the output, in the order of the places.
    public enum Part: Sendable {
        /// Whole lines, and how many.
        case lines([UInt8], count: Int)
        /// A message that has another stored form.
        case entry(HistoryEntry)
    }

    private let store: IdentityStore
    private let only: Int64
    private let forms: [Int64: PackedLine]
    private let conversations: [Int64: Conversation]
    private let blocks: HistoryBlocks
    private var next = HistoryPlace.start

    /// Prepares the lines of a conversation, or of all. `person` returns what is known of a peer, and of the owner.
    public init(
        _ store: IdentityStore, _ conversation: Conversation?,
        person: (KeyID) throws -> Person
    ) throws {
        self.store = store
        let rows = try store.use { (connection: StateConnection) throws(StateError) in
            try store.conversationRows(connection)
        }
        only =
            conversation.map { wanted in
                rows.first { $0.conversation == wanted }?.number ?? -1
            } ?? 0
        let owner = try person(store.owner.id)
        var forms: [Int64: PackedLine] = [:]
        for row in rows {
            guard only == 0 || row.number == only, let peer = row.conversation.peer else {
                continue
            }
            forms[row.number] = PackedLine(
                store.owner.id, owner, peer, peer == store.owner.id ? owner : try person(peer))
        }
        self.forms = forms
        conversations = Dictionary(uniqueKeysWithValues: rows.map { ($0.number, $0.conversation) })
        blocks = try HistoryBlocks(store)
    }

    /// Returns the next parts, or `nil` after the last one. Messages without content, and those that cannot be read, are left
    /// out.
    public func read() throws(StateError) -> [Part]? {
        let ranges = try blocks.ranges(from: next)
        guard let end = ranges.last?.end else { return nil }
        next = end
        nonisolated(unsafe) let lines = self
        defer { store.damage.flush() }
        return try blocks.forEach(ranges) { connection, range throws(StateError) in
            try lines.parts(of: range, connection)
        }.flatMap(\.self)
    }

    private func parts(
        of range: HistoryRange, _ connection: StateConnection
    ) throws(StateError) -> [Part] {
        let select = try connection.statement(
            """
            SELECT \(StoredMessage.columns) FROM message
            WHERE \(blocks.condition) AND number <= ?5 AND (?6 = 0 OR conversation = ?6)
            AND kind < 3 AND sealed IS NOT NULL ORDER BY \(blocks.ascending)
            """, range.start.rank, range.start.number, range.end.rank, range.end.number,
            blocks.last, only)
        defer { select.reset() }
        let now = Timestamp.now().seconds
        var parts: [Part] = []
        var (lines, count): ([UInt8], Int) = ([], 0)
        var clock = TimeText()
        while try select.step() {
            if !select.isNull(8), select.integer(8) <= now { continue }
            let conversation = select.integer(2)
            let context = IdentityStore.Context.message(
                mark: select.integer(1), conversation: conversation)
            var isWritten = false
            if let form = forms[conversation] {
                let known = PackedLine.Known(select)
                let isAuthentic = select.withBytes(7) { sealed in
                    store.withOpened(sealed, context) { bytes in
                        guard bytes.count > StoredMessage.digestLength else { return }
                        isWritten = form.append(
                            UnsafeRawBufferPointer(rebasing: bytes[StoredMessage.digestLength...]),
                            known, to: &lines, &clock)
                    }
                }
                guard isAuthentic else {
                    store.damage.add(.message, select.integer(0))
                    continue
                }
            }
            if isWritten {
                count += 1
                continue
            }
            if count > 0 { parts.append(.lines(lines, count: count)) }
            (lines, count) = ([], 0)
            let entry = try store.entry(
                StoredMessage(select), conversations[conversation], now: now)
            if !entry.isGone { parts.append(.entry(entry)) }
        }
        if count > 0 { parts.append(.lines(lines, count: count)) }
        return parts
    }
}

/// Times as RFC 3339 texts. The date is formatted once for each day.
struct TimeText {
    private var day: Int64 = .min
    private var date: [UInt8] = []

    /// Appends the text of a time.
    mutating func append(_ seconds: Int64, to out: inout [UInt8]) {
        let (quotient, rest) = seconds.quotientAndRemainder(dividingBy: 86_400)
        guard rest >= 0 else {
            out += Timestamp(seconds: seconds).description.utf8
            return
        }
        if quotient != day {
            day = quotient
            date = Array(Timestamp(seconds: seconds).description.utf8.dropLast(9))
        }
        out += date
        func two(_ value: Int64, _ end: UInt8) {
            out.append(0x30 + UInt8(truncatingIfNeeded: value / 10))
            out.append(0x30 + UInt8(truncatingIfNeeded: value % 10))
            out.append(end)
        }
        two(rest / 3_600, UInt8(ascii: ":"))
        two(rest / 60 % 60, UInt8(ascii: ":"))
        two(rest % 60, UInt8(ascii: "Z"))
    }
}
