import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool

@main
struct EncryptTool: CoreProgram {
    static let configuration = CommandConfiguration(
        name: "encrypt",
        abstract: "Encrypt a file or pipe (age v1), or messages (envelopes).",
        usage: """
            sotto encrypt -r CARD [-r CARD ...] [-R FILE] [-s] [-a] [-o FILE] [FILE]
            sotto encrypt -p [-s] [-a] [-o FILE] [FILE]
            sotto encrypt --to CARD [--to CARD ...] [--jsonl] [--suite SUITE] [-o FILE] [FILE]
            sotto encrypt --group NAME [--jsonl] [-o FILE] [FILE]
            sotto encrypt --chat CHAT [--to CARD ...] [--jsonl] [--suite SUITE] [-o FILE] [FILE]
            sotto encrypt --detached [--trusted-comment TEXT] [-i FILE] [-o FILE] [FILE]
            """,
        discussion: """
            With -r, -R or -p the output is an age v1 file, which other age programs read too. With --to it is one \
            JSON envelope per line, for send. With --detached nothing is encrypted: the output is a signature. CARD \
            is a card file, a sotto: URI, an age1... string or an ssh-ed25519 key.

            EXAMPLES
              tar c photos | sotto encrypt -r bob.card -s -i alice.key > photos.age
              sotto encrypt -p -a notes.txt > notes.txt.age
              echo 'hello, bob' | sotto encrypt --to bob.card -i alice.key | sotto send
              sotto encrypt --detached -i alice.key photos.tar > photos.tar.minisig
              echo 'dinner at 8' | sotto encrypt --chat family.chat --to bob | sotto send

            SUITES

            \(SuiteTraits.table.joined(separator: "\n"))

            phrase is as strong as its phrase. A session that began with an X3DH bundle (--classic) has no post-quantum part.

            To write to someone who uses another messenger: sotto bridge seal --help
            """,
        version: sottoVersion)

    @Option(
        "-r", "--recipient", value: "card",
        help: "Encrypt the input as a file to this card; may be repeated.")
    var recipient: [String] = []

    @Option(
        "-R", "--recipients-file", value: "file",
        help: "Encrypt to every card in this file, one per line; may be repeated.")
    var recipientsFile: [String] = []

    @Flag(
        "-p", "--ask-passphrase",
        help: "Encrypt the file with a passphrase from a prompt on the terminal.")
    var askPassphrase = false

    @Option(
        "--passphrase", value: "source",
        help: "Encrypt the file with the passphrase from @ENV:NAME, @FD:N or @FILE:PATH.")
    var passphrase: SecretSource?

    @Flag("-s", "--sign", help: "Sign the content with your identity.")
    var sign = false

    @Flag("--detached", help: "Write only a minisign signature, and encrypt nothing.")
    var detached = false

    @Option(
        "--trusted-comment", value: "text",
        help: "Sign this comment together with the file. Default: the time and the file's name.")
    var trustedComment: String?

    @Flag("-a", "--armor", help: "Write the file in ASCII armor.")
    var armor = false

    @Option(
        "--to", value: "card",
        help: "Encrypt the input as a message to this card; may be repeated, one envelope each.")
    var to: [String] = []

    @Option(
        "--group", value: "name",
        help: "Encrypt the input as a message to the members of this group; see group(1).")
    var group: String?

    @Flag(
        "--jsonl",
        help:
            "Each line is a message: a JSON record with a body or text, or plain text if it does not begin with {."
    )
    var jsonl = false

    @Flag(
        "--classic",
        help: "Use the classic X25519 key of every card instead of the post-quantum key.")
    var classic = false

    @Option(
        "--suite", value: "suite",
        help:
            "The encryption of a message, see SUITES. Default: the session if one exists, else sealed; "
            + "phrase with --chat.")
    var suite: Suite?

    @OptionGroup var session: SessionOptions

    @Option(
        "--ttl", value: "duration",
        help:
            "The relay deletes the message after this time, such as 1d or a number of seconds; with 0 it is pushed to a connected recipient or dropped. Below one day: sealed.",
        values: .any)
    var ttl: TimeToLive?

    @Option(
        "--trust", value: "policy",
        help:
            "Encrypt only to these keys: any, first-use (contacts) or verified (compared contacts)."
    )
    var trust: TrustPolicy?

    @Flag("--stateless", help: "Use no state: no sessions, no contacts and no history.")
    var stateless = false

    @Flag(
        "--elsewhere",
        help:
            "The envelopes do not go to send in this home: the history notes that they were handed on. So it does if the output is a file."
    )
    var elsewhere = false

    @Option(
        "--chat", value: "chat",
        help:
            "Encrypt the message for this chat, a file or a name of keygen chat; alone or with --to."
    )
    var chat: String?

    @Flag(
        "--bare",
        help:
            "With --chat: write the encrypted text alone, a line that begins with v2., and no envelope."
    )
    var bare = false

    @OptionGroup var attachment: AttachmentOptions

    @OptionGroup var records: RecordOutput

    @OptionGroup var lock: LockOptions

    @OptionGroup var identity: IdentityOptions

    @Option("-o", "--output", value: "file", help: "Write to this file; `-` is stdout.")
    var output: String?

    @Flag("-q", "--quiet", help: "Print no progress and no notes on stderr.")
    var quiet = false

    let given = GivenArguments()

    @Argument("file", help: "Input file; `-` is stdin, the default.")
    var file: String?

    func checkMode() throws { try given.check(for: mode) }

    func validate() throws { try passphrase?.validate() }

    func execute() throws {
        try AddressBook.withFiles(
            stateless ? [] : [file] + attachment.attach.map(Optional.some), identity.choice,
            lockTimeout: lock.timeout,
            hint: {
                $0.isGroup
                    ? "to write a message: sotto encrypt --group \($0.argument) --send"
                    : "to write a message: sotto encrypt --to \($0.argument) --send"
            }, { try EncryptPlan(self).run() })
    }
}
