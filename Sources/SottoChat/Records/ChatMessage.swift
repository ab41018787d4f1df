import Sotto
import SottoBytes
import SottoMedia
import SottoProgram

/// The conversation of a message.
enum ConversationKey: Sendable, Hashable {
    /// The id of a contact, or the own id for notes.
    case person(String)
    /// The id of a group.
    case group(String)
    /// The name of a chat with a phrase.
    case chat(String)

    /// The word that the tools take.
    var who: String {
        switch self {
        case .person(let id), .group(let id): id
        case .chat(let name): name
        }
    }

    var isGroup: Bool { if case .group = self { true } else { false } }
}

/// A message as `history` prints it, with texts that can be shown.
///
/// Its members come from other people: each is bounded here, and one that is malformed is as if it were absent.
struct ChatMessage: Sendable, Hashable {
    /// The greatest length of a kept text, in code points.
    static let textLimit = 8_000
    private static let nameLimit = 40
    private static let expired = "expired"
    /// The types of bodies that are no content.
    static let events: Set<String> = [
        "reaction", "edit", "delete", "pin", "unpin", "receipt", "typing", "presence", "profile",
        "call",
        "history", "group", "devices", "sync",
    ]

    /// The fate of an own message.
    enum Fate: String, Sendable {
        case unsent, queued, handedOn, stored, delivered, read, failed
    }

    /// The content of a message.
    enum Content: Sendable, Hashable {
        /// A text, which may have several lines.
        case text(String)
        /// A file: its name, and the words about it, such as `12 kB`.
        case file(name: String, about: String, text: String)
        /// A line about the message in place of its content, such as `deleted`.
        case note(String)
    }

    /// The quoted message of a reply.
    struct Quote: Sendable, Hashable {
        var id: String
        var from: String
        /// The first line of the quoted text, or `nil` if the reply quotes no text.
        var text: String?
        /// A doubt about it, such as `deleted`.
        var doubt: String?
    }

    var number: Int64
    var id: String
    var key: ConversationKey
    var isOwn: Bool
    /// The id of the author, or an empty text.
    var author: String
    var name: String
    /// Whether the record gives the name.
    var hasName = false
    /// The claimed time, at most that of the arrival.
    var time: Timestamp
    var place: Timestamp
    var content: Content
    var isTextCut = false
    var fate: Fate?
    /// Whether it is an event of this machine, which is not sent.
    var isLocal = false
    /// Whether it can be answered, changed or deleted.
    var hasContent = true
    var isUnread = false
    /// Whether it is a received message, which the history has as unread or as read.
    var isCounted = false
    var isDeleted = false
    /// Whether its content is bytes that are no text.
    var isData = false
    var isEdited = false
    var isPinned = false
    var quote: Quote?
    /// The id of the claimed first author of a forwarded message, or an empty text.
    var forwarded: String?
    /// The reactions: each emoji with the ids of the people.
    var reactions: [Reaction] = []
    /// Marks such as `imported`.
    var marks: [String] = []
    /// The number of readers with the status read, and of all copies, in a group.
    var readers: Readers?
    var expires: Timestamp?
    /// A small JPEG of a file that is a picture, until it is given to the helper.
    var thumbnail: [UInt8]?

    struct Reaction: Sendable, Hashable {
        var emoji: String
        var people: [String]
    }

    struct Readers: Sendable, Hashable {
        var delivered: Int
        var read: Int
        var copies: Int
    }

    /// Reads a record of the conversation `known`, or of the one that the record names. Returns `nil` if it is no message with content.
    init?(_ record: JSONObject, in known: ConversationKey? = nil) {
        guard record.isA("message"), let number = record["number"]?.integer, number > 0 else {
            return nil
        }
        self.number = number
        id = record.line("id") ?? ""
        author = record.line("from") ?? ""
        isOwn = record["direction"]?.string == "sent"
        let other = isOwn ? record.line("to") ?? "" : author
        if let known {
            key = known
        } else if let group = record.line("group") {
            key = .group(group)
        } else if let details = record["details"]?.object, let chat = details["chat"]?.string {
            key = .chat(chat)
        } else {
            key = .person(other)
        }
        let received = record.time("received") ?? Timestamp(seconds: 0)
        place = record.time("place") ?? received
        time = min(record.time("time") ?? received, received)
        name = Self.name(of: record, author: author, isOwn: isOwn)
        hasName = isOwn || record["name"] != nil
        isDeleted = record.isTrue("deleted")
        content = .note("")
        guard readContent(record) else { return nil }
        fate = record["status"]?.string.flatMap(Fate.init)
        isUnread = record.isTrue("unread")
        isCounted =
            !isOwn && !isLocal && !isDeleted && !record.isTrue("damaged")
            && !record.isTrue("imported")
        isEdited = record["edited"] != nil
        isPinned = record["pinned"] != nil
        expires = record.time("expires")
        readReactions(record["reactions"]?.array ?? [])
        readReceipts(record)
        if record.isTrue("cut") { marks.append("too much for the screen: /info \(number)") }
        if record.isTrue("fileExpired") { marks.append("the relay has deleted the file") }
        if record.isTrue("imported") { marks.append("imported: the author is only claimed") }
        if record["details"]?.object?["group"]?.object?.isTrue("late") == true {
            marks.append("late: the author is no member any more")
        }
        if case .person = key, !isOwn, record["authenticated"]?.bool == false, !isDeleted {
            marks.append("not authenticated")
        }
    }

