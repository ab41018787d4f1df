public import ArgumentParser
public import Sotto
import SottoContacts
import SottoTool

@main
struct EncryptTool: Program {
    static let configuration = CommandConfiguration(
        commandName: "encrypt",
        abstract: "Encrypt a file or pipe (age v1), or messages (envelopes).",
        usage: """
            encrypt -r CARD [-r CARD ...] [-R FILE] [-s] [-a] [-o FILE] [FILE]
            encrypt -p [-s] [-a] [-o FILE] [FILE]
            encrypt --to CARD [--to CARD ...] [--jsonl] [-o FILE] [FILE]
            """,
        discussion: """
            With -r, -R or -p the result is an age v1 file, which other age programs read too. With --to it is one \
            JSON envelope a line, for send. CARD is a card file, a sotto: URI or an age1... string.

            EXAMPLES
              tar c photos | encrypt -r bob.card -s -i alice.key > photos.age
              encrypt -p -a notes.txt > notes.txt.age
              echo 'hello, bob' | encrypt --to bob.card -i alice.key | send
            """,
        version: sottoVersion)

    @Option(
        name: [.short, .long],
        help: ArgumentHelp(
            "Encrypt the input as a file to this card; may be repeated.", valueName: "card"))
    var recipient: [String] = []

    @Option(
        name: [.customShort("R"), .long],
        help: ArgumentHelp(
            "Encrypt to every card in this file, one a line; may be repeated.", valueName: "file"))
    var recipientsFile: [String] = []

    @Flag(
        name: [.customShort("p"), .long],
        help: "Encrypt the file with a passphrase, asked for on the terminal.")
    var askPassphrase = false

    @Option(
        help: ArgumentHelp(
            "Encrypt the file with the passphrase from @ENV:NAME, @FD:N or @FILE:PATH.",
            valueName: "source"))
    var passphrase: SecretSource?

    @Flag(name: [.short, .long], help: "Sign the file inside, with your identity.")
    var sign = false

    @Flag(name: [.short, .long], help: "Write the file as ASCII armor.")
    var armor = false

    @Option(
        help: ArgumentHelp(
            "Encrypt the input as a message to this card; may be repeated, an envelope each.",
            valueName: "card"))
    var to: [String] = []

    @Flag(
        help:
            "Each line is a message: a JSON record with a body or text, or, if it does not begin with {, plain text."
    )
    var jsonl = false

    @Flag(help: "Use every card's classic X25519 key, not the post-quantum one.")
    var classic = false

    @Option(
        help: ArgumentHelp(
            "How to protect a message: sealed, or ratchet for a session with forward secrecy. Default: "
                + "the session if there is one, else sealed.", valueName: "suite"))
    var suite: Suite?

    @Option(
        help: ArgumentHelp(
            "Begin the session with this bundle, as recv --bundle prints it; `-` is stdin. May be repeated.",
            valueName: "file"))
    var bundle: [String] = []

    @Flag(help: "Begin a new session though there is one.")
    var newSession = false

    @Flag(name: .customLong("require-opk"), help: "Begin no session without a one-time prekey.")
    var requireOneTime = false

    @Option(
        help: ArgumentHelp(
            "Whose keys to write to: any, first-use (contacts) or verified (compared contacts).",
            valueName: "policy"))
    var trust: TrustPolicy?

    @Flag(help: "Use no state: neither sessions nor contacts.")
    var stateless = false

    @OptionGroup var lock: LockOptions

    @OptionGroup var identity: IdentityOptions

    @Option(
        name: [.short, .long],
        help: ArgumentHelp("Write to this file; `-` is stdout.", valueName: "file"))
    var output: String?

    @Flag(name: [.short, .long], help: "No progress and no notes on stderr.")
    var quiet = false

    @Argument(help: "Input file; `-` is stdin, the default.")
    var file: String?

    func validate() throws {
        try passphrase?.validate()
    }

