import Sotto
import SottoState
import SottoTool

/// A message of the history that a new message refers to.
struct Target {
    /// The message as it stands now.
    let view: MessageView
    /// Its present content.
    let body: MessageBody
    /// The id of its envelope.
    let id: String

    var entry: HistoryEntry { view.entry }
}

/// A target that a peer can be told of: both sides have the message, and its author is authenticated.
struct SharedTarget {
    let target: Target
    let author: KeyID
    /// The conversation with a person or a group.
    let conversation: Conversation

    /// Throws ``TargetError`` for a message of a chat or of an unknown sender.
    init(_ target: Target, owner: KeyID) throws(TargetError) {
        if case .chat = target.entry.conversation { throw .inChat }
        conversation = target.entry.conversation
        guard conversation.peer != nil || conversation.group != nil,
            let author = target.entry.author(owner)
        else { throw .unknownSender }
        guard Envelope.isID(target.id) else { throw .foreignID }
        self.target = target
        self.author = author
    }

    /// The reference in a body.
    var reference: MessageTarget { MessageTarget(id: target.id, from: author) }

    /// The maximum length of a quotation in characters.
    static let quotationLength = 160

    /// Returns the member `reply` of a message that replies to this one. In a group that permits no quotations it has no text.
    func quotation(_ store: IdentityStore) throws -> ContentMembers.Reply {
        let group = try conversation.group.flatMap { id in
            try store.preview { try $0.group(id) }
        }
        let text = group?.permitsQuotations ?? true ? quotedText : nil
        return ContentMembers.Reply(reference, text: text)
    }

    /// The beginning of the message's text, or `nil` if it has none or must not outlive the message.
    private var quotedText: String? {
        let text: String?
        switch target.body.kind {
        case .text(let content): text = content
        case .file(let file): text = file.text
        default: text = nil
        }
        guard let text, !text.isEmpty, target.body.content.expires == nil else { return nil }
        let beginning = text.prefix(Self.quotationLength)
        var short = String(beginning)
        let isCut = short.utf8.count < text.utf8.count
        // A character can have any number of scalars.
        while short.utf8.count > BodyLimits.quotation - 3 { short.unicodeScalars.removeLast() }
        return isCut || short.utf8.count < beginning.utf8.count ? short + "…" : short
    }
}

/// Finds the messages that arguments name.
struct TargetLookup {
    let store: IdentityStore
    /// The conversation of `--with`.
    let conversation: Conversation?
    /// The argument of `--with`.
    let name: String?

    /// The highest number of messages to count back.
    private static let farthest = 10_000

    /// Returns the message that an argument names. Throws ``TargetError`` if none does, if several do, or if the message
    /// has no content.
    func target(_ text: String) throws -> Target {
        let entry = try entry(text)
        let view = try store.views(of: [entry])[0]
        guard !entry.isGone, let present = view.body, let id = entry.id else {
            throw TargetError.deleted(text)
        }
        guard let body = try? MessageBody(present, isLocal: true), body.isContent else {
            throw TargetError.notContent(text, present["type"]?.string ?? "")
        }
        return Target(view: view, body: body, id: id)
    }

    private func entry(_ text: String) throws -> HistoryEntry {
        if let back = Self.countBack(text) { return try entry(back: back, text) }
        switch try store.historyEntry(named: text, in: conversation) {
        case .found(let entry): return entry
        case .none: throw TargetError.unknown(text)
        case .several(let entries):
            // A reaction or a receipt cannot be meant.
            let messages = entries.filter { $0.kind == .content }
            guard messages.count != 1 else { return messages[0] }
            throw TargetError.ambiguous(text, (messages.isEmpty ? entries : messages).map(\.id))
        }
    }

    private func entry(back: Int, _ text: String) throws -> HistoryEntry {
        guard let conversation else { throw TargetError.noConversation(text) }
        // Timers and system messages have places too, but are no targets.
        var wanted = min(back, Self.farthest)
        while true {
            let all = try store.lastEntries(conversation: conversation, wanted)
            let entries = all.filter { entry in
                guard let body = entry.record["body"]?.object,
                    let kind = try? MessageBody(body, isLocal: true)
                else { return true }
                return kind.isContent
            }
            if entries.count >= back { return entries[entries.count - back] }
            guard all.count == wanted, wanted < Self.farthest else {
                throw TargetError.tooFar(text, name ?? "", entries.count)
            }
            wanted = min(2 * wanted + 8, Self.farthest)
        }
    }

    /// Returns how many messages back from the end an argument is: 1 for `-1`; `nil` for other arguments.
    static func countBack(_ text: String) -> Int? {
        guard text.hasPrefix("-"), let number = Int(text), number < 0, number > Int.min else {
            return nil
        }
        return -number
    }
}
