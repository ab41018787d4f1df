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
            sotto keygen [--name NAME] [--relay URL] [-o FILE] [--words N] [--words-passphrase SOURCE] [--protect] [--confirm]
            sotto keygen recover [--name NAME] [-o FILE] [--words-passphrase SOURCE] [--protect] < WORDS
            sotto keygen public [--uri] [--relay URL] [FILE]
            sotto keygen words [--confirm] [FILE]
            sotto keygen paper -o SVG [FILE]
            sotto keygen rotate [--name NAME] [--relay URL] -o NEW [OLD]
            sotto keygen rotate --again [FILE]
            sotto keygen revoke [--paper] -o FILE [FILE]
            sotto keygen passwd [--unprotected] [FILE]
            sotto keygen set [--relay URL | --no-relay] [--name NAME] [FILE]
            sotto keygen unlock [--for TIME] [FILE]
            sotto keygen lock [--all] [FILE]
            sotto keygen prekeys [--bundle] [FILE]
            sotto keygen export age|ssh [--classic] -o FILE [FILE]
            sotto keygen export minisign [--password SOURCE] [--unprotected] -o KEYFILE [FILE]
            sotto keygen export age|ssh|minisign --public-key [--classic] [-o FILE] [FILE]
            sotto keygen chat [--name NAME] [--phrase SOURCE] -o FILE
            sotto keygen chat --public CHAT | --read-name CHAT < RECORD
            """,
        discussion: """
            The words restore the whole identity: write them down. They are printed once, on stderr, and only if it is \
            a terminal; keygen words prints them again. The identity is written to a new file; an existing file is not \
            overwritten.

            EXAMPLES
              sotto keygen --name alice -o alice.key
              sotto keygen public alice.key > alice.card
              sotto keygen public --uri alice.key | sotto qr -o alice.png
              sotto keygen recover --name alice -o alice.key < words.txt
              sotto keygen paper -o alice.svg alice.key
              sotto keygen revoke --paper -o revocation.svg alice.key
              sotto keygen rotate -o alice-2.key alice.key | sotto send
              sotto keygen passwd alice.key
              sotto keygen unlock --for 2h alice.key
              sotto keygen chat --name friends -o friends.chat

            Options of the first form: sotto keygen new --help

            Keys and logins of other messengers: sotto bridge --help
            """,
        version: sottoVersion,
        subcommands: [
            New.self, Recover.self, Public.self, Words.self, PaperCommand.self, RotateCommand.self,
            RevokeCommand.self, PasswdCommand.self, SetCommand.self, UnlockCommand.self,
            LockCommand.self, PreKeysCommand.self,
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

    @Flag("--confirm", help: "Print nothing: ask for three of the words on the terminal.")
    var confirm = false

    @OptionGroup var identity: IdentityOptions

    @Argument("file", help: "Identity file. Default: as -i.")
    var file: String?

    func execute() throws {
        let identity = try identity.load(argument: file)
        try requireMachineOne(identity)
        guard identity.isConsistent() else {
            throw Failure(
                .malformed, "the words in the identity do not match its keys",
                hint: "the file was edited; do not use these words")
        }
        guard !confirm else { return try WordCheck.run(identity.mnemonic()) }
        if Terminal.isTerminal(1) {
            Terminal.note("whoever sees these words can read your messages and write as you")
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

/// Throws a failure with status 64 for another device than the first one.
func requireMachineOne(_ identity: Identity) throws(Failure) {
    guard identity.owner == nil else {
        throw Failure(
            .usage, "this is a device, and only machine one has the identity itself",
            hint: "run this command there")
    }
}
