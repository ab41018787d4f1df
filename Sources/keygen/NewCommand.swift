import Arguments
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

    func validate() throws {
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
        // The words are printed first: an identity whose words were never shown could not be restored.
        if !saving.quiet {
            let together = passphrase.isEmpty ? "" : " with their passphrase"
            try Terminal.tell("These words\(together) restore your keys. Write them down:")
            try Terminal.tell("")
        }
        try Terminal.tell(mnemonic.sentenceText())
        if !saving.quiet {
            Terminal.say("")
            Terminal.say("id \(identity.id)")
            Terminal.say(
                "The words do not restore contacts and messages; make a backup of them too: sotto history export --backup -o state.age"
            )
        }
        try saving.save(identity, to: output)
    }
}
