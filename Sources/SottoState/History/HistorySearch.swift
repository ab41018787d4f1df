public import Sotto
import SottoDatabase

/// Finds texts that may contain another one after case folding. It compares the bases of the characters and no combining marks,
/// so it finds more than ``SearchText``, but misses nothing.
struct SearchFilter: Sendable {
    /// ``foldedBases(_:)`` of the wanted text.
    private let wanted: [UInt32]
    /// The bytes that can be the first and the second one of a match, each from 0 to 255.
    private let first: [Bool], second: [Bool]
    private let bases = Self.bases

    /// The only base of each character below U+3100; 0 for a combining mark, and ``several`` for more than one base.
    private static let bases = (0..<UInt32(0x3100)).map { value in
        let all = Unicode.Scalar(value).map { foldedBases($0) } ?? []
        return all.count > 1 ? several : all.first ?? 0
    }
    private static let several = UInt32.max

    /// Creates a filter. With `inJSON`, it finds the text as ``JSON/serialized()`` escapes it.
    init(_ text: String, inJSON: Bool) {
        let text =
            inJSON
            ? String(
                decoding: JSON.string(text).serialized().dropFirst().dropLast(), as: UTF8.self)
            : text
        wanted = text.unicodeScalars.flatMap { foldedBases($0) }
        first = Self.beginnings(wanted.first)
        // A match can have a single byte.
        second =
            wanted.count < 2
            ? [Bool](repeating: true, count: 256) : Self.beginnings(wanted[1], orInside: true)
    }

    /// Returns the bytes that can begin a character with a base. Other characters than ASCII are compared in full.
    private static func beginnings(_ base: UInt32?, orInside: Bool = false) -> [Bool] {
        var bytes = (0..<256).map { $0 >= (orInside ? 0x80 : 0xC2) }
        if let base, base < 0x80 {
            bytes[Int(base)] = true
            let letter = Character(Unicode.Scalar(UInt8(base))).uppercased().utf8.first!
            bytes[Int(letter)] = true
        }
        return bytes
    }

    /// Returns whether UTF-8 text may contain the wanted one.
    func mayOccur(in text: UnsafeRawBufferPointer) -> Bool {
        guard !wanted.isEmpty, let last = text.last else { return wanted.isEmpty }
        return first.withUnsafeBufferPointer { first in
            second.withUnsafeBufferPointer { second in
                for start in 0..<(text.count - 1) where first[Int(text[start])] {
                    if second[Int(text[start + 1])], begins(text, at: start) { return true }
                }
                return first[Int(last)] && begins(text, at: text.count - 1)
            }
        }
    }

    func mayOccur(in text: String) -> Bool {
        Array(text.utf8).withUnsafeBytes { mayOccur(in: $0) }
    }

    /// Returns whether a match begins in the character at a place.
    private func begins(_ text: UnsafeRawBufferPointer, at place: Int) -> Bool {
        guard text[place] >= 0x80, let (value, end) = Self.character(text, at: place) else {
            return matches(text, from: place, after: 0)
        }
        let base = base(of: value)
        // No match begins with a combining mark; a text of many would be compared from each of them.
        guard base != 0 else { return false }
        guard base == Self.several, let scalar = Unicode.Scalar(value) else {
            return matches(text, from: place, after: 0)
        }
        // A match can begin with each base of the character.
        let all = foldedBases(scalar)
        return all.indices.contains { start in
            let some = all[start...].prefix(wanted.count)
            return wanted.starts(with: some) && matches(text, from: end, after: some.count)
        }
    }

    /// Returns whether the rest of the wanted bases, after the first `count`, is at a place.
    private func matches(
        _ text: UnsafeRawBufferPointer, from place: Int, after count: Int
    ) -> Bool {
        var (place, count) = (place, count)
        while count < wanted.count {
            guard place < text.count else { return false }
            let byte = text[place]
            if byte < 0x80 {
                let isUpper = byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z")
                guard UInt32(isUpper ? byte | 0x20 : byte) == wanted[count] else { return false }
                (place, count) = (place + 1, count + 1)
                continue
            }
            guard let (value, end) = Self.character(text, at: place) else { return false }
            place = end
            let base = base(of: value)
            if base == Self.several {
                guard let scalar = Unicode.Scalar(value) else { return false }
                let some = foldedBases(scalar).prefix(wanted.count - count)
                guard wanted[count...].starts(with: some) else { return false }
                count += some.count
            } else if base != 0 {
                guard base == wanted[count] else { return false }
                count += 1
            }
        }
        return true
    }

    /// Returns the only base of a character, 0 for a combining mark, or ``several`` if ``foldedBases(_:)`` has the answer.
    func base(of value: UInt32) -> UInt32 {
        switch value {
        case ..<0x3100: bases[Int(value)]
        // Han characters and emoji, which have neither a case nor a decomposition.
        case 0x3400..<0xA000, 0x1F000..<0x20000: value
        default: Self.several
        }
    }

    /// Returns the character of several bytes at a place, and the place after it, or `nil` for other bytes.
    private static func character(
        _ text: UnsafeRawBufferPointer, at place: Int
    ) -> (value: UInt32, end: Int)? {
        let lead = text[place]
        let length = lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0
        guard length > 0, place + length <= text.count else { return nil }
        var value = UInt32(lead) & (0x7F >> UInt32(length))
        for byte in text[(place + 1)..<(place + length)] {
            guard byte & 0xC0 == 0x80 else { return nil }
            value = value << 6 | UInt32(byte & 0x3F)
        }
        return (value, place + length)
    }
}

