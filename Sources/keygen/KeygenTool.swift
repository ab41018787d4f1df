public import Arguments
public import Sotto
import SottoTool

@main
struct KeygenTool: CoreProgram {
    static let configuration = CommandConfiguration(
        name: "keygen",
        abstract:
            "Create an identity from new recovery words, restore it from words, print its public card.",
        usage: """
            keygen [--name NAME] [--relay URL] [-o FILE] [--words N] [--words-passphrase SOURCE] [--protect]
            keygen recover [--name NAME] [-o FILE] [--words-passphrase SOURCE] [--protect] < WORDS
            keygen public [--uri] [--relay URL] [FILE]
            keygen words [FILE]
            keygen paper -o SVG [FILE]
            keygen passwd [--unprotected] [FILE]
            keygen set --relay URL | --no-relay [FILE]
            keygen unlock [--for TIME] [FILE]
            keygen lock [--all] [FILE]
            keygen prekeys [--bundle] [FILE]
            keygen export age|ssh [--classic] -o FILE [FILE]
            keygen export minisign [--password SOURCE] [--unprotected] -o KEYFILE [FILE]
            keygen export age|ssh|minisign --public-key [--classic] [-o FILE] [FILE]
            keygen chat [--name NAME] [--phrase SOURCE] -o FILE
            keygen chat --public CHAT | --read-name CHAT < RECORD
            """,
        discussion: """
            The words restore the whole identity: write them down. They are printed once, on stderr. The identity is \
            written to a new file; an existing file is not overwritten.

            EXAMPLES
              keygen --name alice -o alice.key
              keygen public alice.key > alice.card
              keygen public --uri alice.key | qr -o alice.png
              keygen recover --name alice -o alice.key < words.txt
              keygen paper -o alice.svg alice.key
              keygen passwd alice.key
              keygen unlock --for 2h alice.key
              keygen chat --name friends -o friends.chat

            Options of the first form: keygen new --help

            Keys and logins of other messengers: bridge --help
            """,
        version: sottoVersion,
        subcommands: [
            New.self, Recover.self, Public.self, Words.self, PaperCommand.self, PasswdCommand.self,
            SetCommand.self, UnlockCommand.self, LockCommand.self, PreKeysCommand.self,
            ExportCommand.self, ChatCommand.self,
        ],
        defaultSubcommand: New.self)

    func execute() {}
}

/// Returns the secret of `source`, or one that is typed twice; see ``NewSecret``.
func newSecret(_ noun: String, _ source: SecretSource?, warns: Bool = true) throws -> SecretBytes {
    try NewSecret(noun, tool: KeygenTool.toolName).read(source, warns: warns)
}

struct Words: Program {
    static let configuration = CommandConfiguration(
        name: "words",
        abstract: "Print the recovery words of an identity on stdout. The words are secret.")

    @OptionGroup var identity: IdentityOptions

    @Argument("file", help: "Identity file. Default: as -i.")
    var file: String?

    func execute() throws {
        let identity = try identity.load(argument: file)
        guard identity.isConsistent() else {
            throw Failure(
                .malformed, "the words in the identity do not match its keys",
                hint: "the file was edited; do not use these words")
        }
        let output = try Output(path: "-", content: .text)
        output.keepPrivate(tool: KeygenTool.toolName)
        try output.writeText(try identity.mnemonic().sentenceText() + "\n")
        try output.finish()
        if identity.hasWordsPassphrase {
            Terminal.say(
                "\(KeygenTool.toolName): note: these words also need their passphrase: recover with --words-passphrase"
            )
        }
    }
}

extension Wordlist: ExpressibleByArgument {}
