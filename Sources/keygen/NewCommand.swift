import Arguments
import Glibc
import Sotto
import SottoTool
import SottoWire

struct New: Program {
    static let configuration = CommandConfiguration(
        name: "new", abstract: "Create an identity from new recovery words (the default command).")

    @OptionGroup var saving: SavingOptions

    @OptionGroup var home: RelayOptions

    @OptionGroup var passphrase: WordsPassphraseOptions

    @Option("--words", value: "n", help: "Number of words: 12, 15, 18, 21 or 24.", values: .any)
    var words = 24

    @Option("--language", value: "list", help: "Word list.")
    var language = Wordlist.english

    @Flag("--confirm", help: "Ask for three of the words before the identity is written.")
    var confirm = false

    func validate() throws {
        guard !confirm || Terminal.isTerminal(2) else {
            throw UsageError("--confirm requires a terminal, on which the words are shown")
        }
        guard Mnemonic.wordCounts.contains(words) else {
            throw UsageError("--words must be 12, 15, 18, 21 or 24")
        }
    }

    func execute() throws {
        let relay = try home.address()
        let output = try saving.open(tool: KeygenTool.toolName)
        let mnemonic = Mnemonic(randomWordCount: words, wordlist: language)
        let passphrase = try passphrase.read(isNew: true)
        let identity = Identity(
            mnemonic: mnemonic, name: saving.name, passphrase: passphrase,
            relay: relay?.text)
        try NewWords(mnemonic, hasPassphrase: !passphrase.isEmpty, saving).show()
        if !saving.quiet {
            Terminal.say("id \(identity.id)")
            Terminal.say(
                "The words do not restore contacts and messages; make a backup of them too: sotto history export --backup -o state.age"
            )
        }
        if confirm { try WordCheck.run(mnemonic) }
        try saving.save(identity, to: output)
    }
}

/// The words of a new identity, which are shown once.
struct NewWords {
    private let mnemonic: Mnemonic
    private let together: String
    private let saving: SavingOptions

    init(_ mnemonic: Mnemonic, hasPassphrase: Bool, _ saving: SavingOptions) {
        (self.mnemonic, self.saving) = (mnemonic, saving)
        together = hasPassphrase ? " with their passphrase" : ""
    }

    /// Whether an output is no file that can be read again.
    private static func isStream(_ output: String) -> Bool {
        var status = stat()
        return output == "-" || stat(output, &status) == 0 && status.st_mode & S_IFMT != S_IFREG
    }

    /// Shows the words on a terminal, and else names the command that shows them: they must not end in a log, and the file
    /// contains them too.
    func show() throws {
        let isShown = Terminal.isTerminal(2)
        if isShown {
            if !saving.quiet {
                try Terminal.tell("These words\(together) restore your keys. Write them down:")
                try Terminal.tell("")
            }
            try Terminal.tell(mnemonic.sentenceText())
        }
        guard !saving.quiet else { return }
        if isShown { return Terminal.say("") }
        // Of an identity on standard output the file is not known.
        let file =
            saving.output.map(Self.isStream) == true
            ? " FILE" : saving.namedFile.map { " " + shellWord($0) } ?? ""
        Terminal.note(
            "words\(together) restore your keys, and are shown only on a terminal; to see them: sotto keygen words\(file)"
        )
    }
}
