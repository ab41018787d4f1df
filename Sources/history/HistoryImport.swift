import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool

/// Imports lines of records into the history. Lines that are available at once share a transaction.
struct HistoryImport {
    private let store: IdentityStore
    /// Whether the records are this identity's own signed backup.
    private let isOwn: Bool
    private let contacts: ContactImport
    private let output: Output
    private var batch: [(number: Int, id: String?, item: Result<Item, Failure>)] = []
    private var readers = ImportedReaders()
    private(set) var outcome = LineOutcome()
    private var added = 0
    private var addedContacts = 0
    private var addedChats = 0
    private var known = 0
    private var addedGroups = 0
    private var doubtfulGroups = 0
    /// The group whose records are being read, and the number of the first of them. It is restored in one transaction.
    private var group: (backup: GroupBackup, line: Int)?
    private var gone = 0
    private var hasHeader = false
    /// Whether a message proved that another copy of the state is used.
    private var isBehind = false

    /// The lines that are not parsed yet, and the number of their bytes.
    private var lines: [SourceLine] = []
    private var length = 0
    /// The lines before them, which are parsed on threads while the ones before these are stored.
    private var started: ThreadPool.StartedMap<SourceLine, ParsedLine>?
    private let pool = ThreadPool()

    /// The maximum number of lines, and of their bytes, in a transaction. Parsed lines take many times their length in memory.
    private static let batchSize = 10_000
    private static let batchBytes = 4 << 20
    /// The number of lines that a thread parses at a time.
    private static let sliceSize = 250

    init(_ store: IdentityStore, isOwn: Bool) throws {
        self.store = store
        self.isOwn = isOwn
        contacts = ContactImport(isOurs: isOwn, accounts: OpaqueAccounts())
        output = try Output(path: "-", content: .text)
    }

    /// Whether nothing was read.
    var isEmpty: Bool { outcome.isEmpty && !hasHeader }

    private struct SourceLine: Sendable {
        let number: Int
        /// The line, or `nil` if it was too long.
        let bytes: [UInt8]?
    }

    private struct ParsedLine: Sendable {
        let number: Int
        var id: String?
        var record: Result<ParsedRecord, any Error>
    }

    /// A record. Those of which a history has many are read on the threads.
    private enum ParsedRecord: Sendable {
        case message(PreparedImport)
        case tombstone(Tombstone)
        /// A message without content in an export.
        case gone
        case other(JSONObject)
    }

    /// A line that was read.
    private enum Item {
        case message(PreparedImport)
        case tombstone(Tombstone)
        case contact(Contact)
        case profile(ProfileRecord)
        case chat(JSONObject)
        case conversation(Conversation, ConversationSettings)
        case retention(IdentityStore.Retention)
        case reader(IdentityStore.Reader)
        case group(GroupBackup)
        case devices(DeviceList)
        case header
    }

    /// Takes a line. It may be stored later, at the latest by ``finish()``.
    mutating func collect(_ line: LineReader.Line, number: Int) throws {
        guard case .line(let bytes) = line else {
            return lines.append(SourceLine(number: number, bytes: nil))
        }
        if bytes.allSatisfy({ $0 <= 0x20 }) { return }
        length += bytes.count
        lines.append(SourceLine(number: number, bytes: Array(bytes)))
        if lines.count == Self.batchSize || length >= Self.batchBytes { try advance() }
    }

    /// Begins to parse the collected lines, and stores those before them.
    private mutating func advance() throws {
        let (isOwn, store) = (isOwn, store)
        let before = started
        started = pool.started(lines, slice: Self.sliceSize) { lines in
            lines.map { Self.parse($0, isOwn: isOwn, store) }
        }
        lines.removeAll()
        length = 0
        if let before { try take(before.results()) }
    }

