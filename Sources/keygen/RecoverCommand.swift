import Arguments
import Sotto
import SottoTool
import SottoWire

struct Recover: Program {
    static let configuration = CommandConfiguration(
        name: "recover",
        abstract: "Restore an identity from its words on stdin.",
        usage: "sotto keygen recover [--name NAME] [--relay URL] [-o FILE] < WORDS")

    @OptionGroup var saving: SavingOptions

    @OptionGroup var home: RelayOptions

    @OptionGroup var passphrase: WordsPassphraseOptions

    @Option("--language", value: "list", help: "Word list. Default: detected from the words.")
    var language: Wordlist?

    func execute() throws {
        let relay = try home.address()
        let output = try saving.open(tool: KeygenTool.toolName)
        let identity = try fromWords(relay)
        try saving.save(identity, to: output)
        guard !saving.quiet else { return }
        Terminal.say("id \(identity.id)")
        Terminal.say("restored: the keys; files and sealed messages can be decrypted again")
        Terminal.say(
            "not restored: sessions, messages and contacts; to restore a backup of messages and contacts: sotto history import state.age"
        )
        let file = saving.namedFile.map { " " + shellWord($0) } ?? ""
        if relay == nil {
            Terminal.say(
                "not in the words: the relay; to set it: sotto keygen set --relay URL\(file)")
        }
        if !saving.protect {
            Terminal.say(
                "not in the words: the passphrase of the file; to set one: sotto keygen passwd\(file)"
            )
        }
        Terminal.say("to let others begin new sessions: sotto keygen prekeys | sotto send")
    }

    private func fromWords(_ relay: RelayURL?) throws -> Identity {
        let input = try Input(path: nil)
        var text =
            input.isTerminal
            ? try Terminal.ask("Words: ", secret: true).withBytes { Array($0) }
            : try input.readText(limit: 64 << 10)
        defer { wipe(&text) }
        guard let words = String(validating: text, as: UTF8.self) else {
            throw Failure(.malformed, "the words are not UTF-8 text")
        }
        let mnemonic = try Mnemonic(parsing: words, wordlist: language)
        return Identity(
            mnemonic: mnemonic, name: saving.name, passphrase: try passphrase.read(isNew: false),
            relay: relay?.text)
    }
}
