import Glibc
import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool

/// Messages in the format mbox (RFC 4155), which mail programs read. Replies and reactions (RFC 9078) belong to the thread
/// of their message.
struct MailboxExport {
    private let history: OpenHistory
    private let output: Output
    private let people: People

    /// The domain of ids and addresses. No such domain exists (RFC 2606).
    private static let domain = "sotto.invalid"
    /// The maximum length of a line in bytes without a transfer encoding (RFC 5322, section 2.1.1).
    private static let lineLimit = 998

    init(_ history: OpenHistory, _ output: Output) {
        self.history = history
        self.output = output
        people = People(history)
    }

    func write(_ conversation: Conversation?) throws -> Int {
        var count = 0
        try history.forEachConversation(conversation) { summary, nextBlock in
            let name = try history.name(of: summary)
            while let views = try nextBlock() {
                for view in views {
                    guard let body = view.body else { continue }
                    try write(view, body, conversation: name)
                    count += 1
                }
            }
        }
        return count
    }

    private func write(_ view: MessageView, _ body: JSONObject, conversation: String) throws {
        let entry = view.entry
        let author = try person(of: entry, conversation: conversation)
        let owner = Person(name: "me", address: history.store.owner.id.description)
        let peer =
            if let peer = entry.peer {
                Person(name: conversation, address: peer.description)
            } else {
                Person(name: conversation, address: "chat")
            }
        let text = Quotation.text(of: view)
        let id = entry.id ?? "\(entry.number)"
        let reply = body["reply"]?.object?["id"]?.string
        let time = entry.time ?? entry.received ?? Timestamp(seconds: 0)
        var head = Head(time: time, from: author.address)
        head.add("From", Self.address(author))
        head.add("To", Self.address(entry.direction == .sent ? peer : owner))
        let start = (reply == nil ? "" : "Re: ") + (view.isForwarded ? "Fwd: " : "")
        head.add("Subject", start + Self.subject(text))
        head.add("Message-ID", Self.messageID(id))
        if let reply {
            head.add("In-Reply-To", Self.messageID(reply))
            head.add("References", Self.messageID(reply))
        }
        if view.isForwarded { head.add("X-Sotto-Forwarded", "yes") }
        if view.isEdited, let edited = view.versions.last?.time {
            head.add("X-Sotto-Edited", edited.description)
        }
        // As mail programs store these marks.
        head.add("Status", "RO")
        if view.pin != nil { head.add("X-Status", "F") }
        if body["type"]?.string == "data", let data = body["data"]?.string {
            head.add("Content-Type", "application/octet-stream")
            try write(head, base64: Array(data.utf8))
        } else {
            try write(head, text: text)
        }
        for (index, reaction) in view.reactions.enumerated() {
            let name = try reaction.from.map { try people.person($0).name } ?? "unknown sender"
            let reactor = Person(name: name, address: reaction.from?.description ?? "unknown")
            var head = Head(time: reaction.time ?? time, from: reactor.address)
            head.add("From", Self.address(reactor))
            head.add("To", Self.address(author))
            head.add("Subject", "Re: " + Self.subject(text))
            head.add("Message-ID", Self.messageID("\(id).reaction\(index + 1)"))
            head.add("In-Reply-To", Self.messageID(id))
            head.add("References", Self.messageID(id))
            head.add("Status", "RO")
            head.add("Content-Disposition", "reaction")
            try write(head, text: reaction.emoji)
        }
    }

    // MARK: Bodies

    private func write(_ head: Head, text: String) throws {
        var head = head
        head.add("Content-Type", "text/plain; charset=utf-8")
        guard Self.isPlain(text) else {
            return try write(head, base64: Array(JSON.base64(Array(text.utf8)).text.utf8))
        }
        head.add(
            "Content-Transfer-Encoding", text.utf8.allSatisfy { $0 < 0x80 } ? "7bit" : "8bit")
        try output.write(utf8: head.text + "\n" + text + "\n\n")
    }

    /// Whether a text needs no transfer encoding.
    private static func isPlain(_ text: String) -> Bool {
        let lines = text.utf8.split(separator: UInt8(ascii: "\n"))
        return lines.allSatisfy { line in
            // A line that begins with From would begin another message, and programs differ in how they escape it.
            line.count <= lineLimit && line.allSatisfy { $0 != 0 && $0 != 13 }
                && !line.drop { $0 == UInt8(ascii: ">") }.starts(with: "From ".utf8)
        }
    }

