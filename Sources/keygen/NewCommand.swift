public import Arguments
public import Sotto
import SottoTool
import SottoWire

/// The keys of an identity for other messengers, in addition to its words.
struct MessengerOptions: ArgumentGroup {
    @Option(
        "--rsa", value: "bits",
        help:
            "Create an RSA key for Mercurio too, of 2048 or 3072 bits; the words do not restore it.",
        values: .any)
    var rsa: Int?

    @Option("--whisper-id", value: "wsp-id", help: "Store this as your WhisperID in the identity.")
    var whisperID: WhisperID?

    func validate() throws {
        guard rsa.map(MercurioPublicKey.sizes.contains) ?? true else {
            throw UsageError("--rsa must be 2048 or 3072")
        }
    }

    /// Creates an RSA key if it was requested, and prints a note that the words do not restore it.
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
    /// Prints a warning if the checksum is wrong. The apps do not check it.
    func warnIfMistyped() {
        guard !isChecksumValid else { return }
        Terminal.say(
            "\(KeygenTool.toolName): warning: the checksum of \(self) is wrong; it may be mistyped")
    }
}

extension Profile: ExpressibleByArgument {}

struct New: Program {
    static let configuration = CommandConfiguration(
        name: "new", abstract: "Create an identity from new recovery words (the default command).")

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
            throw UsageError("--words must be 12, 15, 18, 21 or 24")
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
        // The words are printed first: an identity whose words were never shown could not be restored.
        if !saving.quiet {
            let together = passphrase.isEmpty ? "" : " with their passphrase"
            let exception = rsaKey == nil ? "" : " except the RSA key"
            try Terminal.tell(
                "These words\(together) restore your keys\(exception). Write them down:")
            try Terminal.tell("")
        }
        try Terminal.tell(mnemonic.sentenceText())
        if !saving.quiet {
            Terminal.say("")
            Terminal.say("id \(identity.id)")
            Terminal.say(
                "The words do not restore contacts and messages; make a backup of them too: contact export --backup -o contacts.age"
            )
        }
        try saving.save(identity, to: output)
    }
}

extension MercurioPublicKey.Form: ExpressibleByArgument {}
