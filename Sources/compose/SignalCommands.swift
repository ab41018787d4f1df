import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool

/// `compose read`: receipts for messages that were read.
struct ReadCommand: Program {
    static let configuration = CommandConfiguration(
        name: "read",
        abstract: "Write receipts: the messages were read.",
        usage: """
            sotto compose read [--with WHO] TARGET ...
            sotto compose read WHO
            """,
        discussion: """
            With WHO, for all unread messages of a conversation. Nothing is marked as read here; sotto history read \
            does both. A contact gets receipts only with receipts=on (contact set), and for messages of a group only \
            if it has at most 20 members.
            """)

    @OptionGroup var target: TargetOptions

    @Argument(
        "target", help: "Messages, such as -1, or a contact, an id, me or a group.", values: .any)
    var texts: [String]

    func execute() throws {
        let context = try target.options.open()
        let store = try context.history()
        var receipts = Receipts(.read, store)
        var refused: KeyID?
        for entry in try entries(context, store) {
            guard let author = entry.author(context.owner), entry.direction == .received else {
                throw TargetError.receiptForOwn
            }
            if try !receipts.areSent(to: author) { refused = author }
            try receipts.add(entry)
        }
        let messages = receipts.messages
        if messages.isEmpty, let refused { throw try SignalsOff.receipts.failure(refused, store) }
        try context.print(messages)
        guard !messages.isEmpty else { throw Failure(.no, "no message needs a receipt") }
    }

    private func entries(
        _ context: ComposeContext, _ store: IdentityStore
    ) throws -> [HistoryEntry] {
        if texts.count == 1, target.with == nil,
            let conversation = try conversation(texts[0], context)
        {
            return try store.unread(in: conversation)
        }
        return try target.targets(texts, context).map { target in
            _ = try SharedTarget(target, owner: context.owner)
            return target.entry
        }
    }

    /// Returns the conversation that an argument names, or `nil` for the id of a message.
    private func conversation(_ text: String, _ context: ComposeContext) throws -> Conversation? {
        guard TargetLookup.countBack(text) == nil, !Envelope.isID(text.lowercased()) else {
            return nil
        }
        if let person = try context.book.lookUp(text, for: .acting)?.id { return .peer(person) }
        return try context.book.group(named: text, for: .acting).map { .group($0.id) }
    }
}

/// `compose typing`: a signal that the user types.
struct TypingCommand: Program {
    static let configuration = CommandConfiguration(
        name: "typing", abstract: "Write a signal that you type.",
        usage: "sotto compose typing [--stop] WHO",
        discussion: """
            The other side shows it for 12 seconds, or until your next message. It is not stored anywhere: encrypt gives it a time to live of 0. \
            A contact gets it only with typing=on (contact set). For a group, these contacts among the members get it.
            """)

    @Flag("--stop", help: "You stopped.")
    var stop = false

    @OptionGroup var options: ComposeOptions

    @Argument("who", help: "The contact, or the group.")
    var who: String

    func execute() throws {
        let context = try options.open()
        if let group = try context.group(who) {
            return try context.print(body(group.id), toMembersOf: group)
        }
        try context.print(body(nil), to: who, of: .typing) { $0.getsTyping }
    }

    private func body(_ group: GroupID?) -> MessageBody {
        MessageBody(.typing(stop ? .stopped : .started, group: group?.description))
    }
}

/// `compose presence`: a signal that the user is online.
struct PresenceCommand: Program {
    static let configuration = CommandConfiguration(
        name: "presence", abstract: "Write a signal that you are online.",
        usage: "sotto compose presence [--offline] WHO",
        discussion: """
            The other side shows it for 60 seconds, so a program that stays online repeats it. It is not stored \
            anywhere: encrypt gives it a time to live of 0. A contact gets it only with presence=on (contact set).
            """)

    @Flag("--offline", help: "You are no longer online.")
    var offline = false

    @OptionGroup var options: ComposeOptions

    @Argument("who", help: "The contact.")
    var who: String

    func execute() throws {
        let body = MessageBody(.presence(offline ? .offline : .online, group: nil))
        try options.open().print(body, to: who, of: .presence) { $0.getsPresence }
    }
}

extension ComposeContext {
    /// Prints a signal for a contact. Throws a failure with status 1 if the contact does not get it.
    fileprivate func print(
        _ body: MessageBody, to who: String, of kind: SignalsOff, isOn: (Contact) -> Bool
    ) throws {
        let to = try recipient(who) { group in
            Failure(
                .usage,
                "\(group) is a group, and \(kind.rawValue) signals are sent to contacts only")
        }
        guard let contact = try book.store()?.contact(id: to), isOn(contact), !contact.isBlocked
        else { throw try kind.failure(to, book.store()) }
        try print([ComposedMessage(to: to, body)])
    }

    /// Returns the group with this name or id, unless it is that of a person.
    fileprivate func group(_ who: String) throws -> StoredGroup? {
        guard try book.lookUp(who, for: .acting) == nil else { return nil }
        return try book.group(named: who, for: .acting)
    }

    /// Prints a typing signal for the contacts among the members who get such signals. Throws a failure with status 1 if none does.
    fileprivate func print(_ body: MessageBody, toMembersOf group: StoredGroup) throws {
        let store = try history()
        let members = group.standing == .member ? group.members.map(\.id) : []
        let readers = try members.filter { member in
            guard member != owner, let contact = try store.contact(id: member) else {
                return false
            }
            return contact.getsTyping && !contact.isBlocked
        }
        guard !readers.isEmpty else {
            let name = try store.preview { try $0.shownName(of: group.id) }
            throw Failure(.no, "no member of \(name) gets typing signals")
        }
        try print(readers.map { ComposedMessage(to: $0, body) })
    }
}

/// A kind of signal that a contact does not get.
private enum SignalsOff: String {
    case receipts, typing, presence

    func failure(_ id: KeyID, _ store: IdentityStore?) throws -> Failure {
        let what = self == .receipts ? "receipts" : "\(rawValue) signals"
        let contact = try store?.contact(id: id)
        guard let contact, !contact.name.isEmpty, !contact.isBlocked else {
            return Failure(.no, "only a contact that is not blocked gets \(what)")
        }
        let name = contact.name
        return Failure(
            .no, "\(name) gets no \(what)",
            hint: "allow it: sotto contact set \(shellWord(name)) \(rawValue)=on")
    }
}

/// `compose timer`: the lifetime of the following messages.
struct TimerCommand: Program {
    static let configuration = CommandConfiguration(
        name: "timer",
        abstract: "Set the time after which the following messages of a conversation are deleted.",
        usage: "sotto compose timer WHO DURATION",
        discussion: "DURATION is off, or a number with s, m, h, d or w: 30s, 1h, 7d, 4w.")

    @OptionGroup var options: ComposeOptions

    @Argument("who", help: "The other side: a contact, an id, or me.")
    var who: String

    @Argument("duration", help: "Such as 1h or 1w, at most 365d; or off.")
    var duration: Lifetime

    func execute() throws {
        let context = try options.open()
        let to = try context.recipient(who) { group in
            Failure(
                .usage, "\(group) is a group, and its timer is one of its settings",
                hint:
                    "set it: sotto group timer \(shellWord(group)) \(duration) | sotto encrypt | sotto send"
            )
        }
        try context.print([
            ComposedMessage(to: to, MessageBody(.timer(seconds: duration.seconds)))
        ])
    }
}