/// The place where a search begins, and its direction.
public enum SearchStart: Sendable, Equatable {
    /// The messages before a place, the latest first.
    case before(HistoryPlace)
    /// The message at a place and those after it, the earliest first.
    case from(HistoryPlace)
}

/// The rows that a search reads.
public enum SearchedRows: Sendable {
    case all
    /// Messages that are shown at their place.
    case contents
    /// Changes of other messages, such as edits.
    case events

    /// The first and the last one of the kinds.
    fileprivate var kinds: (Int64, Int64) {
        switch self {
        case .all: (HistoryEntry.Kind.content.rawValue, HistoryEntry.Kind.event.rawValue)
        case .contents: (HistoryEntry.Kind.content.rawValue, HistoryEntry.Kind.content.rawValue)
        case .events: (HistoryEntry.Kind.event.rawValue, HistoryEntry.Kind.event.rawValue)
        }
    }
}

/// Search in the history: all rows are decrypted, on all processors.
extension IdentityStore {
    /// Finds messages whose text or file name contains `text`, from `start` on, in one conversation or in all. Upper and
    /// lower case are the same, and so are composed and decomposed characters.
    ///
    /// `found` is called for each message while the search continues, and returns whether it is to continue. An edit
    /// with the text is reported as an entry of the kind `event`.
    public func search(
        _ text: String, in conversation: Conversation?, _ start: SearchStart = .before(.end),
        of kind: SearchedRows = .all, found: (HistoryEntry) throws -> Bool
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
        let scan = try TextScan(
            self, SearchFilter(text, inJSON: true), conversation: only, kind)
        var start = start
        while let (rows, next) = try scan.rows(start) {
            for row in rows {
                guard let conversation = conversations[row.conversation] else { continue }
                let entry = try entry(row, conversation, now: now)
                guard entry.isMatch(wanted) else { continue }
                guard try found(entry) else { return }
            }
            start = next
        }
    }
}

extension HistoryEntry {
    /// Returns whether a text that the user sees contains the wanted one.
    fileprivate func isMatch(_ text: SearchText) -> Bool {
        if case .edit(_, let content) = body?.kind { return text.occurs(in: content.record) }
        return record["body"]?.object.map { text.occurs(in: $0) } ?? false
    }
}

/// Finds the rows that may contain a text, on several threads.
private final class TextScan {
    private let store: IdentityStore
    private let filter: SearchFilter
    private let conversation: Int64
    private let kind: SearchedRows
    private let blocks: HistoryBlocks

    init(
        _ store: IdentityStore, _ filter: SearchFilter, conversation: Int64, _ kind: SearchedRows
    ) throws(StateError) {
        self.store = store
        self.filter = filter
        self.conversation = conversation
        self.kind = kind
        blocks = try HistoryBlocks(store)
    }

    /// Returns the rows of the next blocks that may contain the text, in the order of the search, and the start of its
    /// rest; `nil` at the end of the history in this direction.
    func rows(
        _ start: SearchStart
    ) throws(StateError) -> (rows: [StoredMessage], next: SearchStart)? {
        let ranges: [HistoryRange]
        let order: String
        let next: SearchStart
        switch start {
        case .before(let place):
            ranges = try blocks.ranges(before: place)
            guard let last = ranges.last else { return nil }
            order = blocks.descending
            next = .before(last.start)
        case .from(let place):
            ranges = try blocks.ranges(from: place)
            guard let last = ranges.last else { return nil }
            order = blocks.ascending
            next = .from(last.end)
        }
        nonisolated(unsafe) let scan = self
        let found = try blocks.forEach(ranges) { connection, range throws(StateError) in
            try scan.rows(of: range, order, connection)
        }
        return (found.flatMap(\.self), next)
    }

    private func rows(
        of range: HistoryRange, _ order: String, _ connection: StateConnection
    ) throws(StateError) -> [StoredMessage] {
        let select = try connection.statement(
            """
            SELECT \(StoredMessage.columns) FROM message
            WHERE \(blocks.condition) AND (?5 = 0 OR conversation = ?5)
            AND kind BETWEEN ?6 AND ?7 AND sealed IS NOT NULL ORDER BY \(order)
            """, range.start.rank, range.start.number, range.end.rank, range.end.number,
            conversation, kind.kinds.0, kind.kinds.1)
        defer { select.reset() }
        var found: [StoredMessage] = []
        while try select.step() {
            let context = IdentityStore.Context.message(
                mark: select.integer(1), conversation: select.integer(2))
            var isCandidate = false
            let isAuthentic = select.withBytes(7) { sealed in
                store.withOpened(sealed, context) { bytes in
                    // The digest and the head of a packed record match at most by chance.
                    isCandidate = filter.mayOccur(in: bytes)
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
    private let wanted: [UInt8]

    /// Creates the text. Upper and lower case are the same, as ``caseFolded(_:)`` defines it.
    public init(_ text: String) { wanted = Array(caseFolded(text).utf8) }

    /// Returns whether the text, or the name of the file, of a body contains it.
    public func occurs(in body: JSONObject) -> Bool {
        ["text", "name"].contains { name in body[name]?.string.map(occurs) ?? false }
    }

    func occurs(in text: String) -> Bool {
        var folded = caseFolded(text)
        return folded.withUTF8 { text in
            guard let first = wanted.first else { return true }
            guard text.count >= wanted.count else { return false }
            return (0...(text.count - wanted.count)).contains { start in
                text[start] == first
                    && wanted.indices.allSatisfy { text[start + $0] == wanted[$0] }
            }
        }
    }
}