    private static func name(of record: JSONObject, author: String, isOwn: Bool) -> String {
        if isOwn { return "me" }
        if let name = record["name"]?.string, !name.isEmpty {
            return Cells.line(name, limit: nameLimit)
        }
        // Nothing tells the author of some deleted messages of a group.
        if author.isEmpty, record.isTrue("deleted") { return "a member" }
        if let group = record["details"]?.object?["group"]?.object,
            let nickname = group["nickname"]?.string, !nickname.isEmpty
        {
            return Words.member(nickname, author)
        }
        return author.isEmpty ? "?" : String(author.prefix(16)) + "…"
    }

    // MARK: Content

    private mutating func readContent(_ record: JSONObject) -> Bool {
        if isDeleted {
            content = .note(record.isTrue("expired") ? Self.expired : "deleted")
            return true
        }
        if record.isTrue("damaged") {
            content = .note("damaged: the message cannot be read")
            hasContent = false
            return true
        }
        guard let body = record["body"]?.object, let type = body["type"]?.string,
            !Self.events.contains(type)
        else { return false }
        switch type {
        case "text": content = .text(text(body["text"]))
        case "data":
            isData = true
            content = .note("bytes that are no text; /save writes them to a file")
        case "file": readFile(body)
        case "system":
            content = .note(Self.systemWords(body))
            (isLocal, hasContent) = (true, false)
            // A contact did the other ones. A call is of both sides.
            if isOwn || body["event"]?.string == "call" { name = "*" }
        case "timer":
            hasContent = false
            content = .note(Self.timerWords(body, in: key))
        case "repair":
            hasContent = false
            content = .note(Self.repairWords(body))
        default:
            content = .note(
                "a message of the type \(Cells.line(type, limit: 30)); this version cannot show it")
        }
        if let reply = body["reply"]?.object { readQuote(reply, record["quotation"]?.string) }
        if let forward = body["forwarded"]?.object { forwarded = forward.line("from") ?? "" }
        return true
    }

    private mutating func text(_ value: JSON?) -> String {
        let text = value?.string ?? ""
        let part = String(String.UnicodeScalarView(text.unicodeScalars.prefix(Self.textLimit)))
        isTextCut = part.utf8.count < text.utf8.count
        var plain = Cells.plain(part)
        while plain.hasSuffix("\n") { plain.removeLast() }
        return plain
    }

    private mutating func readFile(_ body: JSONObject) {
        let name = body.line("name", limit: 60) ?? "?"
        var about: [String] = []
        if body.isTrue("voice") { about.append("voice") }
        if let seconds = body["duration"]?.integer, (0...31_536_000).contains(seconds) {
            about.append(Words.duration(seconds))
        }
        if let width = body["width"]?.integer, let height = body["height"]?.integer {
            about.append("\(width)×\(height)")
        }
        if let size = body["size"]?.integer, size >= 0 { about.append(Words.size(size)) }
        content = .file(name: name, about: about.joined(separator: ", "), text: text(body["text"]))
        thumbnail = (try? Fields<FieldError>(body)["thumbnail"].bytes()).flatMap { file in
            file.count <= MediaFacts.maximumThumbnail ? file : nil
        }
    }

    static let lossWords = "lost the messages of a machine"

    /// The news that the contact lost a state, with the command for a shell that sends again what may be unread.
    private static func repairWords(_ body: JSONObject) -> String {
        guard let unread = body["unread"]?.integer, unread > 0, let name = body.line("name") else {
            return lossWords
        }
        let what = unread == 1 ? "1 message" : "\(unread) messages"
        return "\(lossWords); \(what) of yours may be unread, to send them again in a shell: "
            + "sotto history repeat \(shellWord(name)) --send"
    }

    static func timerWords(_ body: JSONObject, in key: ConversationKey) -> String {
        // A change of a group sets its timer, and the authors of a chat with a phrase are not authenticated.
        guard case .person = key else { return "tried to set a timer, which has no effect here" }
        let time = body["seconds"]?.integer.flatMap { $0 > 0 ? $0 : nil }
        return time.map { "messages end after \(Words.time($0))" } ?? "messages are kept"
    }

