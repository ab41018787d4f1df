public import Arguments
import Glibc
public import Sotto
import SottoTool

@main
struct KeygenTool: CoreProgram {
    static let configuration = CommandConfiguration(
        name: "keygen",
        abstract:
            "Create an identity from new recovery words, restore it from words, print its public card.",
        usage: """
            keygen [--name NAME] [--relay URL] [-o FILE] [--words N] [--words-passphrase SOURCE] [--rsa BITS] [--whisper-id ID] [--protect]
            keygen recover [--name NAME] [-o FILE] [--words-passphrase SOURCE] [--rsa BITS | --rsa-key FILE] [--protect] < WORDS
            keygen recover --ecp1 KEYFILE [--name NAME] [-o FILE] [--protect]
            keygen public [--uri | --include PROFILE ...] [--relay URL] [FILE]
            keygen public --profile whisper2|mercurio|kecalek [--bundle] [--user-id ID] [FILE]
            keygen words [FILE]
            keygen paper [-o SVG] [FILE]
            keygen passwd [--unprotected] [FILE]
            keygen set --relay URL | --no-relay [FILE]
            keygen unlock [--for TIME] [FILE]
            keygen lock [--all] [FILE]
            keygen prekeys [--bundle] [FILE]
            keygen export age|ssh|minisign [--public-key] [--classic] [-o FILE] [FILE]
            keygen export minisign|ecp1|rsa [-o KEYFILE] [--password SOURCE] [--unprotected] [FILE]
            keygen chat [--name NAME] [--phrase SOURCE] [-o FILE]
            keygen chat --public CHAT | --read-name CHAT < RECORD
            keygen answer whisper2|kecalek [--key PEM] [FILE] < CHALLENGE
            keygen work --bits N < CHALLENGE
            keygen login-key [--bits N] -o PEM | login-key --public PEM
            """,
        discussion: """
            The words restore the whole identity: write them down. They are printed once, on stderr. The identity is \
            written to a new file; an existing file is not overwritten.

            EXAMPLES
              keygen --name alice -o alice.key
              keygen public alice.key > alice.card
              keygen public --uri alice.key | qr -o alice.png
              keygen recover --name alice -o alice.key < words.txt
              keygen words a.key | keygen recover --rsa 3072 -o b.key
              keygen paper -o alice.svg alice.key
              keygen passwd alice.key
              keygen unlock --for 2h alice.key
              keygen public --profile kecalek --user-id alice alice.key | qr -o alice.png
              keygen chat --name friends -o friends.chat

            Options of the first form: keygen new --help
            """,
        version: sottoVersion,
        subcommands: [
            New.self, Recover.self, Public.self, Words.self, PaperCommand.self, PasswdCommand.self,
            SetCommand.self, UnlockCommand.self, LockCommand.self, PreKeysCommand.self,
            ExportCommand.self, ChatCommand.self, AnswerCommand.self, WorkCommand.self,
            LoginKeyCommand.self,
        ],
        defaultSubcommand: New.self)

    func execute() {}
}

/// The output options of a new identity.
struct SavingOptions: ArgumentGroup {
    @Option("--name", value: "name", help: "Your name, included in the card.")
    var name = ""

    @Option(
        "-o", "--output", value: "file",
        help:
            "Identity file to create, mode 0600; `-` is stdout. Default: stdout, or the default identity file if stdout is a terminal."
    )
    var output: String?

    @Flag(
        "--protect",
        help: "Protect the file with a passphrase; asks for it without --passphrase.")
    var protect = false

    @Option(
        "--passphrase", value: "source",
        help: "Passphrase for --protect: @ENV:NAME, @FD:N or @FILE:PATH.")
    var passphrase: SecretSource?

    @Flag("-q", "--quiet", help: "Print only the words on stderr.")
    var quiet = false

    func validate() throws {
        try passphrase?.validate()
        try checkName(name)
        guard passphrase == nil || protect else {
            throw UsageError("--passphrase requires --protect")
        }
    }

    /// Opens the output before any other work, so that an existing file is reported first, and then asks for the
    /// passphrase, so that no slow step precedes the prompt.
    func open() throws -> Destination {
        var path = output
        let standard = try? IdentityFile.defaultPath()
        if path == nil, Terminal.isTerminal(1) { path = try IdentityFile.defaultPath() }
        if let path, path == standard { try makeDirectory(of: path) }
        let output = try Output(path: path, content: .text, replacing: false)
        output.keepPrivate(tool: KeygenTool.toolName, quiet: quiet)
        return Destination(
            output: output,
            passphrase: protect ? Passphrase(try newSecret("passphrase", passphrase)) : nil)
    }

    /// A new identity file with its passphrase.
    struct Destination {
        fileprivate let output: Output
        fileprivate let passphrase: Passphrase?
    }

    private func makeDirectory(of path: String) throws(Failure) {
        var made = ""
        for part in path.split(separator: "/", omittingEmptySubsequences: false).dropLast() {
            made += part + "/"
            if made != "/", mkdir(made, 0o700) != 0, errno != EEXIST {
                throw Failure(errno: errno, "create", made)
            }
        }
    }

    func save(_ identity: Identity, to destination: Destination) throws {
        let line = identity.record.serialized() + [UInt8(ascii: "\n")]
        if let passphrase = destination.passphrase {
            let file = try AgeFile.seal(line, for: .passphrase(passphrase), armored: true)
            try destination.output.write(file)
        } else {
            try destination.output.write(line)
        }
        try destination.output.finish()
    }
}

/// Throws a usage error for an invalid name of a card or a chat.
func checkName(_ name: String) throws {
    guard name.utf8.count <= 128 else {
        throw UsageError("a name must have at most 128 bytes")
    }
    guard !name.unicodeScalars.contains(where: \.isInvisible) else {
        throw UsageError("a name must not have control or invisible characters")
    }
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
        let identity = try load(identity, file)
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

/// Returns the identity of the argument, else of `-i` or its default.
func load(_ options: IdentityOptions, _ file: String?) throws -> Identity {
    guard let file else { return try options.load() }
    guard !options.isGiven else {
        throw Failure(.usage, "the identity is given twice: use either an argument or -i")
    }
    return try options.load(path: file)
}

extension Wordlist: ExpressibleByArgument {}
