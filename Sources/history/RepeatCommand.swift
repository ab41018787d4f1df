import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool

/// `history repeat`: prints own messages that are sent again.
struct RepeatCommand: Program {
    static let configuration = CommandConfiguration(
        name: "repeat",
        abstract: "Print own messages again as records for encrypt.",
        usage: "sotto history repeat [-q] WHO ... | ID ...",
        discussion: """
            WHO prints the messages of the last 30 days that were not sent, see history unsent, without those that only some \
            members of a group lack: group sync sends these. After WHO lost a state, see contact repair, it also prints those \
            that nothing shows to have arrived, at most \(RepairBody.dailyRepeats) a day. It asks first on the terminal, unless contact set WHO repair=auto allows it. ID prints one message with its \
            edits, whatever became of it. A reader who has a message already does not see it twice. Deleted and ended \
            messages are left out, and those that wait in the outbox or are less than a minute old. \
            To send them: sotto history repeat bob --send
            """)

    @OptionGroup var form: RecordOutput

    @OptionGroup var options: HistoryOptions

    @Argument(
        "who",
        help: "A contact, an id, me, the name of a group, or the id or the number of a message.")
    var who: [String]

    /// The most bytes of messages in a record. One longer message has a record for itself.
    private static let recordBytes = 20 << 10

    func execute() throws {
        let history = try options.open()
        let output = try Output(path: "-", content: .text)
        var entries: [HistoryEntry] = []
        var owed = Owed()
        for text in who {
            entries += try chosen(text, history, &owed).filter { entry in
                !entries.contains { $0.number == entry.number }
            }
        }
        let (settled, waiting) = try history.ready(entries)
        let withoutFile = try Self.withoutFile(settled, history.store)
        let ready = settled.filter { !withoutFile.contains($0.number) }
        var messages: [(conversation: Conversation, message: EarlierMessage)] = []
        var (gone, hidden) = (0, 0)
        let found = try history.store.preview { transaction in
            var lastUnread: [GroupID: HistoryPlace?] = [:]
            return try ready.map { try transaction.earlier($0, &lastUnread) }
        }
        for (entry, message) in zip(ready, found) {
            switch message {
            case .ready(let message): messages.append((entry.conversation, message))
            case .gone: gone += 1
            case .hidden: hidden += 1
            }
        }
        if !messages.isEmpty { try form.check() }
        for message in Self.records(messages) { try output.writeRecord(message.record) }
        try output.finish()
        guard !options.quiet else { return }
        if waiting > 0 {
            Terminal.say(
                "history: \(counted(waiting, "message")) left out: less than a minute old, or in the outbox, see sotto send --list"
            )
        }
        if gone > 0 {
            Terminal.say("history: \(counted(gone, "message")) left out: the content is gone")
        }
        if hidden > 0 {
            Terminal.say(
                "history: \(counted(hidden, "message")) left out: a present member could not read your messages then"
            )
        }
        if !withoutFile.isEmpty {
            Terminal.say(
                "history: \(counted(withoutFile.count, "message")) left out: the relay deleted the file, and it is not kept here; attach it to a new message"
            )
        }
        if owed.waiting > 0 {
            Terminal.say(
                "history: \(counted(owed.waiting, "message")) left out until another member confirms the restored group"
            )
        }
        for (name, count) in owed.told {
            Terminal.say(
                "history: \(counted(count, "message")) lack copies for some members; to send these: sotto group sync \(shellWord(name)) --send"
            )
        }
        if messages.isEmpty, owed.told.isEmpty {
            Terminal.say("history: nothing to send again")
        }
    }

    /// The messages that only some members of groups lack.
    private struct Owed {
        /// The groups whose members are told by `group sync`, with the number of messages. A member takes an earlier message that was
        /// asked for, and `group sync` brings the keys that let the member ask.
        var told: [(name: String, count: Int)] = []
        /// The groups whose messages were looked up.
        var groups: Set<GroupID> = []
        /// The number of messages that wait for the confirmation of a restored group.
        var waiting = 0
    }

    /// Moves the messages that only some members of a group lack from `entries` to `owed`. One that is deleted after some time
    /// stays: it is sent to all again.
    private static func moveOwed(
        _ entries: [HistoryEntry], of group: GroupID, to owed: inout Owed, _ history: OpenHistory
    ) throws -> [HistoryEntry] {
        let ways = try history.departures(of: entries)
        func isPartly(_ entry: HistoryEntry) -> Bool {
            if case .partly? = ways[entry.number] { true } else { false }
        }
        guard entries.contains(where: isPartly) else { return entries }
        let found = try history.store.preview { transaction in
            try transaction.readableGroup(group).map {
                (
                    isDoubtful: $0.isDoubtful, ids: try transaction.syncedMessages(in: $0),
                    name: try transaction.shownName(of: group)
                )
            }
        }
        guard let found else { return entries }
        if found.isDoubtful {
            owed.waiting += entries.count(where: isPartly)
            return entries.filter { !isPartly($0) }
        }
        func isOwed(_ entry: HistoryEntry) -> Bool {
            isPartly(entry) && entry.id.map(found.ids.contains) ?? false
        }
        let count = entries.count(where: isOwed)
        if count > 0 { owed.told.append((found.name, count)) }
        return entries.filter { !isOwed($0) }
    }

