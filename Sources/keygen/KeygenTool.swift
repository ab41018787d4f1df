public import ArgumentParser
import Glibc
public import Sotto
import SottoTool
import SottoWire

@main
struct KeygenTool: Program {
    static let configuration = CommandConfiguration(
        commandName: "keygen",
        abstract: "Make an identity from fresh words, restore it from words, show its public card.",
        usage: """
            keygen [--name NAME] [-o FILE] [--words N] [--protect]
            keygen recover [--name NAME] [-o FILE] [--protect] < WORDS
            keygen public [--uri] [--relay URL] [FILE]
            keygen words [FILE]
            keygen prekeys [--bundle] [FILE]
            """,
        discussion: """
            The words are the whole identity: write them down. They go to stderr, once; the identity goes to \
            a file that is never overwritten.

            EXAMPLES
              keygen --name alice -o alice.key
              keygen public alice.key > alice.card
              keygen public --uri alice.key | qr -o alice.png
              keygen recover --name alice -o alice.key < words.txt

            Options of the first form: keygen new --help
            """,
        version: sottoVersion,
        subcommands: [New.self, Recover.self, Public.self, Words.self, PreKeysCommand.self],
        defaultSubcommand: New.self)

    func execute() {}
}

/// Where a new identity goes, and how it is kept.
struct SavingOptions: ParsableArguments {
    @Option(help: ArgumentHelp("What you call yourself; part of the card.", valueName: "name"))
    var name = ""

    @Option(
        name: [.short, .long],
        help: ArgumentHelp(
            "Identity file to make, mode 0600; `-` is stdout. Default: stdout, or the default identity file where that is a terminal.",
            valueName: "file"))
    var output: String?

    @Flag(help: "Protect the file with a passphrase; it is asked for unless --passphrase gives it.")
    var protect = false

    @Option(
        help: ArgumentHelp(
            "Passphrase for --protect: @ENV:NAME, @FD:N or @FILE:PATH.", valueName: "source"))
    var passphrase: SecretSource?

    @Flag(name: [.short, .long], help: "Say nothing on stderr but the words.")
    var quiet = false

    func validate() throws {
        try passphrase?.validate()
        guard name.utf8.count <= 128 else {
            throw ValidationError("a name has at most 128 bytes")
        }
        guard !name.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F }) else {
            throw ValidationError("a name has no control characters")
        }
        guard passphrase == nil || protect else {
            throw ValidationError("--passphrase goes with --protect")
        }
    }

    /// Opens the output before anything is made, so that an existing file is found first.
    func open() throws -> Output {
        var path = output
        let standard = try? IdentityFile.defaultPath()
        if path == nil, Terminal.isTerminal(1) { path = try IdentityFile.defaultPath() }
        if let path, path == standard { try makeDirectory(of: path) }
        let output = try Output(path: path, content: .text, replacing: false)
        output.keepPrivate(tool: KeygenTool.toolName, quiet: quiet)
        return output
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

    func save(_ identity: Identity, to output: Output) throws {
        let line = identity.record.serialized() + [UInt8(ascii: "\n")]
        if protect {
            let file = try AgeFile.seal(line, for: .passphrase(try newPassphrase()), armored: true)
            try output.write(file)
        } else {
            try output.write(line)
        }
        try output.finish()
    }

    private func newPassphrase() throws -> Passphrase {
        if let passphrase { return try passphrase.passphrase() }
        let first = Passphrase(try Terminal.ask("New passphrase: ", secret: true))
        let again = Passphrase(try Terminal.ask("The same again: ", secret: true))
        guard first.matches(again) else {
            throw Failure(.usage, "the two passphrases differ; nothing was made")
        }
        return first
    }
}

struct New: Program {
    static let configuration = CommandConfiguration(
        commandName: "new", abstract: "Make an identity from fresh words (the default).")

    @OptionGroup var saving: SavingOptions

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Number of words: 12, 15, 18, 21 or 24.", valueName: "n"))
    var words = 24

    @Option(help: ArgumentHelp("Word list.", valueName: "list"))
    var language = Wordlist.english

