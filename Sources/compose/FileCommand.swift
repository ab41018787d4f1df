import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool

/// `compose file`: a message with a file.
struct FileCommand: Program {
    static let configuration = CommandConfiguration(
        name: "file", abstract: "Write a message with a file. Its text is standard input.",
        usage: """
            sotto compose file PATH [WHO]
            sotto compose file --reply TARGET [--with WHO] PATH
            """,
        discussion: """
            The file is encrypted and stored in the state for 30 days, for each recipient of the record. The text may be \
            empty.
            """)

    @OptionGroup var target: TargetOptions

    @OptionGroup var description: AttachmentDescription

    @Option(
        "--reply", value: "target", help: "The message that this one replies to, such as -1.",
        values: .any)
    var reply: String?

    @Flag(
        "--anyway",
        help: "Take the file all the same if it is a secret key, an identity or recovery words.")
    var anyway = false

    @Flag("-q", "--quiet", help: "Print no notes on stderr.")
    var quiet = false

    @Argument("path", help: "The file; `-` is stdin, and the message has no text.")
    var path: String

    @Argument("who", help: "The recipient: a contact, an id, or me.")
    var who: String?

    func execute() throws {
        try AddressBook.withFiles(
            [path], target.options.identity.choice, lockTimeout: target.options.lock.timeout,
            hint: { "give the file first, then the \($0.isGroup ? "group" : "contact")" },
            { try write() })
    }

    private func write() throws {
        try description.check([path], option: "file")
        guard who == nil || reply == nil else {
            throw UsageError("a reply goes to the conversation of its target, so WHO is not used")
        }
        guard target.with == nil || reply != nil else {
            throw UsageError("--with requires --reply")
        }
        let context = try target.options.open()
        let shared = try reply.map {
            try SharedTarget(target.targets([$0], context)[0], owner: context.owner)
        }
        let to = try shared?.conversation ?? who.map { try context.conversation($0) }
        let text = try path == "-" ? "" : readText()
        let folder = try BlobFolder(directory: .standard())
        let attachment = Attachment(
            description.file(path, allowsSecrets: anyway), blob: folder.new(), uploads: nil,
            announcer: quiet ? nil : ComposeTool.toolName, form: .chunks(nil))
        var body = try MessageBody(attachment.message(text: text).body)
        if let shared { body.content.reply = try shared.quotation(context.history()) }
        try attachment.finish()
        guard case .file(let file) = body.kind, let blob = file.blob else {
            throw Failure(.bug, "the message has no blob")
        }
        try folder.keep(attachment.blob, digest: blob.digest)
        try context.print([context.message(to, body)])
    }

    /// Reads standard input as the text that accompanies the file.
    private func readText() throws -> String {
        guard
            case .message(let message) = try MessageText.readWhole(
                Input(path: nil), mayBeEmpty: true)
        else { throw SealedError.tooLong(limit: Sealed.recordLimit) }
        guard let text = message.body["text"]?.string else {
            throw Failure(.malformed, "the text that accompanies the file is not UTF-8")
        }
        return text
    }
}
