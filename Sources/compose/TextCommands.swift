import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool

/// Reads standard input as the content of a message: a text, or data if it is not UTF-8.
private func readContent() throws -> MessageBody {
    guard case .message(let message) = try MessageText.readWhole(Input(path: nil)) else {
        throw SealedError.tooLong(limit: Sealed.recordLimit)
    }
    return try MessageBody(message.body)
}

/// `compose text`: a new message.
struct TextCommand: Program {
    static let configuration = CommandConfiguration(
        name: "text", abstract: "Write a message with the text of standard input.",
        usage: "sotto compose text [WHO]",
        discussion: "Without WHO the record names no recipient: use encrypt --jsonl --to CARD.")

    @OptionGroup var options: ComposeOptions

    @Argument("who", help: "The recipient: a contact, an id, or me.")
    var who: String?

    func execute() throws {
        let context = try options.open()
        let to = try who.map { try context.conversation($0) }
        try context.print([context.message(to, readContent())])
    }
}

/// `compose reply`: a message that quotes another.
struct ReplyCommand: Program {
    static let configuration = CommandConfiguration(
        name: "reply",
        abstract: "Write a message with the text of standard input that replies to another.",
        usage: "sotto compose reply [--with WHO] TARGET",
        discussion: """
            The reply quotes the first \(SharedTarget.quotationLength) characters of the message. A message that is deleted after \
            some time is not quoted, and in a group with the visibility granted no message is.
            """)

    @OptionGroup var target: OneTarget

    func execute() throws {
        try target.print { shared, context in
            var body = try readContent()
            body.content.reply = try shared.quotation(context.history())
            return body
        }
    }
}

/// `compose edit`: new content for an own message.
struct EditCommand: Program {
    static let configuration = CommandConfiguration(
        name: "edit", abstract: "Replace the text of your own message by standard input.",
        usage: "sotto compose edit [--with WHO] TARGET",
        discussion: "The other side keeps the earlier versions, and history show prints them.")

    @OptionGroup var target: OneTarget

    func execute() throws {
        try target.print { shared, context in
            guard shared.author == context.owner else { throw TargetError.editOfAnother }
            return MessageBody(.edit(shared.reference, try edited(shared.target, readContent())))
        }
    }

    /// Returns the message with another text. The rest of it, such as a file, stays as it was.
    private func edited(_ target: Target, _ new: MessageBody) throws -> MessageBody {
        guard case .text(let text) = new.kind else {
            guard case .data = target.body.kind else {
                throw Failure(.malformed, "the new text is not UTF-8")
            }
            return MessageBody(new.kind, target.body.content)
        }
        if case .data = target.body.kind { return MessageBody(new.kind, target.body.content) }
        guard var record = target.view.body else { throw TargetError.deleted(self.target.text) }
        record["text"] = .string(text)
        return try MessageBody(record)
    }
}
