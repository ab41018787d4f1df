import SottoChat

/// The conversation with bob as `history` has it: the messages 1, 2 and so on, all from bob, and the mark.
struct StoredConversation {
    var count: Int64
    /// The number of the last message that is marked as read.
    var read: Int64
    /// The numbers up to which messages were marked.
    private(set) var marks: [Int64] = []

    init(_ count: Int64, read: Int64) { (self.count, self.read) = (count, read) }

    func record(_ number: Int64) -> String {
        ChatStage.message(
            number, "message \(number)", minutes: number - 20_000,
            number > read ? #""unread":true"# : "")
    }

    /// Adds a message. Returns its record as `history --follow --raw` prints it.
    mutating func arrive() -> String {
        count += 1
        return ChatStage.message(count, "message \(count)", minutes: count - 20_000)
    }

    /// Returns the answer to a tool, or `nil` to another one than these.
    mutating func answer(_ stage: Pipeline.Stage) -> ChatStage.Answer? {
        guard stage.tool == "history", let command = stage.arguments.first else { return nil }
        switch command {
        case "list":
            let record = ChatStage.conversation(ChatStage.bob, "bob", unread: Int(count - read))
                .replacing(#""read":0"#, #""read":\#(read)"#)
                .replacing(#""number":1,"#, #""number":\#(count),"#)
            return ([record], 0)
        case "read":
            let last = value("--upto", stage) ?? count
            marks.append(last)
            read = max(read, last)
            return ([], 0)
        case "page":
            // What changed is not asked for here.
            guard !stage.arguments.contains("--changed-since") else { return ([], 1) }
            let limit = value("--limit", stage) ?? 50
            let numbers: ClosedRange<Int64>?
            if let after = value("--after", stage) {
                numbers = range(after + 1, min(count, after + limit))
            } else {
                let last = (value("--before", stage) ?? count + 1) - 1
                numbers = range(max(1, last - limit + 1), last)
            }
            return (numbers?.map(record) ?? [], numbers == nil ? 1 : 0)
        default: return nil
        }
    }

    private func range(_ first: Int64, _ last: Int64) -> ClosedRange<Int64>? {
        first <= last ? first...last : nil
    }

    private func value(_ option: String, _ stage: Pipeline.Stage) -> Int64? {
        guard let place = stage.arguments.firstIndex(of: option) else { return nil }
        return Int64(stage.arguments[place + 1])
    }
}
