import Arguments
import Sotto
import SottoContacts
import SottoMessages
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
    private let outbox: Outbox?
    private let lockTimeout: Double
    private let names: ConversationNames

    init(_ options: HistoryOptions) throws {
        book = AddressBook(options.identity.choice.load, lockTimeout: options.lock.timeout)
        quiet = options.quiet
        lockTimeout = options.lock.timeout
        _ = try book.identity()
        guard let store = try book.store() else {
            throw Failure(.no, options.quiet ? "" : "the history is empty")
        }
        self.store = store
        names = ConversationNames(store: store)
        if let directory = try StateDirectory.existing(), Outbox.exists(in: directory) {
            let outbox = try Outbox(directory: directory, lockTimeout: options.lock.timeout)
            try store.collectOutcomes(from: outbox)
            self.outbox = outbox
        } else {
            outbox = nil
        }
    }

    /// Takes what `send` did with messages from the outbox, which it can have made since.
    func collectOutcomes() throws {
        guard let directory = try StateDirectory.existing(), Outbox.exists(in: directory) else {
            return
        }
        let outbox = try outbox ?? Outbox(directory: directory, lockTimeout: lockTimeout)
        try store.collectOutcomes(from: outbox)
    }

    /// Returns the ways of those of some messages that wait in the outbox or did not reach it, by their numbers.
    func departures(of entries: [HistoryEntry]) throws -> [Int64: Departure] {
        try store.departures(of: entries, in: outbox)
    }

    /// Returns the own messages and events that reached no outbox, that the relay refused, or that members of a group lack, the oldest
    /// first; with `all` also those whose envelopes were handed on or ended in the outbox.
    func unsent(in conversation: Conversation?, all: Bool) throws -> [HistoryEntry] {
        try store.unsent(in: conversation, all: all, outbox: outbox)
    }

    /// Whether envelopes wait in the outbox.
    func hasQueuedMail() throws -> Bool {
        try outbox?.list().contains { $0.kind == .envelope } ?? false
    }

    /// The failure for a result without a message.
    func nothing(_ text: String) -> Failure { Failure(.no, quiet ? "" : text) }

    /// Returns the conversation that an argument names.
    func conversation(_ who: String, for use: NameUse) throws -> Conversation {
        try book.conversation(who, for: use)
    }

    /// Returns the displayed name of a conversation.
    func name(of summary: ConversationSummary) throws -> String { try names.name(of: summary) }

    /// Returns the displayed name of a person.
    func name(of peer: KeyID) throws -> String { try names.name(of: peer) }
}
