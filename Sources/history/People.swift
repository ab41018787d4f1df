import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool

/// The names of people, and the trust in their keys, for messages that are shown together. The state verifies a contact's
/// card at each reading, so each person is read once.
final class People {
    private let history: OpenHistory
    private var known: [KeyID: (name: String, trust: Message.Trust)] = [:]
    /// The contacts who are not blocked, or `nil` before they are read.
    private var contacts: [KeyID]?

    init(_ history: OpenHistory) { self.history = history }

    /// Forgets all people, before messages that are shown later.
    func forget() { (known, contacts) = ([:], nil) }

    /// Returns a person's name, which is the id without a contact, and the trust in the key.
    func person(_ id: KeyID) throws -> (name: String, trust: Message.Trust) {
        if let found = known[id] { return found }
        let isOwn = id == history.store.owner.id
        let trust =
            isOwn ? .verified : try history.store.readableContact(id: id)?.trust ?? .unverified
        let found = (name: try history.name(of: id), trust: trust)
        known[id] = found
        return found
    }

    /// Returns the name of a message's author, or `nil` if they are not authenticated.
    func author(of entry: HistoryEntry) throws -> String? {
        if entry.direction == .sent { return "me" }
        // A message without content has no author in its record.
        if entry.isGone, let author = entry.peer ?? entry.formerAuthor {
            return try person(author).name
        }
        guard let author = entry.author(history.store.owner.id) else { return nil }
        let name = try person(author).name
        return name == author.description ? entry.record["name"]?.string ?? name : name
    }

    /// Returns the name of a message's author for people. A member of a group who is no contact has a nickname, and the
    /// beginning of the id, because members choose their nicknames.
    func label(of entry: HistoryEntry) throws -> String? {
        guard let name = try author(of: entry) else { return nil }
        guard let author = entry.author(history.store.owner.id) ?? entry.formerAuthor,
            name == author.description
        else {
            return name
        }
        return Self.label(of: author, entry.nickname)
    }

    /// Returns the names of members of a group for people, in a sentence.
    func members(_ ids: [KeyID], of group: GroupID?) throws -> String {
        let names = try ids.map { id in
            let name = try person(id).name
            guard name == id.description else { return name }
            let nickname = try history.store.preview { transaction -> String? in
                guard let group, let found = try transaction.readableGroup(group) else {
                    return nil
                }
                return try transaction.memberName(of: id, in: found)
            }
            return nickname.map { "\(Table.cut($0, to: 7)) \(id.short)…" } ?? "\(id.short)…"
        }
        return sentence(of: names) ?? ""
    }

    /// Returns the reactions to a message with the names of their authors for people.
    func reactions(to view: MessageView) throws -> [(emoji: String, name: String)] {
        try view.reactions.map { reaction in
            guard let from = reaction.from else { return (reaction.emoji, "?") }
            let name = try person(from).name
            return (
                reaction.emoji,
                name == from.description ? Self.label(of: from, reaction.nickname) : name
            )
        }
    }

    /// Returns how many readers of an own message to a group can answer with a receipt, or `nil` before the first one. A member sends
    /// receipts to contacts only, so the members count who are contacts here too, and those who answered.
    func answering(_ view: MessageView) throws -> Int? {
        guard !view.receipts.isEmpty else { return nil }
        let people = try contacts ?? history.store.contacts().filter { !$0.isBlocked }.map(\.id)
        contacts = people
        return history.store.answeringReaders(of: view, among: people)
    }

    /// Returns the words for the origin of a forwarded message, or `nil`.
    func origin(of view: MessageView) throws -> String? {
        try view.body.flatMap { body in
            try ForwardedWords.of(body) { id in
                let name = try person(id).name
                return name == id.description ? nil : name
            }
        }
    }

    /// Returns a label of at most 16 columns, or the id without a nickname.
    private static func label(of id: KeyID, _ nickname: String?) -> String {
        guard let nickname else { return id.description }
        return "\(Table.cut(nickname, to: 7)) \(id.description.prefix(8))"
    }
}

extension MessageView {
    /// The marks that follow a message for people. `reactions` have the names of their authors, `forwarded` are the words for the
    /// origin of a forwarded message, and `answering` is ``People/answering(_:)``. `isRepeated` tells that a message which no relay
    /// got is on its way again.
    func marks(
        _ reactions: [(emoji: String, name: String)], forwarded: String?, answering: Int?,
        isRepeated: Bool = false
    ) -> [String] {
        var marks: [String] = []
        if entry.isImported { marks.append("imported") }
        if entry.isUnauthenticated { marks.append("not authenticated") }
        if entry.record["details"]?.object?["group"]?.object?["late"]?.bool == true {
            marks.append("late")
        }
        if let forwarded { marks.append(forwarded) }
        if isEdited { marks.append("edited") }
        if pin != nil { marks.append("pinned") }
        marks += reactions.map { "\($0.emoji) \($0.name)" }
        let count = dropped.reduce(0) { $0 + $1.count }
        if count > 0 { marks.append("\(count) earlier changes dropped") }
        if hasExpiredFile() {
            let isSent = entry.direction == .sent
            marks.append(isSent ? "file no longer at the relay" : "file expired")
        }
        if let answering { marks.append(progress(of: answering)) }
        guard entry.direction == .sent else { return marks }
        switch entry.state {
        case .delivered where entry.readerCount == nil: marks.append("delivered")
        case .read where entry.readerCount == nil: marks.append("read")
        case .handedOn: marks.append("handed on")
        case let state:
            if !isRepeated, let reason = state.failureReason {
                marks.append("not sent: \(reason.words)")
            }
        }
        return marks
    }

    /// Whether the author forwarded the message, as the author says.
    var isForwarded: Bool {
        parsedBody?.content.forwarded != nil
    }

    /// Returns the number of readers who have an own message to a group, of those who can tell it.
    private func progress(of count: Int) -> String {
        let read = receipts.count { $0.status == .read }
        return read > 0
            ? "read by \(read) of \(count)" : "delivered to \(receipts.count) of \(count)"
    }

    /// The line for a message without content.
    var placeholder: String { "message \(entry.state.goneName ?? "deleted")" }
}

extension HistoryEntry.State.FailureReason {
    /// The reason in words.
    var words: String {
        switch self {
        case .dropped: "dropped from the outbox"
        case .expired: "its time to live ended in the outbox"
        case .refused: "refused by the relay"
        }
    }
}