    private static func parse(
        _ line: SourceLine, isOwn: Bool, _ store: IdentityStore
    ) -> ParsedLine {
        guard let bytes = line.bytes else {
            let failure = Failure(.malformed, "the line is too long")
            return ParsedLine(number: line.number, record: .failure(failure))
        }
        var parsed = ParsedLine(number: line.number, record: .success(.gone))
        parsed.record = Result {
            let record = try JSON.object(parsing: bytes)
            parsed.id = record["id"]?.string
            switch record["type"]?.string {
            case "message":
                if !isOwn, record["deleted"] == .bool(true) || record["damaged"] == .bool(true) {
                    return .gone
                }
                let reading = ImportedRecord(record, owner: store.owner.id)
                let message = try isOwn ? reading.own() : reading.claimed()
                return .message(store.prepared(message, isOwn: isOwn))
            case "tombstone" where isOwn: return .tombstone(try Tombstone(record))
            default: return .other(record)
            }
        }
        return parsed
    }

    /// Stores parsed lines.
    private mutating func take(_ lines: [ParsedLine]) throws {
        for line in lines {
            let item: Result<Item, Failure>
            do {
                let record = try line.record.get()
                guard let read = try self.item(record, number: line.number) else { continue }
                item = .success(read)
            } catch FieldError.member(let name) {
                item = .failure(
                    Failure(
                        .malformed, "the record's member \"\(name)\" is missing or malformed"))
            } catch {
                guard let failure = (error as? Failure) ?? Failure(core: error) else { throw error }
                item = .failure(failure)
            }
            batch.append((line.number, line.id, item))
        }
        try storeBatch()
    }

    /// Takes a record of a group. Returns whether it is one. Another record ends the group before it.
    private mutating func collectGroup(_ record: JSONObject, number: Int) throws -> Bool {
        let isOfGroup = ["group-log", "group-settings", "group-member"].contains(
            record["type"]?.string)
        let id = isOfGroup ? record["group"]?.string.flatMap { GroupID($0) } : nil
        if group?.backup.id != id { endGroup() }
        guard isOfGroup else { return false }
        guard let id else { throw FieldError.member("group") }
        if group == nil { group = (GroupBackup(id: id), number) }
        if let failure = try group?.backup.add(record) { throw failure }
        return true
    }

    /// Adds the group whose records were read to the batch.
    private mutating func endGroup() {
        guard let (backup, line) = group else { return }
        group = nil
        batch.append((line, nil, .success(.group(backup))))
    }

    /// Returns what a record imports, or `nil`.
    private mutating func item(_ read: ParsedRecord, number: Int) throws -> Item? {
        switch read {
        case .message(let message):
            endGroup()
            return .message(message)
        case .tombstone(let tombstone):
            endGroup()
            return .tombstone(tombstone)
        case .gone:
            gone += 1
            return nil
        case .other(let record):
            if isOwn, try collectGroup(record, number: number) { return nil }
            return try item(record)
        }
    }

    /// Reads a record that is no message and no tombstone.
    private mutating func item(_ record: JSONObject) throws -> Item? {
        if let failure = Failure(errorRecord: record) { throw failure }
        guard isOwn else {
            throw Failure(
                .malformed, "not a message record",
                hint: "import contacts with sotto contact import")
        }
        switch record["type"]?.string {
        case "history-backup":
            hasHeader = true
            return .header
        case "chat":
            _ = try Chat(record: record)
            return .chat(record)
        case DeviceList.type: return .devices(try DeviceList(record: record))
        case "contact-entry": return .contact(try contacts.read(record))
        case "contact-profile": return .profile(try ProfileRecord(record))
        case "conversation-settings":
            return .conversation(try record.conversation(), ConversationSettings(record))
        case "retention":
            let conversation = try record.conversation()
            return .retention(
                IdentityStore.Retention(
                    conversation: conversation == .unknown ? nil : conversation,
                    seconds: record["seconds"]?.integer))
        case "reader":
            let fields = Fields<FieldError>(record)
            return .reader(
                IdentityStore.Reader(
                    name: try fields["name"].text(),
                    acknowledged: try fields["acknowledged"].integer()))
        default:
            // A later version may write other records.
            return nil
        }
    }

    /// Stores the collected lines.
    mutating func process() throws {
        if !lines.isEmpty { try advance() }
        guard let last = started.take() else { return }
        try take(last.results())
    }

