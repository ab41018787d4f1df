import SottoContacts
package import Sotto
package import SottoState
package import SottoTool

/// Prints the results of opening envelopes: records, or only the text of messages.
package final class MessagePrinter {
    private let output: Output
    private let tool: String
    private let form: MessageForm
    private let quiet: Bool
    /// The options of the identity, each after a space.
    private let identity: String
    private var lastSender: String?
    private var strangers: Set<KeyID> = []
    private var hasNotedWait = false
    private var shown: [(message: Message, number: Int64)] = []
    /// Whether the texts of the present message were written to their end.
    private var isWhole = true
    private var toldOfReceipts: Set<Conversation> = []
    /// The names of groups, after one was shown.
    private var names: ConversationNames?

    /// `tool` is the name in messages.
    package init(
        output: Output, tool: String, form: MessageForm, identity: IdentityChoice, quiet: Bool
    ) {
        self.output = output
        self.tool = tool
        self.form = form
        self.quiet = quiet
        self.identity = identity.identityOption
    }

    /// Whether records are printed, and not texts.
    package var printsRecords: Bool { !form.isText }

    /// Whether a message was printed.
    private(set) var hasPrinted = false

    /// Whether a message is printed: any, or only the events of a group and of the own devices, which this machine wrote.
    private func prints(_ message: Message) -> Bool {
        guard form.isOfEvents else { return true }
        switch message.body["type"]?.string {
        case GroupBody.type: return true
        // A list that changes nothing names no device.
        case DeviceBody.type:
            return ["added", "removed", "confirms", "objects"].contains { message.body[$0] != nil }
        case RepairBody.type: return message.body["own"] == .bool(true)
        default: return false
        }
    }

    /// Prints the serialized ``record(_:number:seen:quotation:rings:)`` of a message.
    func print(_ record: [UInt8], of message: Message, number: Int64?, seen: Bool) throws {
        defer { if number != nil, !seen { noteAnswer(to: message) } }
        guard prints(message) else { return }
        try output.writeRecord(serialized: record)
        hasPrinted = true
    }

    /// Returns the record of a message. `number` is its number in the state; `nil` if it is not stored. `quotation` is
    /// ``Quotation/name``. `rings` tells that it is the offer of a call that came in time.
    static func record(
        _ message: Message, number: Int64?, seen: Bool, quotation: String?, rings: Bool
    ) -> JSONObject {
        var record = message.record
        record["number"] = number.map { .integer($0) }
        if seen { record["seen"] = .bool(true) }
        if rings { record["ringing"] = .bool(true) }
        record["quotation"] = quotation.map { .string($0) }
        return record
    }

    /// Prints a message as ``record(_:number:seen:quotation:rings:)``, or its text. The state has the message that it is about.
    package func print(
        _ message: Message, number: Int64?, seen: Bool, rings: Bool = false,
        _ store: IdentityStore?
    ) throws {
        defer { if number != nil, !seen { noteAnswer(to: message) } }
        guard prints(message) else { return }
        hasPrinted = true
        guard form.isText else {
            let quotation = try store.flatMap { try Quotation.name(of: message, $0) }
            try output.writeRecord(
                Self.record(
                    message, number: number, seen: seen, quotation: quotation, rings: rings))
            return
        }
        isWhole = true
        defer { if output.isTerminal, isWhole, let number { shown.append((message, number)) } }
        let groupName = try shownGroup(of: message, store)
        try reportSender(message, in: groupName)
        var body = message.body
        if body["type"]?.string == GroupBody.type, let groupName {
            body["name"] = .string(groupName)
        }
        let start = form.hasTime ? Self.prefix(message) : ""
        let forwarded = try ForwardedWords.of(message.body) { person in
            guard let store else { return nil }
            if person == store.owner.id { return "me" }
            let name = try store.readableContact(id: person)?.name ?? ""
            return name.isEmpty ? nil : name
        }
        let reply = try store.flatMap { try TargetWords.ofReply(message, $0) }
        let marks = [reply, forwarded].compactMap(\.self)
        let prefix = start + marks.map { "[\($0)] " }.joined()
        let target = try store.map { try TargetWords.of(message, $0) } ?? TargetWords.unknown
        if body["type"]?.string == "timer", let owner = store?.owner.id,
            Conversation(of: message, owner: owner).peer == nil
        {
            return try write(text: prefix + MessageBody.idleTimer)
        }
        try print(text: body, about: target, prefix)
        if let file = AttachedFile(message) {
            guard output.isTerminal, let number else {
                return try write(text: prefix + file.line(number: number, identity: identity))
            }
            try write(text: prefix + "[\(file.title)]; to save it:")
            // The width of the terminal breaks no command.
            try output.writeText(
                "    \(file.savingCommand("\(number)", identity: identity))\n")
        }
    }

    /// Tells once for each sender who is not a contact, and whose card the message carries, how to answer.
    package func noteAnswer(to message: Message) {
        guard !quiet, message.trust == .unverified, let sender = message.from,
            !strangers.contains(sender), message.carriedCard != nil,
            strangers.insert(sender).inserted
        else { return }
        Terminal.say("\(tool): note: to answer: sotto contact accept \(sender.short)")
    }

    /// Prints a body: its text or data, or a line that describes another kind.
    private func print(
        text body: JSONObject, about target: String = TargetWords.unknown, _ prefix: String
    ) throws {
        if let (line, command) = (try? MessageBody(body, isLocal: true))?.lineAndCommand(
            about: target, identity: identity)
        {
            guard let command else { return try write(text: prefix + line) }
            guard output.isTerminal else { return try write(text: prefix + line + " " + command) }
            try write(text: prefix + line)
            // The width of the terminal breaks no command.
            try output.writeText("    \(command)\n")
        } else if let text = body["text"]?.string {
            try write(text: prefix + text)
        } else if let data = try? Fields<FieldError>(body)["data"].bytes() {
            if output.isTerminal || form.isMarked {
                try write(text: prefix + "[\(data.count) bytes that are not text]")
            } else {
                try output.write(data)
            }
        }
    }

    /// Writes one text. With `--null` or `--time`, its end can be distinguished from a line feed in it.
    private func write(text: String) throws {
        if form.endsWithZero, !output.isTerminal {
            // U+0000 ends a text; within a text it is replaced by U+FFFD.
            let scalars = text.unicodeScalars.map { $0 == "\0" ? "\u{FFFD}" : $0 }
            try output.write(Array(String(String.UnicodeScalarView(scalars)).utf8) + [0])
        } else if form.hasTime, !output.isTerminal {
            try output.write(Array((Self.lines(text).joined(separator: "\n\t\t") + "\n").utf8))
        } else if try !output.writeParagraph(text) {
            isWhole = false
        }
    }

    /// Returns the messages that a terminal has shown to their end since the last call.
    func takeShown() -> [(message: Message, number: Int64)] {
        defer { shown = [] }
        return shown
    }

    /// Tells once for each conversation that its messages stay unread, because receipts are due.
    func noteReceipts(in conversations: [Conversation], _ store: IdentityStore) throws {
        for conversation in conversations {
            guard !quiet, toldOfReceipts.insert(conversation).inserted,
                let summary = try store.summary(of: conversation)
            else { continue }
            let name = shellWord(try ConversationNames(store: store).name(of: summary))
            Terminal.say(
                "\(tool): note: a receipt is due; to mark as read and send it: sotto history read \(name) --send"
            )
        }
    }

    /// Returns the time and the name of a message, each followed by a tab.
    private static func prefix(_ message: Message) -> String {
        let time = message.time?.description ?? "-"
        let chat = message.details?["chat"]?.object
        let name =
            message.name ?? message.from?.description
            ?? (chat?["name"] ?? chat?["id"])?.string.map { "[\($0)]" } ?? "-"
        let mark = message.claimedAccount == nil ? "" : " (not authenticated)"
        let plain = name.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : $0 }
        return "\(time)\t\(String(String.UnicodeScalarView(plain)))\(mark)\t"
    }

    /// Returns the lines of a text. A carriage return before a line feed belongs to its line.
    private static func lines(_ text: String) -> [String] {
        text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false).map {
            String(Substring($0))
        }
    }

    /// Prints a record that is not a message; with `--text`, the content of its body if it has one.
    func print(_ record: JSONObject) throws {
        guard !form.isOfEvents else { return }
        guard form.isText else { return try output.writeRecord(record) }
        if let body = record["body"]?.object {
            try print(text: body, form.hasTime ? "-\t-\t" : "")
        }
    }

    /// Prints a message request, which waits.
    func print(_ request: WaitingRequest) throws {
        if !form.isText, !form.isOfEvents {
            try output.writeRecord(
                JSONObject([
                    ("v", .integer(1)), ("type", .string("request")),
                    ("id", .string(request.id)), ("from", .string(request.from.description)),
                    ("account", request.account.map { .string($0) }),
                    ("time", .string(request.time.description)),
                    ("suite", .string(request.suite)),
                ]))
        }
        if !quiet, strangers.insert(request.from).inserted {
            Terminal.say("\(tool): note: a message request waits: sotto contact requests")
        }
    }

    /// Reports once that a message of a group waits for changes.
    func noteWaitForChanges() {
        guard !quiet, !hasNotedWait else { return }
        hasNotedWait = true
        Terminal.say(
            "\(tool): note: a message waits for changes of its group: sotto group sync | sotto encrypt | sotto send"
        )
    }

    /// Reports that the state is an earlier one.
    func noteBehind() {
        if !quiet { Terminal.say("\(tool): note: \(NewState.behindNote)") }
    }

    func print(error record: JSONObject) throws {
        if !form.isText, !form.isOfEvents { try output.writeRecord(record) }
    }

    /// Returns a name, in quotation marks if it has a character that ends or imitates the words after it.
    private static func quoted(_ name: String) -> String {
        guard name.contains(where: { "(),'\"".contains($0) }) || name.utf8.count > 64 else {
            return name
        }
        // A long run of spaces would move the rest of the line to the next one.
        return shellWord(name.split(separator: " ").joined(separator: " "))
    }

    /// Returns the name of the group of a message in texts for the owner, or `nil`. Without a state it is that in the message.
    private func shownGroup(of message: Message, _ store: IdentityStore?) throws -> String? {
        guard let id = message.group.flatMap({ GroupID($0) }) else { return nil }
        if let store, let summary = try store.summary(of: .group(id)) {
            let known = names ?? ConversationNames(store: store)
            names = known
            return try known.name(of: summary)
        }
        return message.details?["group"]?.object?["name"]?.string
            ?? message.body["name"]?.string
    }

    /// Reports on standard error the sender of the following text: once for consecutive messages, but on a terminal for
    /// each message, so that a text that imitates this line is always below a real one.
    private func reportSender(_ message: Message, in groupName: String?) throws {
        guard !quiet else { return }
        let sender: String
        if !message.authenticated, let name = message.name ?? message.claimedAccount {
            sender = "from \(Self.quoted(name)) (not authenticated)"
        } else if let from = message.from {
            // An account of another messenger that belongs to no contact is shown with its name there.
            let account = message.details?["account"]?.string
            let group = message.details?["group"]?.object
            let name: String
            if let known = message.name ?? account {
                name = Self.quoted(known)
            } else if let nickname = group?["nickname"]?.string {
                // A member chose it, so the id follows.
                name = "\(shellWord(nickname)) \(from.short)…"
            } else {
                name = from.description
            }
            if message.details?["state"]?.string == "different" {
                Terminal.say(
                    "\(tool): warning: \(name) has the same changes of the group, but another state"
                )
            }
            let place = group == nil ? nil : groupName.map { " in \(Self.quoted($0))" }
            // A former member can have written it later.
            let late = message.isLate ? ", late" : ""
            sender = "from \(name)\(place ?? "") (\(message.trust.rawValue)\(late))"
        } else {
            let chat = message.details?["chat"]?.object
            let name = (chat?["name"] ?? chat?["id"])?.string
            sender =
                (name.map { "in the chat \(Self.quoted($0)), " } ?? "")
                + "from an unknown sender (not authenticated)"
        }
        guard lastSender != sender || output.isTerminal && !form.hasTime else { return }
        lastSender = sender
        // Texts before this line belong to the previous sender.
        try output.flush()
        Terminal.say("\(tool): \(sender)")
    }
}