    /// Returns the numbers of the messages whose files are neither at a relay nor here.
    private static func withoutFile(
        _ entries: [HistoryEntry], _ store: IdentityStore
    ) throws -> Set<Int64> {
        let files = entries.filter { $0.file?.place != nil }
        guard !files.isEmpty else { return [] }
        let folder = try BlobFolder(directory: .standard())
        let now = Timestamp.now()
        let lost = try store.views(of: files).filter { view in
            guard let end = view.fileEnd, end <= now, let file = view.entry.file else {
                return false
            }
            return !folder.keeps(file)
        }
        return Set(lost.map(\.entry.number))
    }

    /// Returns the messages that an argument means.
    private func chosen(
        _ text: String, _ history: OpenHistory, _ owed: inout Owed
    ) throws -> [HistoryEntry] {
        if try history.book.lookUp(text, for: .acting) == nil,
            case .found(let entry) = try history.store.historyEntry(named: text)
        {
            guard entry.direction == .sent else {
                throw Failure(
                    .usage, "message \(text) is of another person; only own messages are sent again"
                )
            }
            return try [entry] + edits(of: entry, history)
        }
        let conversation = try history.conversation(text, for: .acting)
        let unsent = try history.unsent(in: conversation, all: false)
        if let group = conversation.group {
            guard owed.groups.insert(group).inserted else { return [] }
            return try Self.moveOwed(unsent, of: group, to: &owed, history)
        }
        guard let peer = conversation.peer else { return unsent }
        return try unsent + afterLoss(by: peer, text, except: unsent, history)
    }

    /// Returns the messages to a person who lost a state that may be unread, with their edits, after the user agreed.
    private func afterLoss(
        by peer: KeyID, _ text: String, except others: [HistoryEntry], _ history: OpenHistory
    ) throws -> [HistoryEntry] {
        let known = Set(others.map(\.number))
        guard let contact = try history.store.contact(id: peer), !contact.isBlocked,
            contact.changed == nil
        else { return [] }
        let entries = try history.store.preview { try $0.mayBeUnread(by: peer) ?? [] }.filter {
            !known.contains($0.number)
        }
        guard !entries.isEmpty else { return [] }
        if !contact.getsRepeats { try agree(to: entries.count, contact.name) }
        let count = try history.store.transaction {
            try $0.takeRepeats(of: entries.count, to: peer)
        }
        if count < entries.count, !options.quiet {
            Terminal.say(
                "history: \(counted(entries.count - count, "message")) left for tomorrow: at most \(RepairBody.dailyRepeats) a day are sent again"
            )
        }
        return try entries.prefix(count).flatMap { entry in
            try [entry] + edits(of: entry, history)
        }
    }

    /// Asks whether messages are sent again.
    private func agree(to count: Int, _ name: String) throws {
        let isAgreed: Bool
        do throws(Failure) {
            isAgreed = try Terminal.confirms(
                "\(Terminal.escapingControls(name)) says that the messages of a machine were lost. Whoever has the key of \(Terminal.escapingControls(name)) can say that. Type yes to send \(counted(count, "message")) again: "
            )
        } catch {
            guard error.status == .configuration else { throw error }
            throw Failure(
                .configuration,
                "\(name) lost a state, and no terminal is available for the question whether to send \(counted(count, "message")) again",
                hint:
                    "to allow it without a question: sotto contact set \(shellWord(name)) repair=auto"
            )
        }
        guard isAgreed else { throw Failure(.no, "nothing is sent again") }
    }

    /// Returns the own edits of a message.
    private func edits(
        of entry: HistoryEntry, _ history: OpenHistory
    ) throws -> [HistoryEntry] {
        guard let id = entry.id else { return [] }
        return try history.store.events(on: id, in: entry.conversation).filter {
            guard case .edit? = $0.body?.kind else { return false }
            return $0.direction == .sent
        }
    }

    /// Returns the records: one for the messages of a conversation, or several if they are long. A file has a record for itself,
    /// because `encrypt` names one blob on the line of an envelope.
    private static func records(
        _ messages: [(conversation: Conversation, message: EarlierMessage)]
    ) -> [ComposedMessage] {
        var parts: [(conversation: Conversation, messages: [JSONObject], bytes: Int)] = []
        var isAfterFile = false
        for (conversation, message) in messages {
            let object = message.object
            let isFile = message.body["type"]?.string == "file"
            defer { isAfterFile = isFile }
            let count = object.serialized().count
            if !isFile, !isAfterFile, let last = parts.last, last.conversation == conversation,
                last.messages.count < RepeatedMessages.most, last.bytes + count <= recordBytes
            {
                parts[parts.count - 1].messages.append(object)
                parts[parts.count - 1].bytes += count
            } else {
                parts.append((conversation, [object], count))
            }
        }
        return parts.map {
            ComposedMessage(
                in: $0.conversation, MessageBody(.history(RepeatedMessages($0.messages))))
        }
    }
}

extension OpenHistory {
    /// Returns the messages of some that are sent again now, and the number of those that wait in the outbox or can still be on
    /// their way to it.
    fileprivate func ready(
        _ entries: [HistoryEntry]
    ) throws -> (ready: [HistoryEntry], waiting: Int) {
        let ways = try departures(of: entries)
        let ready = entries.filter { entry in
            switch ways[entry.number] {
            case .queued, .unsent(isRecent: true): false
            case .unsent(isRecent: false), .handedOn, .partly, .invited, nil: true
            }
        }
        return (ready, entries.count - ready.count)
    }
}