    /// Imports the records that were read, and prints a record for each that failed.
    private mutating func storeBatch() throws {
        guard !batch.isEmpty else { return }
        let lines = batch
        batch.removeAll()
        let results = try store.transaction { transaction in
            let results = try transaction.importing(isOwn: isOwn) {
                try lines.map { line -> Failure? in
                    switch line.item {
                    case .failure(let failure): return failure
                    case .success(let item): return try take(item, transaction)
                    }
                }
            }
            if transaction.takeFoundBehind() { isBehind = true }
            return results
        }
        for (line, failure) in zip(lines, results) {
            if let failure {
                try output.writeLine(outcome.failed(failure, line: line.number, id: line.id))
            } else {
                outcome.succeeded()
            }
        }
    }

    /// Returns the reason for which an item was not imported, or `nil`.
    private mutating func take(_ item: Item, _ transaction: StateTransaction) throws -> Failure? {
        switch item {
        case .message(let message):
            switch try transaction.add(message, readers: &readers) {
            case .added: added += 1
            case .known: known += 1
            case .gone, .expired: gone += 1
            case .different:
                return Failure(
                    .mismatch, "the history has this message with other content; it was not changed"
                )
            }
        case .tombstone(let tombstone):
            _ = try transaction.add(tombstone, readers: &readers)
        case .contact(let contact):
            switch try contacts.take(contact, transaction) {
            case .added: addedContacts += 1
            case .known, .noted: break
            case .failed(let failure): return failure
            }
        case .profile(let read): try transaction.keep(read.profile, of: read.id)
        case .chat(let chat): if try transaction.restore(chat: chat) { addedChats += 1 }
        case .conversation(let conversation, let settings):
            try transaction.restore(settings, of: conversation)
        case .retention(let retention): try transaction.restore(retention)
        case .reader(let reader): readers.add(reader)
        case .group(let group): return try restore(group, transaction)
        case .devices(let list):
            guard list.owner == transaction.owner.id else {
                return Failure(.untrusted, "the list of devices is of another person")
            }
            try transaction.keep(list)
        case .header: break
        }
        return nil
    }

    /// Returns the reason for which a group, or a part of it, was not restored, or `nil`.
    private mutating func restore(
        _ group: GroupBackup, _ transaction: StateTransaction
    ) throws -> Failure? {
        do {
            let restored = try transaction.restore(group)
            if restored.isNew { addedGroups += 1 }
            if restored.isDoubtful { doubtfulGroups += 1 }
            guard restored.lost > 0 else { return nil }
            return Failure(
                .malformed,
                "\(counted(restored.lost, "change")) of the group \(group.id.short) do not follow from the others"
            )
        } catch let error as GroupError {
            guard error != .unknown, let failure = Failure(core: error) else {
                return Failure(
                    .malformed, "the backup lacks the first change of the group \(group.id.short)")
            }
            return failure
        }
    }

    /// Imports the rest, and restores the readers.
    mutating func finish() throws {
        try process()
        endGroup()
        try storeBatch()
        let readers = readers
        try store.transaction { try $0.restore(readers) }
        try output.finish()
    }

    /// Says what was imported.
    func report() {
        Terminal.say("history: \(counted(added, "message")) imported")
        if isBehind { Terminal.say("history: note: \(NewState.behindNote)") }
        if addedContacts > 0 { Terminal.say("history: \(counted(addedContacts, "contact")) added") }
        if addedChats > 0 { Terminal.say("history: \(counted(addedChats, "chat")) added") }
        if addedGroups > 0 {
            Terminal.say("history: \(counted(addedGroups, "group")) restored")
        }
        if doubtfulGroups > 0 {
            // No contact had sessions with a device before its state was made.
            let hasLost = store.owner.owner == nil
            if hasLost {
                Terminal.say(
                    "history: to tell your contacts that sessions were lost: sotto contact repair | sotto encrypt | sotto send"
                )
            }
            Terminal.say(
                "history: note: the backup can lack changes of groups; \(hasLost ? "after your contacts are told, " : "")ask members: sotto group sync | sotto encrypt | sotto send"
            )
        }
        if known > 0 {
            Terminal.say(
                "history: \(counted(known, "message")) \(known == 1 ? "was" : "were") here already")
        }
        if gone > 0 {
            Terminal.say("history: \(counted(gone, "message")) had been deleted or had ended")
        }
        if added > 0, !isOwn {
            Terminal.say(
                "history: note: nothing proves who wrote the imported messages; they are marked")
        }
    }
}
