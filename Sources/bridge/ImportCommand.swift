import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoMessengers
import SottoState
import SottoTool
import SottoWire

struct ImportCommand: Program {
    static let configuration = CommandConfiguration(
        name: "import",
        abstract: "Read a key or the contacts from a messenger's own file.",
        usage: """
            sotto bridge import ecp1 KEYFILE [--password SOURCE] [--name NAME] [--relay URL] [-o IDENTITY] [--protect]
            sotto bridge import rsa PEM [--password SOURCE] [-i IDENTITY]
            sotto bridge import contacts [FILE]
            """,
        discussion: """
            ecp1 makes an identity from Kecalek's key file. rsa stores an RSA key for Mercurio in an identity. contacts adds \
            the contacts of Whisper2's encrypted backup to the address book; known contacts are not changed.

            EXAMPLES
              sotto bridge import ecp1 alice.ecp1 --name alice -o alice.key
              sotto bridge import rsa alice.pem -i alice.key
              sotto bridge import contacts contacts.w2
            """)

    @OptionGroup var saving: SavingOptions

    @Option(
        "--relay", value: "url",
        help:
            "ecp1: the relay where you fetch your mail; it is stored in the identity and included in its cards."
    )
    var relay: String?

    @OptionGroup var password: PasswordOptions

    @OptionGroup var identity: IdentityOptions

    @OptionGroup var lock: LockOptions

    @Argument("what", help: "The format to read: ecp1, rsa or contacts.")
    var kind: ImportMode

    @Argument("file", help: "Input file. Default for contacts: stdin.")
    var file: String?

    let given = GivenArguments()

    func checkMode() throws { try given.check(for: kind) }

    func validate() throws {
        guard file != nil || kind == .contacts else {
            throw UsageError("\(kind.rawValue) requires a file")
        }
    }

    func execute() throws {
        switch kind {
        case .ecp1: try importECP1(file ?? "-")
        case .rsa: try importRSA(file ?? "-")
        case .contacts: try importContacts()
        }
    }

    private func importECP1(_ path: String) throws {
        let tool = BridgeTool.toolName
        let relay = try relay.map { try RelayURL(argument: $0) }
        let output = try saving.open(tool: tool)
        let file = try ECP1File(Input(path: path).readAll(limit: ECP1File.limit))
        let seed = try file.open(password: try KeyFile.password(of: path, password.password))
        guard seed.count == 32 else {
            throw Failure(
                .malformed,
                "the key file contains \(seed.count) bytes instead of an identity key of 32 bytes",
                hint: "use Kecalek's identity key file; this may be another key")
        }
        if !saving.quiet {
            Terminal.say(
                "\(tool): note: this identity has no recovery words: keep the key file")
            Terminal.say(
                "\(tool): note: the id is the same, but the age keys are new: give out a new card")
        }
        let owner = Identity(seed: seed, name: saving.name, relay: relay?.text)
        try saving.save(owner, to: output)
        if !saving.quiet { Terminal.say("id \(owner.id)") }
    }

    private func importRSA(_ path: String) throws {
        let key = try KeyFile.rsaKey(at: path, password.password) {
            try MercurioPrivateKey(file: $0)
        } encrypted: {
            try MercurioPrivateKey(encryptedFile: $0, password: $1)
        }
        try identity.store(Identity.members(rsaKey: key), in: nil, quiet: saving.quiet)
    }

    private func importContacts() throws {
        var bytes = try Input(path: file).readAll(limit: Whisper2Backup.limit)
        // The backup is a record, or the file itself, which can have any bytes.
        if bytes.starts(with: ByteOrderMark.bytes + Array("{".utf8)) {
            ByteOrderMark.remove(from: &bytes)
        }
        let book = AddressBook(
            identity.load, lockTimeout: lock.timeout, accounts: MessengerAccounts())
        let entries = try Whisper2Backup.open(bytes, book.identity())
        let store = try book.writableStore()
        let output = try Output(path: "-", content: .text)
        var outcome = LineOutcome()
        var added = 0
        for (index, value) in entries.enumerated() {
            switch try take(value, store) {
            case .success(.added):
                added += 1
                outcome.succeeded()
            case .success(.completed(let contact)), .success(.known(let contact)),
                .success(.outdated(let contact)), .success(.changed(let contact, _)):
                outcome.succeeded()
                note("\(contact.name) is already a contact and was not changed")
            case .failure(let failure):
                try output.writeLine(outcome.failed(failure, line: index + 1))
            }
        }
        try output.finish()
        guard !outcome.isEmpty else {
            throw Failure(.no, saving.quiet ? "" : "the input has no contacts")
        }
        note("\(added) contact\(added == 1 ? "" : "s") added")
        try outcome.end(tool: BridgeTool.toolName)
    }

    /// Adds one contact: `{"whisperId","name","publicKey","signingPublicKey"}`.
    private func take(
        _ value: JSON, _ store: IdentityStore
    ) throws -> Result<Introduction, Failure> {
        do {
            let entry = try Whisper2Entry(value)
            return .success(
                try store.transaction {
                    try $0.introduce(.whisper2(entry.account), as: entry.name)
                })
        } catch {
            guard let failure = (error as? Failure) ?? Failure(core: error) else { throw error }
            return .failure(failure)
        }
    }

    private func note(_ text: String) {
        if !saving.quiet { Terminal.say("\(BridgeTool.toolName): \(text)") }
    }
}
