import Arguments
import Sotto
import SottoTool
import SottoWire

struct Recover: Program {
    static let configuration = CommandConfiguration(
        name: "recover",
        abstract: "Restore an identity from its words on stdin, or from a key file.",
        usage: """
            keygen recover [--rsa BITS | --rsa-key PEM] [--whisper-id ID] [-o FILE] < WORDS
            keygen recover --ecp1 KEYFILE [--password SOURCE] [-o FILE]
            """)

    @OptionGroup var saving: SavingOptions

    @OptionGroup var messengers: MessengerOptions

    @OptionGroup var home: RelayOptions

    @OptionGroup var passphrase: WordsPassphraseOptions

    @Option("--language", value: "list", help: "Word list. Default: detected from the words.")
    var language: Wordlist?

    @Option(
        "--rsa-key", value: "file", help: "Restore an RSA key from a file of keygen export rsa.")
    var rsaKey: String?

    @Option(
        "--rsa-password", value: "source",
        help: "Password of --rsa-key: @ENV:NAME, @FD:N or @FILE:PATH. Default: ask.")
    var rsaPassword: SecretSource?

    @Option("--ecp1", value: "file", help: "Restore from Kecalek's key file instead of words.")
    var ecp1: String?

    @Option(
        "--password", value: "source",
        help: "Password of the key file: @ENV:NAME, @FD:N or @FILE:PATH. Default: ask.")
    var password: SecretSource?

    func validate() throws {
        try password?.validate()
        try rsaPassword?.validate()
        guard messengers.rsa == nil || rsaKey == nil else {
            throw UsageError("--rsa and --rsa-key cannot be combined")
        }
        guard rsaPassword == nil || rsaKey != nil else {
            throw UsageError("--rsa-password requires --rsa-key")
        }
        guard password == nil || ecp1 != nil else {
            throw UsageError("--password requires --ecp1")
        }
        guard ecp1 == nil || language == nil && passphrase.wordsPassphrase == nil else {
            throw UsageError("--ecp1 cannot be combined with --language or --words-passphrase")
        }
        // The keys for Mercurio and Whisper2 need words.
        guard ecp1 == nil || messengers.rsa == nil && rsaKey == nil && messengers.whisperID == nil
        else {
            throw UsageError("--ecp1 cannot be combined with --rsa, --rsa-key or --whisper-id")
        }
    }

    func execute() throws {
        let relay = try home.address()
        let output = try saving.open()
        let identity = try ecp1.map { try fromKeyFile($0, relay) } ?? fromWords(relay)
        try saving.save(identity, to: output)
        guard !saving.quiet else { return }
        Terminal.say("id \(identity.id)")
        Terminal.say("restored: the keys; files and sealed messages can be decrypted again")
        Terminal.say(
            "not restored: sessions, opened messages and contacts; to restore a backup of contacts: contact import contacts.age"
        )
        Terminal.say("to let others begin new sessions: keygen prekeys | send")
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
                .malformed,
                "the key file contains \(seed.count) bytes instead of an identity key of 32 bytes",
                hint: "use Kecalek's identity key file; this may be another key")
        }
        if !saving.quiet {
            Terminal.say(
                "\(KeygenTool.toolName): note: this identity has no recovery words: keep the key file"
            )
            Terminal.say(
                "\(KeygenTool.toolName): note: the id is the same, but the age keys are new: give out a new card"
            )
        }
        return Identity(seed: seed, name: saving.name, relay: relay?.text)
    }
}
