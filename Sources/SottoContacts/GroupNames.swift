import Sotto
package import SottoState
import SottoTool

extension AddressBook {
    /// Returns the group that a name or an id means, as ``NameRule`` says, or `nil`. The name is the local one, or the owner's for
    /// the conversation.
    ///
    /// Throws a failure with status 64 if several groups match, for a part of a name that `use` does not permit, and with status 66
    /// for a group that is not here any more.
    package func group(named text: String, for use: NameUse) throws -> StoredGroup? {
        try view { state -> StoredGroup? in
            if let id = GroupID(text), let group = try state.group(id) { return group }
            let known = try state.knownGroups()
            guard let id = try meaning(of: text, among: known, for: use)?.group else { return nil }
            guard let group = try state.group(id) else {
                let names = known.filter { $0.meaning == .group(id) }.map(\.shown)
                throw Failure(NameError.former(text, names))
            }
            return group
        } ?? nil
    }

    /// Returns the group that an argument names. Throws a failure with status 66 if none does.
    package func requiredGroup(_ text: String, for use: NameUse) throws -> StoredGroup {
        guard let group = try group(named: text, for: use) else {
            throw Failure(
                .noInput, "\(text) is not a group", hint: "list the groups: sotto group list")
        }
        return group
    }
}

extension StateTransaction {
    /// Returns the groups with their names.
    fileprivate func knownGroups() throws -> [NameRule.Known] {
        let (headers, names) = (try groupHeaders(), try groupNames())
        let groups = headers.map { header in
            NameRule.Known(
                .group(header.id), id: header.id.description, name: names[header.id] ?? "")
        }
        let here = try groups + namedConversations().filter { $0.meaning.group != nil }
        let conversations = try allConversations().filter { $0.conversation.group != nil }
        return try here + unnamed(conversations, among: here)
    }

    /// Returns the conversations to which the owner gave names.
    fileprivate func namedConversations() throws(StateError) -> [NameRule.Known] {
        try allConversations().compactMap { summary in
            summary.settings.name.map {
                NameRule.Known(summary.conversation, id: summary.conversation.id, name: $0)
            }
        }
    }

    /// Returns the names and ids of people, groups and chats: all that the list of conversations shows.
    package func knownNames() throws -> [NameRule.Known] {
        let conversations = try allConversations()
        let chats = try conversations.compactMap { summary -> NameRule.Known? in
            guard case .chat(let id) = summary.conversation else { return nil }
            // An import can claim any name.
            let name = try summary.isClaimed ? nil : historyEntry(number: summary.last)?.chatName
            return NameRule.Known(summary.conversation, id: id, name: name ?? "")
        }
        let people = try allContacts().map(NameRule.Known.init)
        let known =
            try people + knownGroups() + chats
            + namedConversations().filter { $0.meaning.group == nil }
        return try known + unnamed(conversations, among: known)
    }

    /// Returns the conversations whose person is no contact, or whose group is not here: they have an id and, of a group that has
    /// messages, its former name.
    private func unnamed(
        _ conversations: [ConversationSummary], among known: [NameRule.Known]
    ) throws(StateError) -> [NameRule.Known] {
        let others = Set(conversations.map(\.conversation)).subtracting(known.map(\.meaning))
        return try conversations.filter { others.contains($0.conversation) }.map {
            summary throws(StateError) in
            let conversation = summary.conversation
            let name = conversation == .unknown ? ConversationNames.unknownSender : ""
            guard conversation.group != nil, !summary.isClaimed,
                let last = try historyEntry(number: summary.last), let shown = last.formerGroupName
            else { return NameRule.Known(conversation, id: conversation.id, name: name) }
            return NameRule.Known(
                conversation, id: conversation.id, name: shown, former: last.groupName ?? "")
        }
    }
}

extension NameRule.Known {
    /// Creates the name and id of a contact.
    package init(_ contact: Contact) {
        self.init(.peer(contact.id), id: contact.id.description, name: contact.name)
    }
}

extension Conversation {
    /// The id of the person, the group or the chat, or an empty text.
    fileprivate var id: String {
        switch self {
        case .peer(let id): id.description
        case .group(let id): id.description
        case .chat(let id): id
        case .unknown: ""
        }
    }
}

extension Failure {
    /// The failure for a text that is not a name.
    package init(_ error: NameError) {
        func list(_ names: [String]) -> String {
            names.prefix(8).joined(separator: ", ") + (names.count > 8 ? ", …" : "")
        }
        switch error {
        case .severalBegin(let text, let names):
            self.init(
                .usage, "\(text) is the beginning of several names: \(list(names))",
                hint: "write more of it")
        case .notWhole(let text, let names):
            self.init(
                .usage,
                "\(text) is only the beginning of a name; did you mean \(names.count == 1 ? "" : "one of ")\(list(names))?",
                hint: "write the whole name: nothing is sent or changed for a part of it")
        case .idNotWhole(let text, let ids):
            self.init(
                .usage, "\(text) is only the beginning of \(ids.count == 1 ? "an id" : "ids")",
                hint:
                    "to send or change something, write at least \(NameRule.idLength) characters of it: \(list(ids))"
            )
        case .former(let text, let names):
            self.init(
                .noInput, "\(text) is a group that is not here; its messages are in the history",
                hint: names.first.map { "to read them: sotto history \(shellWord($0))" })
        case .several(let text, let ids):
            self.init(
                .usage, "\(text) is the name of several: \(list(ids))",
                hint: "list the ids: sotto history list")
        }
    }
}
