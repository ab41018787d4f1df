public import Sotto
import SottoDatabase

/// A text to search for. Upper and lower case are the same, character by character.
struct SearchPattern: Sendable {
    /// The UTF-8 forms of each character: as given, in lower case, in upper case and in title case.
    private let characters: [[[UInt8]]]
    /// The bytes that can be the first and the second one of a match, each from 0 to 255. A second byte is any one if a match can
    /// have a single byte.
    private let first: [Bool], second: [Bool]

    /// Creates a pattern. With `inJSON`, it matches the characters as ``JSON/serialized()`` escapes them.
    init(_ text: String, inJSON: Bool) {
        characters = text.unicodeScalars.map { scalar in
            let properties = scalar.properties
            let forms = [
                String(scalar), properties.lowercaseMapping, properties.uppercaseMapping,
                properties.titlecaseMapping,
            ]
            let bytes = forms.map { form in
                inJSON
                    ? Array(JSON.string(form).serialized().dropFirst().dropLast())
                    : Array(form.utf8)
            }
            return Array(Set(bytes))
        }
        var first = [Bool](repeating: false, count: 256)
        var second = first
        let next = characters.count > 1 ? characters[1] : []
        for form in characters.first ?? [] where !form.isEmpty {
            first[Int(form[0])] = true
            let bytes = form.count > 1 ? [form[1]] : next.compactMap(\.first)
            if bytes.isEmpty { second = [Bool](repeating: true, count: 256) }
            for byte in bytes { second[Int(byte)] = true }
        }
        (self.first, self.second) = (first, second)
    }

    /// Returns whether the pattern occurs in UTF-8 text. An empty pattern occurs in every text.
    func occurs(in text: UnsafeRawBufferPointer) -> Bool {
        guard !characters.isEmpty, let last = text.last else { return characters.isEmpty }
        return first.withUnsafeBufferPointer { first in
            second.withUnsafeBufferPointer { second in
                for start in 0..<(text.count - 1) where first[Int(text[start])] {
                    if second[Int(text[start + 1])], matches(text, from: start) { return true }
                }
                return first[Int(last)] && matches(text, from: text.count - 1)
            }
        }
    }

    func occurs(in text: String) -> Bool {
        Array(text.utf8).withUnsafeBytes { occurs(in: $0) }
    }

    private func matches(_ text: UnsafeRawBufferPointer, from start: Int) -> Bool {
        var position = start
        for forms in characters {
            guard
                let form = forms.first(where: { form in
                    form.count <= text.count - position
                        && form.indices.allSatisfy { text[position + $0] == form[$0] }
                })
            else { return false }
            position += form.count
        }
        return true
    }
}

/// Search in the history: all rows are decrypted, on all processors.
extension IdentityStore {
    /// Finds messages whose text or file name contains `text`, the latest first, before a place, in one conversation
    /// or in all. Upper and lower case are the same.
    ///
    /// `found` is called for each message while the search continues, and returns whether it is to continue. An edit
    /// with the text is reported as an entry of the kind `event`.
    public func search(
        _ text: String, in conversation: Conversation?, before place: HistoryPlace = .end,
        found: (HistoryEntry) throws -> Bool
    ) throws {
        var conversations: [Int64: Conversation] = [:]
        var only: Int64 = 0
        try use { (connection: StateConnection) throws(StateError) in
            for row in try conversationRows(connection) {
                conversations[row.number] = row.conversation
                if row.conversation == conversation { only = row.number }
            }
        }
        guard conversation == nil || only != 0 else { return }
        defer { damage.flush() }
        let wanted = SearchText(text)
        let now = Timestamp.now().seconds
        let scan = try TextScan(self, SearchPattern(text, inJSON: true), conversation: only)
        var end = place
        while let (rows, next) = try scan.rows(before: end) {
            for row in rows {
                guard let conversation = conversations[row.conversation] else { continue }
                let entry = try entry(row, conversation, now: now)
                guard entry.isMatch(wanted) else { continue }
                guard try found(entry) else { return }
            }
            end = next
        }
    }
}

extension HistoryEntry {
    /// Returns whether a text that the user sees contains the pattern.
    fileprivate func isMatch(_ text: SearchText) -> Bool {
        if case .edit(_, let content) = body?.kind { return text.occurs(in: content.record) }
        return record["body"]?.object.map { text.occurs(in: $0) } ?? false
    }
}

/// Finds the rows that may contain a text, on several threads.
private final class TextScan {
    private let store: IdentityStore
    private let pattern: SearchPattern
    private let conversation: Int64
    private let blocks: HistoryBlocks

    init(
        _ store: IdentityStore, _ pattern: SearchPattern, conversation: Int64
    ) throws(StateError) {
        self.store = store
        self.pattern = pattern
        self.conversation = conversation
        blocks = try HistoryBlocks(store)
    }

    /// Returns the rows of the last blocks before a place that may contain the pattern, the latest first, and the place
    /// before which the search continues; `nil` at the start of the history.
    func rows(
        before end: HistoryPlace
    ) throws(StateError) -> (rows: [StoredMessage], next: HistoryPlace)? {
        let ranges = try blocks.ranges(before: end)
        guard let next = ranges.last?.start else { return nil }
        nonisolated(unsafe) let scan = self
        let found = try blocks.forEach(ranges) { connection, range throws(StateError) in
            try scan.rows(of: range, connection)
        }
        return (found.flatMap(\.self), next)
    }

    private func rows(
        of range: HistoryRange, _ connection: StateConnection
    ) throws(StateError) -> [StoredMessage] {
        let select = try connection.statement(
            """
            SELECT \(StoredMessage.columns) FROM message
            WHERE \(blocks.condition) AND (?5 = 0 OR conversation = ?5)
            AND kind < 2 AND sealed IS NOT NULL ORDER BY \(blocks.descending)
            """, range.start.rank, range.start.number, range.end.rank, range.end.number,
            conversation)
        defer { select.reset() }
        var found: [StoredMessage] = []
        while try select.step() {
            let context = IdentityStore.Context.message(
                mark: select.integer(1), conversation: select.integer(2))
            var isCandidate = false
            let isAuthentic = select.withBytes(7) { sealed in
                store.withOpened(sealed, context) { bytes in
                    // The digest and the head of a packed record match at most by chance.
                    isCandidate = pattern.occurs(in: bytes)
                }
            }
            if !isAuthentic { store.damage.add(.message, select.integer(0)) }
            if isCandidate { found.append(StoredMessage(select)) }
        }
        return found
    }
}

/// A text that a search looks for.
public struct SearchText: Sendable {
    private let pattern: SearchPattern

    /// Creates the text. Upper and lower case are the same.
    public init(_ text: String) { pattern = SearchPattern(text, inJSON: false) }

    /// Returns whether the text, or the name of the file, of a body contains it.
    public func occurs(in body: JSONObject) -> Bool {
        ["text", "name"].contains { name in
            body[name]?.string.map { pattern.occurs(in: $0) } ?? false
        }
    }
}
