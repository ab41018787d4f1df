import Sotto
import SottoState
import SottoTool

/// The messages whose texts a terminal has shown to their end. They count as read.
struct ShownMessages {
    private var conversations: [Conversation] = []
    private var numbers: [Conversation: Set<Int64>] = [:]

    /// Adds the message with a number.
    mutating func add(_ number: Int64, in conversation: Conversation) {
        if numbers[conversation] == nil { conversations.append(conversation) }
        numbers[conversation, default: []].insert(number)
    }

    /// Marks the messages as read. A mark covers all messages before it, so it ends before the first unread message that was not
    /// shown.
    ///
    /// The receipts for them are appended to `receipts`. Without this file, the mark ends before a message that gets a receipt,
    /// which would be lost. Returns the conversations with such messages.
    func mark(in store: IdentityStore, receipts: Output?) throws -> [Conversation] {
        var marks: [(conversation: Conversation, place: HistoryPlace)] = []
        var due: [Conversation] = []
        for conversation in conversations {
            let numbers = numbers[conversation] ?? []
            let shown = try store.unread(in: conversation, limit: numbers.count).prefix {
                numbers.contains($0.number)
            }
            var last: HistoryPlace?
            var waiting = Receipts(.read, store)
            for entry in shown {
                if receipts == nil, try waiting.add(entry) {
                    due.append(conversation)
                    break
                }
                last = entry.place
            }
            if let last { marks.append((conversation, last)) }
        }
        guard !marks.isEmpty else { return due }
        let read = try store.transaction { transaction in
            // Another process can have stored a message before the mark meanwhile.
            try marks.flatMap {
                try transaction.markRead(
                    $0.conversation, upTo: $0.place, shown: numbers[$0.conversation])
            }
        }
        guard let receipts else { return due }
        var sent = Receipts(.read, store)
        for entry in read { try sent.add(entry) }
        for message in sent.messages { try receipts.writeRecord(message.record) }
        try receipts.flush()
        return due
    }
}