    /// The words of an event that a program made on this machine.
    static func systemWords(_ body: JSONObject) -> String {
        switch body["event"]?.string {
        case "verified": "the key was verified"
        case "key-accepted": "a new key was accepted; compare the safety number: /verify"
        case "unverified": "the key is no longer verified"
        case "keys_updated":
            "signed that another key replaces this one; ask on another channel: /verify"
        case "keys-doubtful": "the key counts no more; compare the safety number: /verify"
        case "revoked": "revoked this key"
        case "call": CallWords.of(body)
        case "device-added":
            "uses a new device: \(Words.quoted(body.line("name", limit: 32) ?? "?"))"
        case "device-removed":
            "removed the device \(Words.quoted(body.line("name", limit: 32) ?? "?"))"
        case "device-fork": "signed two different lists of devices; ask on another channel"
        case "profile":
            "changed the profile"
                + (body.line("name", limit: 32).map { ": " + Words.quoted($0) } ?? "")
                + "; see /info"
        case let event?: Cells.line(event, limit: 60)
        case nil: "an event of this machine"
        }
    }

    private mutating func readQuote(_ reply: JSONObject, _ quotation: String?) {
        let doubt: String? =
            switch quotation {
            case "different": "the message never said this"
            case "deleted": "deleted"
            case "unknown": "not known here"
            default: nil
            }
        quote = Quote(
            id: reply.line("id") ?? "", from: reply.line("from") ?? "",
            text: reply.line("text", limit: 160), doubt: doubt)
    }

    private mutating func readReactions(_ values: [JSON]) {
        // The history keeps at most 64 changes of an author; a screen needs fewer.
        for value in values.prefix(2_000) {
            guard let reaction = value.object, let emoji = reaction["emoji"]?.string, !emoji.isEmpty
            else { continue }
            let shown = Cells.line(emoji, limit: 8)
            let from = reaction.line("from") ?? ""
            if let index = reactions.firstIndex(where: { $0.emoji == shown }) {
                if !reactions[index].people.contains(from) { reactions[index].people.append(from) }
            } else if reactions.count < 20 {
                reactions.append(Reaction(emoji: shown, people: [from]))
            }
        }
    }

    private mutating func readReceipts(_ record: JSONObject) {
        guard isOwn, key.isGroup, let copies = record["details"]?.object?["copies"]?.integer
        else { return }
        let receipts = record["receipts"]?.array ?? []
        let statuses = receipts.prefix(1_000).compactMap { $0.object?["status"]?.string }
        let read = statuses.count { $0 == "read" }
        readers = Readers(delivered: statuses.count, read: read, copies: Int(clamping: copies))
    }

    /// The order in the conversation.
    var order: MessageOrder { MessageOrder(time: place.seconds, number: number) }

    /// An estimate of the memory that the message takes, in bytes.
    var weight: Int {
        switch content {
        case .text(let text): 400 + text.utf8.count
        case .file(_, _, let text): 500 + text.utf8.count
        case .note: 400
        }
    }
}

extension ChatMessage {
    /// Removes the content at the end of the lifetime, as the history does.
    mutating func expire() {
        (content, isDeleted, expires) = (.note(Self.expired), true, nil)
        (isUnread, isCounted) = (false, false)
        (quote, forwarded, reactions, thumbnail) = (nil, nil, [], nil)
    }

    /// Whether it is an own message that did not leave this machine. An envelope is on its way to the outbox for at most a minute.
    func isUnsent(at now: Timestamp) -> Bool {
        isOwn && !isDeleted && fate == .unsent && now.seconds - place.seconds >= 60
    }

    /// Whether it has content that can be saved in a file.
    var hasFile: Bool {
        if case .file = content { true } else { isData }
    }

    /// Whether a copy can go to others.
    var isForwardable: Bool {
        if case .note = content { isData } else { true }
    }

    /// The text, or the text with a file; `nil` for other content.
    var plainText: String? {
        switch content {
        case .text(let text): text
        case .file(_, _, let text): text.isEmpty ? nil : text
        case .note: nil
        }
    }

    /// The line of the content that has a text, from a little before the text on; the content on one line if none has it.
    func excerpt(with wanted: String) -> String {
        let wanted = wanted.lowercased()
        guard !wanted.isEmpty, !summary.lowercased().contains(wanted), let plainText else {
            return summary
        }
        let lines = plainText.split(separator: "\n")
        guard let line = lines.first(where: { $0.lowercased().contains(wanted) }) else {
            return summary
        }
        let start = line.lowercased().pieces(between: wanted)[0].count
        let isFar = start > 20
        let part =
            (isFar ? "…" : "")
            + line.dropFirst(isFar ? start - 12 : 0).drop(while: \.isWhitespace)
        let name = if case .file(let name, _, _) = content { name + ": " } else { "" }
        return name + Cells.line(part, limit: 200)
    }

    /// The content on one line.
    var summary: String {
        switch content {
        case .text(let text): Words.said(Cells.line(text, limit: 80))
        case .file(let name, _, _): name
        case .note(let note): "[\(note)]"
        }
    }
}
