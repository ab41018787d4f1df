import Arguments
import Sotto
import SottoMessages
import SottoState
import SottoTool

/// `compose react`: an emoji for a message.
struct ReactCommand: Program {
    static let configuration = CommandConfiguration(
        name: "react",
        abstract: "Write a reaction. The same emoji again removes it, and another replaces it.",
        usage: "sotto compose react [--with WHO] TARGET EMOJI")

    @OptionGroup var target: OneTarget

    @Argument("emoji", help: "One emoji.")
    var emoji: String

    func execute() throws {
        let emoji = emoji.filter { !$0.isWhitespace }
        guard Emoji.isEmoji(emoji) else { throw TargetError.notEmoji }
        try target.print { shared, context in
            let own = shared.target.view.reactions.first { $0.from == context.owner }
            let isSame = own.map { Emoji.areSame($0.emoji, emoji) } ?? false
            return MessageBody(.reaction(shared.reference, emoji: isSame ? "" : emoji))
        }
    }
}

/// `compose delete`: deletes own messages for both sides.
struct DeleteCommand: Program {
    static let configuration = CommandConfiguration(
        name: "delete", abstract: "Delete your own messages here and on the other side.",
        usage: "sotto compose delete [--with WHO] TARGET ...",
        discussion: "To delete a message only here: sotto history delete")

    @OptionGroup var target: TargetOptions

    @Argument("target", help: "Your messages, such as -1.", values: .any)
    var texts: [String]

    func execute() throws {
        let context = try target.options.open()
        let messages = try target.targets(texts, context).map { target in
            let shared = try SharedTarget(target, owner: context.owner)
            // In a group, encrypt checks the rank.
            guard shared.author == context.owner || shared.conversation.group != nil else {
                throw TargetError.deletionOfAnother(target.id)
            }
            return ComposedMessage(in: shared.conversation, MessageBody(.delete(shared.reference)))
        }
        try context.print(messages)
    }
}

/// `compose pin`: pins a message for both sides.
struct PinCommand: Program {
    static let configuration = CommandConfiguration(
        name: "pin", abstract: "Pin a message for both sides.",
        usage: "sotto compose pin [--until TIME] [--with WHO] TARGET",
        discussion: "sotto history --pinned prints the pinned messages.")

    @Option("--until", value: "time", help: "End of the pin, such as \"2026-12-24 18:00\".")
    var until: Timestamp?

    @OptionGroup var target: OneTarget

    func validate() throws {
        guard until.map({ $0 > .now() }) ?? true else {
            throw UsageError("--until must be in the future")
        }
    }

    func execute() throws {
        try target.print { shared, _ in MessageBody(.pin(shared.reference, until: until)) }
    }
}

/// `compose unpin`: removes a pin.
struct UnpinCommand: Program {
    static let configuration = CommandConfiguration(
        name: "unpin", abstract: "Remove the pin of a message for both sides.",
        usage: "sotto compose unpin [--with WHO] TARGET")

    @OptionGroup var target: OneTarget

    func execute() throws {
        try target.print { shared, _ in MessageBody(.unpin(shared.reference)) }
    }
}

/// `compose forward`: a message again, for others.
struct ForwardCommand: Program {
    static let configuration = CommandConfiguration(
        name: "forward", abstract: "Write a message again for other recipients.",
        usage: "sotto compose forward [--with WHO] TARGET --to WHO [--to WHO ...]",
        discussion: """
            The present content of the message is written, with the id of its first author and its time as a claim \
            of yours. It is no reply and mentions no one any more.
            """)

    @Option("--to", value: "who", help: "A recipient: a contact, an id, or me; may be repeated.")
    var to: [String] = []

    @OptionGroup var target: OneTarget

    func validate() throws {
        guard !to.isEmpty else { throw UsageError("no recipient is given: --to WHO") }
    }

    func execute() throws {
        let context = try target.options.options.open()
        let target = try target.target(context)
        let recipients = try to.map { try context.conversation($0) }
        let body = try forwarded(target, owner: context.owner)
        try context.print(recipients.map { ComposedMessage(in: $0, body) })
    }

    private func forwarded(_ target: Target, owner: KeyID) throws -> MessageBody {
        guard target.entry.record["ttl"]?.integer != 0 else { throw TargetError.notForwardable }
        switch target.body.kind {
        case .text, .data, .file: break
        default: throw TargetError.unsupported
        }
        let origin =
            target.body.content.forwarded
            ?? ContentMembers.Forwarded(
                from: target.entry.author(owner), time: target.entry.time)
        return MessageBody(
            target.body.kind,
            ContentMembers(forwarded: origin, expires: target.body.content.expires))
    }
}