    /// Checks how the options fit together; only now, so that one that does not exist is said first.
    private func check() throws {
        let isFile = !recipient.isEmpty || !recipientsFile.isEmpty
        let isPassphrase = askPassphrase || passphrase != nil
        guard [isFile, isPassphrase, !to.isEmpty].count(where: { $0 }) <= 1 else {
            throw ValidationError("-r and -R, a passphrase, and --to exclude each other")
        }
        guard isFile || isPassphrase || !to.isEmpty else {
            throw ValidationError("say for whom: -r CARD, -R FILE, -p, or --to CARD")
        }
        guard !(isPassphrase && classic) else {
            throw ValidationError("--classic is for cards, and a passphrase has none")
        }
        let isName = recipient.contains { !Addressee.isWritten($0) && !Addressee.isFile($0) }
        guard !identity.isGiven || sign || !to.isEmpty || isName else {
            throw ValidationError("-i goes with -s or --to; without them nothing is signed")
        }
        guard to.isEmpty || !(sign || armor) else {
            throw ValidationError("-s and -a are for files; a message is always signed")
        }
        guard !jsonl || !to.isEmpty else { throw ValidationError("--jsonl goes with --to") }
        let isSession = suite == .ratchet || !bundle.isEmpty || newSession || requireOneTime
        guard !to.isEmpty || !isSession && suite == nil && trust == nil else {
            throw ValidationError("--suite, --trust and what is for sessions go with --to")
        }
        guard suite != .sealed || bundle.isEmpty && !newSession && !requireOneTime else {
            throw ValidationError("--suite sealed has no session to begin")
        }
        guard bundle.count(where: { $0 == "-" }) + (file == nil || file == "-" ? 1 : 0) <= 1 else {
            throw ValidationError("stdin is one thing only: a bundle or the message")
        }
    }

    func execute() throws {
        try check()
        try Output.check(
            output,
            isNoneOf: identity.files + recipient + recipientsFile + to + bundle
                + [passphrase?.path].compactMap(\.self))
        let input = try Input(path: file)
        if to.isEmpty {
            try encryptFile(input)
        } else {
            try MessageEncryption(tool: self, input: input).run()
        }
    }

    private func encryptFile(_ input: Input) throws {
        let access = try fileAccess()
        let signer = sign ? try identity.load() : nil
        let output = try Output(
            path: output, content: armor ? .text : .binary, inputs: [input])
        let source = PeekingSource(input)
        guard try sign || source.peek(SignedStream.magic.count) != SignedStream.magic else {
            throw Failure(
                .malformed, "the input begins as signed content does, and is not signed",
                hint: "sign it with -s, so that it can be told apart")
        }
        var sink = try AgeFile.writer(
            for: access, armored: armor, namesAudience: sign, to: output)
        if let signer {
            var audience: [String] = []
            if case .recipients(let recipients) = access { audience = recipients.map(\.text) }
            sink = try SignedStreamWriter(
                by: signer.signingKey, audience: SignedStream.audience(audience), to: sink)
        }
        try copy(
            from: source, to: sink,
            progress: Progress(tool: Self.toolName, quiet: quiet || input.isTerminal))
        try sink.finish()
    }

    private func fileAccess() throws -> AgeAccess {
        if let passphrase { return .passphrase(try passphrase.passphrase()) }
        if askPassphrase { return .passphrase(try askForPassphrase()) }
        let book = AddressBook(identity.load, lockTimeout: lock.timeout)
        if !stateless { book.openQuietly(identity) }
        var addressees = try recipient.map { try book.addressee($0) }
        for path in recipientsFile {
            let list = try Addressee.list(in: path)
            guard !list.isEmpty else { throw Failure(.malformed, "\(path) names no recipient") }
            addressees += try list.map { try book.checked($0) }
        }
        var recipients: [AgeRecipient] = []
        for addressee in addressees {
            let recipient = try addressee.recipient(classic: classic)
            // Named twice is meant once; a second stanza would only be longer.
            if !recipients.contains(recipient) { recipients.append(recipient) }
        }
        return .recipients(recipients)
    }

    private func askForPassphrase() throws -> Passphrase {
        let first = Passphrase(try Terminal.ask("Passphrase: ", secret: true))
        let again = Passphrase(try Terminal.ask("The same again: ", secret: true))
        guard first.matches(again) else { throw Failure(.usage, "the two passphrases differ") }
        return first
    }
}

extension Suite: ExpressibleByArgument {}
