import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool

/// The options of every subcommand.
struct ComposeOptions: ArgumentGroup {
    @OptionGroup var identity: IdentityOptions

    @OptionGroup var lock: LockOptions

    @OptionGroup var records: RecordOutput

    /// Opens the address book and the history for reading.
    func open() throws -> ComposeContext { try ComposeContext(self) }
}

/// The options of the subcommands with a target.
struct TargetOptions: ArgumentGroup {
    @Option(
        "--with", value: "who",
        help: "The conversation of the target: a contact, an id, or me. Required for -1, -2, ….")
    var with: String?

    @OptionGroup var options: ComposeOptions

    /// Returns the messages that arguments name.
    func targets(_ texts: [String], _ context: ComposeContext) throws -> [Target] {
        let store = try context.history()
        let conversation = try with.map {
            try context.book.conversation($0, for: .acting)
        }
        let lookup = TargetLookup(store: store, conversation: conversation, name: with)
        return try texts.map { try lookup.target($0) }
    }
}

/// The target of a subcommand for one message, with the option ``TargetOptions/with``.
struct OneTarget: ArgumentGroup {
    @OptionGroup var options: TargetOptions

    @Argument("target", help: "The message, such as -1.", values: .any)
    var text: String

    /// Returns the message.
    func target(_ context: ComposeContext) throws -> Target {
        try options.targets([text], context)[0]
    }

    /// Prints the message that refers to the target, for the target's conversation.
    func print(
        _ body: (_ shared: SharedTarget, _ context: ComposeContext) throws -> MessageBody
    ) throws {
        let context = try options.options.open()
        let shared = try SharedTarget(target(context), owner: context.owner)
        try context.print([ComposedMessage(in: shared.conversation, body(shared, context))])
    }
}

/// The address book and the history. A command only reads them.
struct ComposeContext {
    let book: AddressBook
    /// The id of the identity.
    let owner: KeyID

    init(_ options: ComposeOptions) throws {
        // Before text is typed.
        try options.records.check()
        book = AddressBook(options.identity.choice.load, lockTimeout: options.lock.timeout)
        owner = try book.identity().id
    }

    /// Returns the state with the history. Throws a failure with status 66 for an identity without a state.
    func history() throws -> IdentityStore {
        guard let store = try book.store() else {
            throw Failure(
                .noInput, "the history is empty",
                hint: "messages are stored when they are encrypted or decrypted without --stateless"
            )
        }
        return store
    }

    /// Returns the id of a person.
    func recipient(_ who: String) throws -> KeyID { try book.find(who, for: .acting).id }

    /// Returns the id of a person. Throws the failure that `refusal` returns for the name of a group.
    func recipient(
        _ who: String, refusal: (_ group: String) -> Failure
    ) throws -> KeyID {
        do {
            return try recipient(who)
        } catch {
            guard let group = try book.group(named: who, for: .acting) else { throw error }
            let name = try book.view { try $0.shownName(of: group.id) }
            throw refusal(name ?? group.id.short)
        }
    }

    /// Returns the conversation with a person or a group. Throws a failure with status 64 for a chat.
    func conversation(_ who: String) throws -> Conversation {
        let found = try book.conversation(who, for: .acting)
        guard found.peer != nil || found.group != nil else {
            guard found != .unknown else {
                throw Failure(.usage, "messages of unknown senders cannot be answered")
            }
            throw Failure(
                .usage, "\(who) is a chat", hint: "write to it with encrypt and --chat FILE")
        }
        return found
    }

    /// Returns a message for a conversation, or without a recipient for `nil`.
    func message(_ to: Conversation?, _ body: MessageBody) -> ComposedMessage {
        to.map { ComposedMessage(in: $0, body) } ?? ComposedMessage(to: nil, body)
    }

    /// Prints the records of messages.
    func print(_ messages: [ComposedMessage]) throws {
        let output = try Output(path: "-", content: .text)
        for message in messages { try output.writeRecord(message.record) }
        try output.finish()
    }
}
