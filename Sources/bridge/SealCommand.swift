import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoMessengers
import SottoTool

struct SealCommand: Program {
    static let configuration = CommandConfiguration(
        name: "seal",
        abstract: "Encrypt messages to a messenger's own records.",
        usage: """
            sotto bridge seal whisper2|mercurio --to CARD [--to CARD ...] [--jsonl] [-o FILE] [FILE]
            sotto bridge seal whisper2 --group NAME [--group-id ID] [--jsonl] [-o FILE] [FILE]
            sotto bridge seal kecalek|flow --to CARD [--user-id ID] [--jsonl] [-o FILE] [FILE]
            sotto bridge seal shainy --chat CHAT --show-secret [--jsonl] [-o FILE] [FILE]
            sotto bridge seal shainy --public-channel [FILE]
            """,
        discussion: """
            The input is one message, or with --jsonl one on each line. CARD is a contact, a card file or a whisper2: URL. \
            kecalek and flow write a message of a session with X3DH, which is not post-quantum: kecalek the encrypted \
            payload alone, flow the record new_message of Message Flow.

            EXAMPLES
              echo 'hello, bob' | sotto bridge seal whisper2 --to bob > record.json
              echo 'friday at 6?' | sotto bridge seal whisper2 --group climbing > record.json
              sotto bridge seal whisper2 --to bob --attach photo.jpg --blob photo.bin < caption.txt
              sotto bridge seal flow --to bob --user-id alice < text
            """)

    @Option(
        "--to", value: "card",
        help: "Encrypt the message to this contact or card; may be repeated, one record each.")
    var to: [String] = []

    @Flag(
        "--jsonl",
        help:
            "Each line is a message: a JSON record with a body or text, or plain text if it does not begin with {."
    )
    var jsonl = false

    @Option(
        "--chat", value: "chat",
        help: "shainy: the chat in this file of bridge chat, or the stored chat with this name.")
    var chat: String?

    @Flag("--gcm", help: "shainy: write the app's GCM format instead of the documented CBC.")
    var gcm = false

    @Flag(
        "--no-hash",
        help:
            "shainy: write a zero hash of the text; only recipients that do not check it accept that."
    )
    var hidesHash = false

    @Flag("--public-channel", help: "shainy: write to the public channel, whose phrase is public.")
    var publicChannel = false

    @Flag(
        "--show-secret",
        help: "shainy: allow printing the chat's key, which is the id in the app's format.")
    var showSecret = false

    @Option(
        "--whisper-id", value: "wsp-id",
        help: "whisper2: your account. Default: the one in the identity file.")
    var whisperID: WhisperID?

    @Option(
        "--group", value: "name",
        help: "whisper2: the group whose members with an account there get the message.")
    var group: String?

    @Option(
        "--group-id", value: "id",
        help:
            "whisper2: the id of the group in Whisper2, for all --to recipients. Default with --group: the id of that group."
    )
    var groupID: String?

    @Option("--user-id", value: "id", help: "flow: your name in Message Flow. Default: your id.")
    var userID: String?

    @OptionGroup var attachment: AttachmentOptions

    @OptionGroup var session: SessionOptions

    @Flag("--classic", help: "kecalek, flow: begin a session, which is not post-quantum.")
    var classic = false

    @Option(
        "--trust", value: "policy",
        help:
            "Encrypt only to these keys: any, first-use (contacts) or verified (compared contacts)."
    )
    var trust: TrustPolicy?

    @Flag(
        "--snake-case",
        help: "mercurio: write the members as in the app's database, such as encrypted_content.")
    var snakeCase = false

    @Flag("--stateless", help: "Use no contacts and no history; not for kecalek and flow.")
    var stateless = false

    @OptionGroup var lock: LockOptions

    @OptionGroup var identity: IdentityOptions

    @Option("-o", "--output", value: "file", help: "Write to this file; `-` is stdout.")
    var output: String?

    @Flag("-q", "--quiet", help: "Print no notes on stderr.")
    var quiet = false

    @Argument("format", help: "The format: shainy, whisper2, mercurio, kecalek or flow.")
    var format: BridgeFormat

    @Argument("file", help: "Input file; `-` is stdin, the default.")
    var file: String?

    let given = GivenArguments()

    func checkMode() throws {
        try given.check(for: SealMode(format, isPublic: publicChannel, isGroup: group != nil))
    }

    func execute() throws {
        try AddressBook.withFiles(
            stateless ? [] : [file], identity.choice, lockTimeout: lock.timeout,
            hint: { $0.isGroup ? "no messenger has this group" : "give the contact with --to" },
            { try SealPlan(self).run() })
    }
}
