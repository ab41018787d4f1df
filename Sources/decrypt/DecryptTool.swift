import ArgumentParser
import Sotto
import SottoTool

@main
struct DecryptTool: Program {
    static let configuration = CommandConfiguration(
        commandName: "decrypt",
        abstract: "Decrypt an age file, or envelopes into message records.",
        usage: "decrypt [-i FILE ...] [--from CARD] [-o FILE] [--text] [--hold] [FILE]",
        discussion: """
            What the input is, is found from its content. Nothing is printed that is not authenticated. A \
            file of up to 16 MiB is verified to its end before the first byte is printed; of a longer one \
            verified chunks are, unless --hold or -o. Envelopes become message records, one JSON object a line; \
            with --text only what they say.

            EXAMPLES
              decrypt -i bob.key --from alice.card photos.age | tar x
              decrypt --passphrase @FILE:secret.txt -o notes.txt notes.txt.age
              recv -i bob.key | decrypt -i bob.key --text
              recv --follow | decrypt | jq -r '.name + ": " + .body.text'
            """,
        version: sottoVersion)

    @OptionGroup var identity: IdentityOptions

    @Option(
        help: ArgumentHelp(
            "Demand that this card's owner, or this contact, signed; may be repeated, then one of them.",
            valueName: "card"))
    var from: [String] = []

    @Option(
        help: ArgumentHelp(
            "Whose messages to print: any, first-use (contacts) or verified (compared contacts). "
                + "Default: first-use once there are contacts. Others wait as requests.",
            valueName: "policy"))
    var trust: TrustPolicy?

    @Option(
        help: ArgumentHelp(
            "Passphrase of the file: @ENV:NAME, @FD:N or @FILE:PATH. Default: ask.",
            valueName: "source"))
    var passphrase: SecretSource?

    @Option(
        name: [.short, .long],
        help: ArgumentHelp(
            "Write to this file, whole or not at all; `-` is stdout.", valueName: "file"))
    var output: String?

    @Flag(help: "Print the text of messages alone, each with a line feed.")
    var text = false

    @Flag(help: "Print nothing of a file of any length before its end is verified.")
    var hold = false

    @Flag(help: "Print messages, and keep nothing: as if they had not been opened.")
    var preview = false

    @Flag(help: "Keep no record of opened envelopes: repeats are not noticed.")
    var stateless = false

    @Option(
        help: ArgumentHelp(
            "Wait so long for another process that uses the state.", valueName: "seconds"))
    var lockTimeout = 10.0

    @Flag(name: [.short, .long], help: "No progress and no notes on stderr.")
    var quiet = false

    @Argument(help: "Input file; `-` is stdin, the default.")
    var file: String?

    func execute() throws {
        let input = try Input(path: file)
        let source = PeekingSource(input)
        let beginning = try source.peek(64)
        if AgeFormat.isAge(beginning) {
            try FileDecryption(tool: self, input: input, source: source).run()
        } else if beginning.first(where: { $0 > 0x20 }) == UInt8(ascii: "{") {
            try MessageDecryption(tool: self, input: input, source: source).run()
        } else if beginning.isEmpty {
            throw Failure(.no, text ? "" : "the input is empty")
        } else {
            throw Failure(
                .malformed, "the input is neither an age file nor envelopes",
                hint: "encrypt makes both")
        }
    }
}
