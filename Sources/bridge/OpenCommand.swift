import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoMessengers
import SottoTool

struct OpenCommand: Program {
    static let configuration = CommandConfiguration(
        name: "open",
        abstract: "Open a messenger's own records into message records.",
        usage: """
            sotto bridge open FORMAT [-i FILE] [--from CARD] [--text] [-o FILE] [FILE]
            sotto bridge open shainy [--chat CHAT] [--text] [FILE]
            sotto bridge open flow|kecalek [--ack FILE [--read]] [--from CARD] [FILE]
            sotto bridge open kecalek --own-copy [FILE]
            sotto bridge open whisper2 --attachment RECORD -o FILE BLOB
            """,
        discussion: """
            Each line is a record of the messenger. The output is that of decrypt: one message record for each line, or \
            with --text only texts. flow and kecalek read each other's records, and the answer to a poll of Message Flow.

            EXAMPLES
              sotto bridge open whisper2 --text answer.json
              sotto bridge open mercurio --oaep-sha1 rows.jsonl
              sotto contact accept bob | sotto bridge open whisper2
            """)

    @OptionGroup var identity: IdentityListOptions

    @OptionGroup var senders: SenderOptions

    @OptionGroup var form: TextOptions

    @Option(
        "--chat", value: "chat",
        help: "shainy: the chat in this file; may be repeated. Stored chats are always known.")
    var chat: [String] = []

    @Flag(
        "--allow-unverified",
        help: "Treat messages without an authenticated sender as success; they are still marked.")
    var allowUnverified = false

    @Flag(
        "--allow-hidden-hash",
        help: "shainy: open texts with a zero hash, as written by bridge seal --no-hash.")
    var allowHiddenHash = false

    @Option(
        "--max-skew", value: "seconds",
        help: "whisper2: refuse messages whose signed time differs from now by more than this.")
    var maxSkew: Int?

    @Option(
        "--whisper-id", value: "wsp-id",
        help: "whisper2: your account. Default: the one in the identity file.")
    var whisperID: WhisperID?

    @Flag(
        "--details",
        help:
            "shainy, whisper2, mercurio: add the ciphertext of each record, with its hash or signature, to the output."
    )
    var details = false

    @Flag("--oaep-sha1", help: "mercurio: the keys are wrapped with SHA-1, as by an old client.")
    var oaepSHA1 = false

    @Option(
        "--attachment", value: "record",
        help:
            "whisper2: decrypt the input, an attachment, with the key in this message record, or in the message with this number."
    )
    var attachment: String?

    @Flag(
        "--own-copy",
        help:
            "kecalek: each line is the base64 of a copy that Kecalek encrypted to your own identity key."
    )
    var ownCopy = false

    @Option(
        "--ack", value: "file",
        help: "flow: append an acknowledgement of each message to this file.")
    var ack: String?

    @Flag(
        "--read",
        help: "flow: with --ack, acknowledge opened messages as read instead of delivered.")
    var read = false

    @Flag(
        "--preview",
        help: "Print messages without changing the state, as if they had not been opened.")
    var preview = false

    @Flag("--stateless", help: "Do not record opened messages: replays are not detected.")
    var stateless = false

    @OptionGroup var lock: LockOptions

    @Option(
        "-o", "--output", value: "file",
        help: "Write to this file, which is created only when complete; `-` is stdout.")
    var output: String?

    @Flag("-q", "--quiet", help: "Print no notes on stderr.")
    var quiet = false

    @Argument("format", help: "The format: shainy, whisper2, mercurio, kecalek or flow.")
    var format: BridgeFormat

    @Argument("file", help: "Input file; `-` is stdin, the default.")
    var file: String?

    let given = GivenArguments()

    func checkMode() throws {
        try given.check(
            for: OpenMode(format, isAttachment: attachment != nil, isOwnCopy: ownCopy))
    }

    func execute() throws {
        try AddressBook.withFiles(
            stateless ? [] : [file], identity.choice, lockTimeout: lock.timeout,
            hint: { $0.reading }, { try OpenPlan(self).run() })
    }
}