    func validate() throws {
        guard Mnemonic.wordCounts.contains(words) else {
            throw ValidationError("--words is 12, 15, 18, 21 or 24")
        }
    }

    func execute() throws {
        let output = try saving.open()
        let mnemonic = Mnemonic(randomWordCount: words, wordlist: language)
        let identity = Identity(mnemonic: mnemonic, name: saving.name)
        // The words come first: an identity whose words were never shown could not be restored.
        if !saving.quiet {
            try Terminal.tell("These words restore everything. Write them down:")
            try Terminal.tell("")
        }
        try Terminal.tell(mnemonic.sentenceText())
        if !saving.quiet {
            Terminal.say("")
            Terminal.say("id \(identity.id)")
        }
        try saving.save(identity, to: output)
    }
}

struct Recover: Program {
    static let configuration = CommandConfiguration(
        commandName: "recover", abstract: "Restore an identity from its words, read from stdin.")

    @OptionGroup var saving: SavingOptions

    @Option(help: ArgumentHelp("Word list. Default: found from the words.", valueName: "list"))
    var language: Wordlist?

    func execute() throws {
        let output = try saving.open()
        let input = try Input(path: nil)
        var text =
            input.isTerminal
            ? try Terminal.ask("Words: ", secret: true).withBytes { Array($0) }
            : try input.readAll(limit: 64 << 10)
        defer { wipe(&text) }
        guard let words = String(validating: text, as: UTF8.self) else {
            throw Failure(.malformed, "the words are not UTF-8 text")
        }
        let mnemonic = try Mnemonic(parsing: words, wordlist: language)
        let identity = Identity(mnemonic: mnemonic, name: saving.name)
        try saving.save(identity, to: output)
        if !saving.quiet { Terminal.say("id \(identity.id)") }
    }
}

struct Public: Program {
    static let configuration = CommandConfiguration(
        commandName: "public", abstract: "Print the public card: one JSON record, or a URI.")

    @Flag(help: "Print the short form, a sotto: URI without the post-quantum key.")
    var uri = false

    @Option(
        help: ArgumentHelp(
            "Where you fetch your mail, tcp://host:port; put into the card.", valueName: "url"))
    var relay: String?

    @OptionGroup var identity: IdentityOptions

    @Argument(help: "Identity file. Default: as -i.")
    var file: String?

    func execute() throws {
        let address = try relay.map { try Self.address($0) }
        let identity = try load(identity, file)
        let card = identity.card(relay: address?.description)
        let output = try Output(path: "-", content: .text)
        if uri {
            try output.writeText(card.uri.text + "\n")
        } else if let record = card.record {
            try output.writeLine(record)
        }
        try output.finish()
    }
}

extension Public {
    /// The relay's address, as those who read the card will dial it.
    private static func address(_ text: String) throws(Failure) -> RelayURL {
        do throws(RelayURL.Invalid) {
            return try RelayURL(text)
        } catch {
            throw Failure(
                .usage, "the relay's address is not tcp://host:port",
                hint: "for example --relay tcp://relay.example.org:7667")
        }
    }
}

struct Words: Program {
    static let configuration = CommandConfiguration(
        commandName: "words",
        abstract: "Print the words of an identity on stdout. They are the secret.")

    @OptionGroup var identity: IdentityOptions

    @Argument(help: "Identity file. Default: as -i.")
    var file: String?

    func execute() throws {
        let identity = try load(identity, file)
        guard identity.isConsistent() else {
            throw Failure(
                .malformed, "the words in the identity do not give its keys",
                hint: "the file was edited; do not rely on these words")
        }
        let output = try Output(path: "-", content: .text)
        output.keepPrivate(tool: KeygenTool.toolName)
        try output.writeText(try identity.mnemonic().sentenceText() + "\n")
        try output.finish()
    }
}

/// The identity of the argument, or else of `-i` and its defaults.
func load(_ options: IdentityOptions, _ file: String?) throws -> Identity {
    guard let file else { return try options.load() }
    guard !options.isGiven else {
        throw Failure(.usage, "give the identity once: as an argument or with -i")
    }
    return try options.load(path: file)
}

extension Wordlist: ExpressibleByArgument {}
