import Arguments
import Sotto
import SottoTool
import SottoWire

struct Recover: Program {
    static let configuration = CommandConfiguration(
        name: "recover",
        abstract: "Restore an identity from its words, read from stdin, or from a key file.",
        usage: """
            keygen recover [--rsa BITS | --rsa-key PEM] [--whisper-id ID] [-o FILE] < WORDS
            keygen recover --ecp1 KEYFILE [--password SOURCE] [-o FILE]
            """)

    @OptionGroup var saving: SavingOptions

    @OptionGroup var messengers: MessengerOptions

    @OptionGroup var home: RelayOptions

    @OptionGroup var passphrase: WordsPassphraseOptions

    @Option("--language", value: "list", help: "Word list. Default: found from the words.")
    var language: Wordlist?

    @Option("--rsa-key", value: "file", help: "Take back an RSA key that keygen export rsa wrote.")
    var rsaKey: String?

    @Option(
        "--rsa-password", value: "source",
        help: "Password of --rsa-key: @ENV:NAME, @FD:N or @FILE:PATH. Default: ask.")
    var rsaPassword: SecretSource?

    @Option("--ecp1", value: "file", help: "Restore from Kecalek's key file in place of words.")
    var ecp1: String?

    @Option(
        "--password", value: "source",
        help: "Password of the key file: @ENV:NAME, @FD:N or @FILE:PATH. Default: ask.")
    var password: SecretSource?

    func validate() throws {
        try password?.validate()
        try rsaPassword?.validate()
        guard messengers.rsa == nil || rsaKey == nil else {
            throw UsageError("--rsa and --rsa-key exclude each other")
        }
        guard rsaPassword == nil || rsaKey != nil else {
            throw UsageError("--rsa-password goes with --rsa-key")
        }
        guard password == nil || ecp1 != nil else {
            throw UsageError("--password goes with --ecp1")
        }
        guard ecp1 == nil || language == nil && passphrase.wordsPassphrase == nil else {
            throw UsageError("--ecp1 goes without --language and --words-passphrase")
        }
        // What Mercurio and Whisper2 have comes from words.
        guard ecp1 == nil || messengers.rsa == nil && rsaKey == nil && messengers.whisperID == nil
        else {
            throw UsageError("--ecp1 goes without --rsa, --rsa-key and --whisper-id")
        }
    }

    func execute() throws {
        let relay = try home.address()
        let output = try saving.open()
        let identity = try ecp1.map { try fromKeyFile($0, relay) } ?? fromWords(relay)
        try saving.save(identity, to: output)
        guard !saving.quiet else { return }
        Terminal.say("id \(identity.id)")
        Terminal.say("back: the keys; files and sealed messages to them open again")
        Terminal.say(
            "not back: sessions, opened messages and contacts; a backup of contacts comes back with: contact import contacts.age"
        )
        Terminal.say("others begin new sessions after: keygen prekeys | send")
    }

    private func fromWords(_ relay: RelayURL?) throws -> Identity {
        messengers.whisperID?.warnIfMistyped()
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
        return Identity(
            mnemonic: mnemonic, name: saving.name, passphrase: try passphrase.read(isNew: false),
            whisperID: messengers.whisperID,
            rsaKey: try rsaKey.map { try KeyFile.rsaKey(at: $0, rsaPassword) }
                ?? messengers.makeRSAKey(quiet: saving.quiet), relay: relay?.text)
    }

    private func fromKeyFile(_ path: String, _ relay: RelayURL?) throws -> Identity {
        let file = try ECP1File(Input(path: path).readAll(limit: ECP1File.limit))
        let seed = try file.open(
            password: try KeyFile.password(of: path, password))
        guard seed.count == 32 else {
            throw Failure(
                .malformed, "the key file holds \(seed.count) bytes, and no identity key of 32",
                hint: "it may be another of Kecalek's keys")
        }
        if !saving.quiet {
            Terminal.say(
                "\(KeygenTool.toolName): note: there are no words to this identity: keep the key file"
            )
            Terminal.say(
                "\(KeygenTool.toolName): note: the id is the same, and the age keys are not those of words: give out a new card"
            )
        }
        return Identity(seed: seed, name: saving.name, relay: relay?.text)
    }
}
