import Arguments
import Glibc
import Sotto
import SottoTool
import SottoWire

/// `keygen rotate`: a new identity in place of an old one, and the succession for contacts.
struct RotateCommand: Program {
    static let configuration = CommandConfiguration(
        name: "rotate",
        abstract:
            "Create a new identity in place of an old one, and print the succession that both keys sign.",
        usage: """
            sotto keygen rotate [--name NAME] [--relay URL] -o NEW [OLD]
            sotto keygen rotate --again [FILE]
            """,
        discussion: """
            The succession and the card of the new identity are printed for send, but not on a terminal. Contacts are shown \
            it, and each decides with contact accept-key: a thief of the words can sign one too, and can be first. If two \
            successions of an identity exist, contacts take neither. The name and the relay are those of the old identity by \
            default. If the old file has a passphrase, the new one gets one too: it is asked for, or that of \
            --identity-passphrase. The old file stays: for 30 days recv also fetches the mail of the old identity, into its own inbox. \
            Contacts, groups and messages stay with the old identity; contact export and contact import copy the contacts. \
            Groups invite the new identity like any person; an owner makes it owner first.

            EXAMPLES
              sotto keygen rotate -o alice-2.key alice.key | sotto send
              sotto contact export -i alice.key | sotto contact import -i alice-2.key
              sotto keygen rotate --again alice-2.key > succession
            """)

    @OptionGroup var saving: SavingOptions

    @OptionGroup var home: RelayOptions

    @OptionGroup var passphrase: WordsPassphraseOptions

    @Flag(
        "--again",
        help: "Print the records of an earlier rotation; FILE is the old or the new identity.")
    var again = false

    @Flag("--confirm", help: "Ask for three of the words before the identity is written.")
    var confirm = false

    @OptionGroup var records: RecordOutput

    @OptionGroup var identity: IdentityOptions

    @Argument("file", help: "Identity file. Default: as -i.")
    var file: String?

    func validate() throws {
        guard !confirm || Terminal.isTerminal(2) else {
            throw UsageError("--confirm requires a terminal, on which the words are shown")
        }
        let isNew = saving.output != nil || saving.protect || confirm || !saving.name.isEmpty
        guard !again || !isNew && home.relay == nil && passphrase.wordsPassphrase == nil else {
            throw UsageError("--again makes no identity: give only its file")
        }
    }

    func execute() throws {
        if again { return try printAgain() }
        guard let path = saving.output, path != "-" else {
            throw Failure(
                .usage, "the new identity needs a file of its own", hint: "name it with -o FILE")
        }
        let relay = try home.address()
        let destination = try SavingOptions.open(
            path, protect: saving.protect || isProtected(), passphrase: newPassphrase,
            tool: KeygenTool.toolName, quiet: saving.quiet)
        let mnemonic = Mnemonic(randomWordCount: 24, wordlist: .english)
        let wordsPassphrase = try passphrase.read(isNew: true)
        var succession: Succession?
        let old = try identity.replaceRecord(argument: file) { record in
            let old = try Identity(record: record)
            if let earlier = old.succession, earlier.former == old.id {
                throw Failure(
                    .cannotCreate,
                    "\(earlier.next) replaces this identity since \(earlier.issued); of two successions contacts take neither",
                    hint: "to print it again: sotto keygen rotate --again")
            }
            try requireMachineOne(old)
            func new(_ others: JSONObject = JSONObject()) -> Identity {
                Identity(
                    mnemonic: mnemonic, name: saving.name.isEmpty ? old.name : saving.name,
                    passphrase: wordsPassphrase, relay: relay?.text ?? old.relay, others: others)
            }
            let made = Succession(of: old, by: new(), issued: .now())
            // A relay with a long address can make the record too long for its readers.
            _ = try Succession(record: made.record)
            try NewWords(mnemonic, hasPassphrase: !wordsPassphrase.isEmpty, saving).show()
            if confirm { try WordCheck.run(mnemonic) }
            let place: [(String, JSON?)] = [("file", .string(try formerPath()))]
            try saving.save(
                new([
                    "succession": .object(made.record), "former": .object(JSONObject(place)),
                ]), to: destination)
            record["succession"] = .object(made.record)
            succession = made
        }
        guard let succession else { return }
        if !saving.quiet { describe(succession, old: old, new: path) }
        guard records.isForced || !Terminal.isTerminal(1) else { return }
        try print(succession)
    }

    /// Whether the old file has a passphrase. The new one then gets one too.
    private func isProtected() throws -> Bool {
        let path = try file ?? identity.identities.first ?? IdentityFile.defaultPath()
        if case .none = try IdentityFile.protection(of: path) { return false }
        return true
    }

    /// The source of the new passphrase: that of the old one if only that is given; `nil` for a prompt. A descriptor is read once.
    private var newPassphrase: SecretSource? {
        if let given = saving.passphrase { return given }
        guard let old = identity.passphrase else { return nil }
        if case .descriptor = old { return nil }
        return old
    }

    /// Returns the absolute path of the old file, which the new one names.
    private func formerPath() throws -> String {
        let path = try file ?? identity.identities.first ?? IdentityFile.defaultPath()
        guard let resolved = realpath(path, nil) else { throw Failure(errno: errno, "read", path) }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    private func describe(_ succession: Succession, old: String, new: String) {
        func note(_ text: String) { Terminal.note(text) }
        if Terminal.isTerminal(1), !records.isForced {
            note(
                "contacts do not know it yet; to publish it: sotto keygen rotate --again --send \(shellWord(new))"
            )
        }
        note(
            "keep \(old) in its place until \(succession.graceEnd), because recv with the new identity also fetches its mail"
        )
        note(
            "to copy the contacts: sotto contact export -i \(shellWord(old)) | sotto contact import -i \(shellWord(new))"
        )
    }

    private func printAgain() throws {
        try records.check()
        guard let succession = try identity.load(argument: file).succession else {
            throw Failure(
                .no, "this identity replaces no other and was not replaced",
                hint: "to replace it: sotto keygen rotate -o FILE")
        }
        try print(succession)
    }

    private func print(_ succession: Succession) throws {
        let output = try Output(path: "-", content: .text)
        try output.writeLine(succession.record)
        if let card = succession.card.record { try output.writeLine(card) }
        try output.finish()
    }
}
