import Arguments
import Sotto
import SottoTool

@main
struct DecryptTool: CoreProgram {
    static let configuration = CommandConfiguration(
        name: "decrypt",
        abstract: "Decrypt an age file, or envelopes into message records.",
        usage: """
            decrypt [-i FILE ...] [--from CARD] [-o FILE] [--text] [--hold] [FILE]
            decrypt [-i FILE] [--chat FILE ...] [--suite SUITE] [--text] [-o FILE] [FILE]
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

    @Option(
        "--from", value: "card",
        help:
            "Require the signature of this card's owner or this contact; may be repeated to accept one of several."
    )
    var from: [String] = []

    @Option(
        "--trust", value: "policy",
        help:
            "Print messages of these senders: any, first-use (contacts) or verified (compared contacts). "
            + "Default: first-use if you have contacts. Others wait as requests.")
    var trust: TrustPolicy?

    @Option(
        "--passphrase", value: "source",
        help: "Passphrase of the file: @ENV:NAME, @FD:N or @FILE:PATH. Default: ask.")
    var passphrase: SecretSource?

    @Option(
        "-o", "--output", value: "file",
        help: "Write to this file, which is created only when complete; `-` is stdout.")
    var output: String?

    @Flag("--text", help: "Print only the text of messages, each with a line feed.")
    var text = false

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

    @OptionGroup var form: TextForm

    @OptionGroup var other: SuiteArguments

    @OptionGroup var lock: LockOptions

    @Flag("-q", "--quiet", help: "Print no progress and no notes on stderr.")
    var quiet = false

    @Argument("file", help: "Input file; `-` is stdin, the default.")
    var file: String?

    func validate() throws {
        guard !stateless || trust == nil || trust == .any else {
            throw UsageError("--stateless has no contacts, so only --trust any is possible")
        }
        guard text || !form.isMarked else {
            throw UsageError("--time and --null require --text")
        }
        guard
            !form.again
                || other.isUnused && file == nil && verify == nil && passphrase == nil
                    && !(preview || stateless || hold || inspect)
        else { throw UsageError("--again reads only the state and takes no input") }
        guard inspect || !json else { throw UsageError("--json requires --inspect") }
        guard !inspect || other.isUnused && trust == nil && verify == nil else {
            throw UsageError("--inspect can be combined only with --json, -o, -q and a file")
        }
        try passphrase?.validate()
    }

    func execute() throws {
        for path in [output, other.ack] {
            try Output.check(
                path,
                isNoneOf: identity.files + from + other.files
                    + [passphrase?.path].compactMap(\.self))
        }
        if form.again { return try StoredMessages(tool: self).run() }
        if let record = other.attachment {
            try AttachmentDecryption(tool: self, record: record).run()
            return
        }
        if let verify {
            try DetachedVerification(tool: self, path: verify).run()
            return
        }
        let input = try Input(path: file)
        if inspect { return try Inspection(tool: self, input: input).run() }
        // Text that is typed while the tool waits for input, including a passphrase, would be visible.
        if !input.isReady, !input.isTerminal, other.chat.isEmpty, passphrase == nil {
            try identity.askAhead()
        }
        let source = PeekingSource(input)
        let beginning = try source.peek(Self.beginningSize)
        if AgeFormat.isAge(beginning) {
            try FileDecryption(tool: self, input: input, source: source).run()
        } else if try !beginning.isEmpty && other.ownCopy || Self.hasEnvelopes(source, beginning) {
            try MessageDecryption(tool: self, input: input, source: source).run()
        } else if beginning.isEmpty {
            throw Failure(.no, text ? "" : "the input is empty")
        } else {
            throw Failure(
                .malformed, "the input is neither an age file nor envelopes",
                hint: "give the output of encrypt")
        }
    }
}

extension DecryptTool {
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
