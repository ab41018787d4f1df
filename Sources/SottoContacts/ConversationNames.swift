package import Sotto
package import SottoState
import SottoTool

/// The names of conversations on the command line and in the output.
package struct ConversationNames {
    private let book: AddressBook
    private let store: IdentityStore

    package init(book: AddressBook, store: IdentityStore) {
        self.book = book
        self.store = store
    }

    /// Returns the conversation that an argument names: a chat or another conversation by its name or its id, else a
    /// person.
    package func conversation(_ who: String) throws -> Conversation {
        let wanted = who.lowercased()
        let named = try store.conversations().filter { summary in
            // The name of a contact is looked up by the address book.
            if summary.conversation.peer != nil, summary.settings.name == nil { return false }
            if case .chat(let id) = summary.conversation, id == wanted { return true }
            // A group is looked up by the groups of the state.
            if summary.conversation.group != nil, summary.settings.name == nil { return false }
            return try name(of: summary).lowercased() == wanted
        }
        guard named.count < 2 else {
            throw Failure(
                .usage, "\(who) is the name of several conversations",
                hint: "list the ids: sotto history list")
        }
        if let conversation = named.first?.conversation { return conversation }
        if let group = try book.group(named: who) { return .group(group.id) }
        return .peer(try book.find(who).id)
    }

    /// Returns the displayed name of a conversation.
    package func name(of summary: ConversationSummary) throws -> String {
        if let name = summary.settings.name { return name }
        switch summary.conversation {
        case .peer(let peer): return try name(of: peer)
        case .chat(let id):
            let last = try store.historyEntry(number: summary.last)
            return last?.chatName ?? id
        case .group(let id):
            let name = try store.preview { try $0.readableGroup(id)?.name } ?? ""
            return name.isEmpty ? String(id.description.prefix(16)) : name
        case .unknown: return "unknown sender"
        }
    }

    /// Returns the displayed name of a person.
    package func name(of peer: SessionID) throws -> String {
        if peer == store.owner.id { return "me" }
        let name = try store.readableContact(id: peer)?.name ?? ""
        return name.isEmpty ? peer.description : name
    }
}

extension HistoryEntry {
    /// The chat's name as it was when the message was stored.
    package var chatName: String? {
        record["details"]?.object?["chat"]?.object?["name"]?.string
    }
}
