import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool

@main
struct DecryptTool: CoreProgram {
    static let configuration = CommandConfiguration(
        name: "decrypt",
        abstract: "Decrypt an age file, or envelopes into message records.",
        usage: """
            sotto decrypt [-i FILE ...] [--from CARD] [-o FILE] [--text] [--hold] [FILE]
            sotto decrypt [-i FILE] [--chat CHAT ...] [--text] [--receipts FILE] [-o FILE] [FILE]
            sotto decrypt --again [--since WHEN] [--text] [-o FILE]
            sotto decrypt --attachment RECORD [-o FILE] BLOB
            sotto decrypt --verify SIGNATURE --from CARD [FILE]
            sotto decrypt --inspect [--json] [-o FILE] [FILE]
            """,
        discussion: """
            The kind of input is detected from its content. Only authenticated data is printed. A file of up to \
            16 MiB is verified completely before the first byte is printed; a longer one is printed in verified \
            chunks, unless --hold or -o is given. Envelopes become message records, one JSON object per line; \
            on a terminal or with --text only the text of messages is printed.

            EXAMPLES
              sotto decrypt -i bob.key --from alice.card photos.age | tar x
              sotto decrypt --passphrase @FILE:secret.txt -o notes.txt notes.txt.age
              sotto recv -i bob.key | sotto decrypt -i bob.key --text
              sotto recv --follow | sotto decrypt | jq -r '.from + ": " + .body.text'
              sotto decrypt --again --since 2026-11-22T09:00:00Z --text --time
              sotto decrypt --chat family.chat < texts
              sotto decrypt --verify photos.tar.minisig --from alice.card photos.tar
              sotto decrypt --inspect photos.age
            """,
        version: sottoVersion)

    @OptionGroup var identity: IdentityListOptions

    @OptionGroup var senders: SenderOptions

    @Option(
        "--passphrase", value: "source",
        help: "Passphrase of the file: @ENV:NAME, @FD:N or @FILE:PATH. Default: ask.")
    var passphrase: SecretSource?

    @Option(
        "-o", "--output", value: "file",
        help: "Write to this file, which is created only when complete; `-` is stdout.")
    var output: String?

    @OptionGroup var form: TextOptions

    @Flag("--events", help: "Print only what happened in groups, such as invitations.")
    var events = false

    @Flag("--hold", help: "Print no part of a file before all of it is verified.")
    var hold = false

    @Flag(
        "--preview",
        help: "Print messages without changing the state, as if they had not been opened.")
    var preview = false

    @Option(
        "--receipts", value: "file",
        help:
            "Append receipts to this file, for encrypt: for messages of contacts with receipts=on (contact set)."
    )
    var receipts: String?

    @Flag("--stateless", help: "Do not record opened envelopes: replays are not detected.")
    var stateless = false

    @Option(
        "--verify", value: "file",
        help: "Verify this minisign signature of the input by --from; print nothing.")
    var verify: String?

    @Flag(
        "--inspect", help: "Print the recipient types and sizes of an age file; no key is needed.")
    var inspect = false

    @Flag(
        "--again",
        help: "Print messages again that were opened before, from the state; read no input.")
    var again = false

    @Option(
        "--since", value: "when",
        help:
            "With --again: only messages after this number, or opened since this time, such as 2026-11-22."
    )
    var since: IdentityStore.Point?

    @Option(
        "--chat", value: "chat",
        help:
            "Open messages of this chat, a file of keygen chat; may be repeated. Stored chats are always known."
    )
    var chat: [String] = []

    @Option(
        "--attachment", value: "record",
        help:
            "Decrypt the input, an attachment, with the key in this message record from decrypt, or in the message with this number."
    )
    var attachment: String?

    @OptionGroup var lock: LockOptions

    @Flag("-q", "--quiet", help: "Print no progress and no notes on stderr.")
    var quiet = false

    let given = GivenArguments()

    @Argument("file", help: "Input file; `-` is stdin, the default.")
    var file: String?

    func checkMode() throws { try given.check(for: mode) }

    func validate() throws { try passphrase?.validate() }

    func execute() throws {
        try AddressBook.withFiles(
            stateless ? [] : [file, attachment], identity.choice, lockTimeout: lock.timeout,
            hint: { $0.reading }, { try DecryptPlan(self).run() })
    }
}
