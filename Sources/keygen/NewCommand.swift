public import Arguments
public import Sotto
import SottoTool
import SottoWire

/// What an identity has for other messengers beside its words.
struct MessengerOptions: ArgumentGroup {
    @Option(
        "--rsa", value: "bits",
        help:
            "Make an RSA key for Mercurio too, of 2048 or 3072 bits; the words do not restore it.",
        values: .any)
    var rsa: Int?

    @Option("--whisper-id", value: "wsp-id", help: "Keep this as your name in Whisper2.")
    var whisperID: WhisperID?

    func validate() throws {
        guard rsa.map(MercurioPublicKey.sizes.contains) ?? true else {
            throw UsageError("--rsa is 2048 or 3072")
        }
    }

    /// A new RSA key where one is asked for; says what it is.
    func makeRSAKey(quiet: Bool) throws -> MercurioPrivateKey? {
        guard let rsa else { return nil }
        let key = try MercurioPrivateKey(bits: rsa)
        if !quiet {
            Terminal.say(
                "\(KeygenTool.toolName): note: the words do not restore the RSA key; back it up with keygen export rsa"
            )
        }
        return key
    }
}

extension WhisperID {
    /// Says on stderr when its checksum is wrong. The apps do not look at it.
    func warnIfMistyped() {
        guard !isChecksumValid else { return }
        Terminal.say(
            "\(KeygenTool.toolName): warning: the checksum of \(self) is wrong: it may be mistyped")
    }
}

extension Profile: ExpressibleByArgument {}

struct New: Program {
    static let configuration = CommandConfiguration(
        name: "new", abstract: "Make an identity from fresh words (the default).")

    @OptionGroup var saving: SavingOptions

    @OptionGroup var messengers: MessengerOptions

    @OptionGroup var home: RelayOptions

    @OptionGroup var passphrase: WordsPassphraseOptions

    @Option("--words", value: "n", help: "Number of words: 12, 15, 18, 21 or 24.", values: .any)
    var words = 24

    @Option("--language", value: "list", help: "Word list.")
    var language = Wordlist.english

    func validate() throws {
        guard Mnemonic.wordCounts.contains(words) else {
            throw UsageError("--words is 12, 15, 18, 21 or 24")
        }
    }

    func execute() throws {
        let relay = try home.address()
        let output = try saving.open()
        messengers.whisperID?.warnIfMistyped()
        let mnemonic = Mnemonic(randomWordCount: words, wordlist: language)
        let passphrase = try passphrase.read(isNew: true)
        let rsaKey = try messengers.makeRSAKey(quiet: saving.quiet)
        let identity = Identity(
            mnemonic: mnemonic, name: saving.name, passphrase: passphrase,
            whisperID: messengers.whisperID, rsaKey: rsaKey, relay: relay?.text)
        // The words come first: an identity whose words were never shown could not be restored.
        if !saving.quiet {
            let together = passphrase.isEmpty ? "" : " together with their passphrase"
            let exception = rsaKey == nil ? "" : " but the RSA key"
            try Terminal.tell(
                "These words\(together) restore your keys\(exception). Write them down:")
            try Terminal.tell("")
        }
        try Terminal.tell(mnemonic.sentenceText())
        if !saving.quiet {
            Terminal.say("")
            Terminal.say("id \(identity.id)")
            Terminal.say(
                "The words do not restore contacts and messages; keep a backup too: contact export --backup -o contacts.age"
            )
        }
        try saving.save(identity, to: output)
    }
}

extension MercurioPublicKey.Form: ExpressibleByArgument {}
