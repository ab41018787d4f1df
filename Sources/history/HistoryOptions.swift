import Arguments
import Sotto
import SottoContacts
import SottoState
import SottoTool

/// The options of every subcommand.
struct HistoryOptions: ArgumentGroup {
    @OptionGroup var identity: IdentityOptions

    @OptionGroup var lock: LockOptions

    @Flag("-q", "--quiet", help: "Print no notes on stderr.")
    var quiet = false

    /// Opens the history. Throws a failure with status 1 if the identity has no state.
    func open() throws -> OpenHistory { try OpenHistory(self) }
}

/// The history that a command works on.
struct OpenHistory {
    let book: AddressBook
    let store: IdentityStore
    let quiet: Bool

    init(_ options: HistoryOptions) throws {
        book = AddressBook({ try options.identity.load() }, lockTimeout: options.lock.timeout)
        quiet = options.quiet
        _ = try book.identity()
        guard let store = try book.store() else {
            throw Failure(.no, options.quiet ? "" : "the history is empty")
        }
        self.store = store
        if let directory = try StateDirectory.existing(), Outbox.exists(in: directory) {
            try store.collectOutcomes(
                from: Outbox(directory: directory, lockTimeout: options.lock.timeout))
        }
    }

    /// The failure for a result without a message.
    func nothing(_ text: String) -> Failure { Failure(.no, quiet ? "" : text) }

    /// Returns the conversation that an argument names: a chat or another conversation by its name or its id, else a
    /// person.
    func conversation(_ who: String) throws -> Conversation {
        let wanted = who.lowercased()
        let named = try store.conversations().filter { summary in
            // The name of a contact is looked up by the address book.
            if summary.conversation.peer != nil, summary.settings.name == nil { return false }
            if case .chat(let id) = summary.conversation, id == wanted { return true }
            return try name(of: summary).lowercased() == wanted
        }
        guard named.count < 2 else {
            throw Failure(
                .usage, "\(who) is the name of several conversations",
                hint: "list the ids: sotto history list")
        }
        return try named.first?.conversation ?? .peer(book.find(who).id)
    }

    /// Returns the displayed name of a conversation.
    func name(of summary: ConversationSummary) throws -> String {
        if let name = summary.settings.name { return name }
        switch summary.conversation {
        case .peer(let peer): return try name(of: peer)
        case .chat(let id):
            let last = try store.historyEntry(number: summary.last)
            return last?.chatName ?? id
        case .unknown: return "unknown sender"
        }
    }

    /// Returns the displayed name of a person.
    func name(of peer: SessionID) throws -> String {
        if peer == store.owner.id { return "me" }
        let name = try store.contact(id: peer)?.name ?? ""
        return name.isEmpty ? peer.description : name
    }
}

extension HistoryEntry {
    /// The chat's name as it was when the message was stored.
    var chatName: String? { record["details"]?.object?["chat"]?.object?["name"]?.string }
}
