import Arguments
import Sotto
import SottoContacts
import SottoTool

@main
struct DecryptTool: CoreProgram {
    static let configuration = CommandConfiguration(
        name: "decrypt",
        abstract: "Decrypt an age file, or envelopes into message records.",
        usage: """
            decrypt [-i FILE ...] [--from CARD] [-o FILE] [--text] [--hold] [FILE]
            decrypt [-i FILE] [--chat FILE ...] [--text] [-o FILE] [FILE]
            decrypt --again [--since WHEN] [--text] [-o FILE]
            decrypt --attachment RECORD [-o FILE] BLOB
            decrypt --verify SIGNATURE --from CARD [FILE]
            decrypt --inspect [--json] [-o FILE] [FILE]
            """,
        discussion: """
            The kind of input is detected from its content. Only authenticated data is printed. A file of up to \
            16 MiB is verified completely before the first byte is printed; a longer one is printed in verified \
            chunks, unless --hold or -o is given. Envelopes become message records, one JSON object per line; \
            with --text only the text of messages is printed.

            EXAMPLES
              decrypt -i bob.key --from alice.card photos.age | tar x
              decrypt --passphrase @FILE:secret.txt -o notes.txt notes.txt.age
              recv -i bob.key | decrypt -i bob.key --text
              recv --follow | decrypt | jq -r '.from + ": " + .body.text'
              decrypt --again --since 2026-11-22T09:00:00Z --text --time
              decrypt --chat family.chat < texts
              decrypt --verify photos.tar.minisig --from alice.card photos.tar
              decrypt --inspect photos.age
            """,
        version: sottoVersion)

    @OptionGroup var identity: IdentityListOptions

    @OptionGroup var senders: SenderOptions

    @Option(
        "--passphrase", value: "source",
        help: "Passphrase of the file: @ENV:NAME, @FD:N or @FILE:PATH. Default: ask.")
    var passphrase: SecretSource?

    @Option(
        "-o", "--output", value: "file",
        help: "Write to this file, which is created only when complete; `-` is stdout.")
    var output: String?

    @OptionGroup var form: TextForm

    @Flag("--hold", help: "Print no part of a file before all of it is verified.")
    var hold = false

    @Flag(
        "--preview",
        help: "Print messages without changing the state, as if they had not been opened.")
    var preview = false

    @Flag("--stateless", help: "Do not record opened envelopes: replays are not detected.")
    var stateless = false

    @Option(
        "--verify", value: "file",
        help: "Verify this minisign signature of the input by --from; print nothing.")
    var verify: String?

    @Flag(
        "--inspect", help: "Print the recipient types and sizes of an age file; no key is needed.")
    var inspect = false

    @Flag("--json", help: "Print the result as a JSON record.")
    var json = false

    @OptionGroup var again: AgainOptions

    @Option(
        "--chat", value: "file",
        help: "Open messages of the chat in this file, made by keygen chat; may be repeated.")
    var chat: [String] = []

    @Option(
        "--attachment", value: "record",
        help:
            "Decrypt the input, an attachment, with the key in this message record from decrypt, or in the message with this number."
    )
    var attachment: String?

    @OptionGroup var lock: LockOptions

    @Flag("-q", "--quiet", help: "Print no progress and no notes on stderr.")
    var quiet = false

    @Argument("file", help: "Input file; `-` is stdin, the default.")
    var file: String?

    func validate() throws {
        try senders.check(stateless: stateless)
        guard
            !again.again
                || chat.isEmpty && attachment == nil && file == nil && verify == nil
                    && passphrase == nil
                    && !(preview || stateless || hold || inspect)
        else { throw UsageError("--again reads only the state and takes no input") }
        guard inspect || !json else { throw UsageError("--json requires --inspect") }
        guard !inspect || chat.isEmpty && attachment == nil && senders.trust == nil && verify == nil
        else {
            throw UsageError("--inspect can be combined only with --json, -o, -q and a file")
        }
        try passphrase?.validate()
    }

    func execute() throws {
        try Output.check(
            output,
            isNoneOf: identity.files + senders.from + chat
                + [attachment, passphrase?.path].compactMap(\.self))
        if again.again { return try StoredMessages(tool: self).run() }
        if let record = attachment {
            try openAttachment(of: record)
            return
        }
        if let verify {
            try DetachedVerification(tool: self, path: verify).run()
            return
        }
        let input = try Input(path: file)
        if inspect { return try Inspection(tool: self, input: input).run() }
        // Text that is typed while the tool waits for input, including a passphrase, would be visible.
        if !input.isReady, !input.isTerminal, chat.isEmpty, passphrase == nil {
            try identity.askAhead()
        }
        let source = PeekingSource(input)
        let beginning = try source.peek(Self.beginningSize)
        if AgeFormat.isAge(beginning) {
            try FileDecryption(tool: self, input: input, source: source).run()
        } else if try Self.hasEnvelopes(source, beginning) {
            try openMessages(input, source)
        } else if beginning.isEmpty {
            throw Failure(.no, form.text ? "" : "the input is empty")
        } else {
            throw Failure(
                .malformed, "the input is neither an age file nor envelopes",
                hint: "give the output of encrypt")
        }
    }
}

extension DecryptTool {
    /// The plan for messages, and for those that were opened before.
    var plan: ReadingPlan {
        var plan = ReadingPlan(tool: Self.toolName, form: form, identity: identity)
        plan.from = senders.from
        plan.trust = senders.trust
        plan.preview = preview
        plan.stateless = stateless
        plan.quiet = quiet
        plan.lockTimeout = lock.timeout
        plan.output = output
        return plan
    }

    private func openMessages(_ input: Input, _ source: any ByteSource) throws {
        let (plan, book) = (plan, plan.book())
        let chats = try chat.map { try ChatFile.read($0) }
        let owner = try plan.owner(book, hasChats: !chats.isEmpty)
        try MessageReading(
            plan, EnvelopeInput(chats: chats), book: book, owner: owner, chats: chats,
            senderPolicy: plan.senderPolicy(book, owner: owner), input: input, source: source
        ).run()
    }

    /// The number of bytes that identify most inputs.
    static let beginningSize = 64
    /// The number of bytes that are searched for an envelope.
    private static let detectionLimit = 64 << 10

    /// Returns whether a line begins like an envelope. Lines before it are reported as malformed and do not affect the
    /// others.
    fileprivate static func hasEnvelopes(
        _ source: PeekingSource, _ beginning: [UInt8]
    ) throws -> Bool {
        let text = beginning.drop { $0 <= 0x20 }
        if text.first == UInt8(ascii: "{") || text.starts(with: PhraseKey.mark.utf8) {
            return true
        }
        var (line, searched) = (0, 0)
        var isFound = false
        _ = try source.peek(upTo: detectionLimit) { bytes in
            while !isFound, let feed = bytes[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                isFound = isEnvelopeLike(bytes[line..<feed])
                line = feed + 1
                searched = line
            }
            searched = bytes.count
            isFound = isFound || isEnvelopeLike(bytes[line...])
            return isFound
        }
        return isFound
    }

    /// Returns whether a line begins with a brace that is followed by a quotation mark, another brace, or the end of
    /// the available bytes.
    private static func isEnvelopeLike(_ line: ArraySlice<UInt8>) -> Bool {
        let text = line.drop { $0 <= 0x20 }
        if text.starts(with: PhraseKey.mark.utf8) { return true }
        guard text.first == UInt8(ascii: "{") else { return false }
        switch text.dropFirst().first(where: { $0 > 0x20 }) {
        case nil, UInt8(ascii: "\""), UInt8(ascii: "}"): return true
        default: return false
        }
    }
}