    private func write(_ head: Head, base64 characters: [UInt8]) throws {
        var head = head
        head.add("Content-Transfer-Encoding", "base64")
        try output.write(Array((head.text + "\n").utf8))
        for start in stride(from: 0, to: characters.count, by: 76) {
            let line = characters[start..<min(start + 76, characters.count)]
            try output.write(Array(line) + [UInt8(ascii: "\n")])
        }
        try output.write([UInt8(ascii: "\n")])
    }

    // MARK: Header

    private struct Person {
        let name: String
        let address: String
    }

    private func person(of entry: HistoryEntry, conversation: String) throws -> Person {
        let author = entry.author(history.store.owner.id)?.description ?? "unknown"
        let name = try people.author(of: entry) ?? entry.chatName ?? conversation
        let mark =
            entry.isImported
            ? " (imported)" : entry.isUnauthenticated ? " (not authenticated)" : ""
        return Person(name: name + mark, address: author)
    }

    /// The header of a message, with the line that separates it from the one before.
    private struct Head {
        private(set) var text: String

        init(time: Timestamp, from address: String) {
            var seconds = time_t(time.seconds)
            var parts = tm()
            gmtime_r(&seconds, &parts)
            let day = Self.days[Int(parts.tm_wday)]
            let month = Self.months[Int(parts.tm_mon)]
            let (year, clock) = (Int(parts.tm_year) + 1900, Self.clock(parts))
            let place = parts.tm_mday < 10 ? " \(parts.tm_mday)" : "\(parts.tm_mday)"
            text = "From \(address)@\(domain) \(day) \(month) \(place) \(clock) \(year)\n"
            add("Date", "\(day), \(parts.tm_mday) \(month) \(year) \(clock) +0000")
            add("MIME-Version", "1.0")
        }

        /// Adds a field. A value has no line end: names and subjects are encoded.
        mutating func add(_ name: String, _ value: String) {
            text += name + ": " + value + "\n"
        }

        private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
        private static let months = [
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
        ]

        private static func clock(_ parts: tm) -> String {
            [parts.tm_hour, parts.tm_min, parts.tm_sec].map { ($0 < 10 ? "0" : "") + String($0) }
                .joined(separator: ":")
        }
    }

    private static func address(_ person: Person) -> String {
        "\(encoded(person.name)) <\(person.address)@\(domain)>"
    }

    /// Returns an id as a field has it. An id of another program may have any characters.
    private static func messageID(_ id: String) -> String {
        let isPlain = id.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E: true
            default: false
            }
        }
        return "<\(isPlain ? id : hex(Array(id.utf8)))@\(domain)>"
    }

    /// Returns the beginning of the first line of a text.
    private static func subject(_ text: String) -> String {
        if let plain = plainSubject(text) { return plain }
        let line = text.drop(while: \.isNewline).prefix { !$0.isNewline }
        let short = String(line.prefix(60))
        let isPlain = short.utf8.allSatisfy { (0x20...0x7E).contains($0) } && !short.contains("=?")
        return isPlain ? short : encoded(short)
    }

    /// Returns the subject of a text that begins with plain ASCII, or `nil`: most texts do, and characters are slow to find.
    private static func plainSubject(_ text: String) -> String? {
        let isNewline = { (byte: UInt8) in (0x0A...0x0D).contains(byte) }
        let rest = text.utf8.drop(while: isNewline)
        let line = rest.prefix(60).prefix { (0x20...0x7E).contains($0) }
        // A combining mark after the last byte belongs to its character.
        let isWhole =
            rest.dropFirst(line.count).first.map {
                isNewline($0) || line.count == 60 && $0 < 0x80
            } ?? true
        let isPlain = !zip(line, line.dropFirst()).contains {
            $0 == UInt8(ascii: "=") && $1 == UInt8(ascii: "?")
        }
        return isWhole && isPlain ? String(line) : nil
    }

    /// Returns a text as encoded words (RFC 2047), each at most 75 characters.
    private static func encoded(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x20, 0x2D: true
            default: false
            }
        }
        if isPlain { return text }
        var words: [[UInt8]] = [[]]
        for character in text.unicodeScalars {
            let bytes = Array(String(character).utf8)
            // 45 bytes are 60 characters of Base64.
            if words[words.count - 1].count + bytes.count > 45 { words.append([]) }
            words[words.count - 1] += bytes
        }
        return words.map { "=?utf-8?B?\(JSON.base64($0).text)?=" }.joined(separator: "\n ")
    }
}

extension JSON {
    /// The text of a string, or an empty text.
    fileprivate var text: String { string ?? "" }
}
