import ArgumentParser
import Sotto
import SottoTool

@main
struct PadTool: Program {
    static let configuration = CommandConfiguration(
        commandName: "pad",
        abstract: "Hide a length, and undo it.",
        usage: "pad [--remove] [--scheme SCHEME] [-o FILE] [FILE]",
        discussion: """
            Padding hides a length only inside encryption, and is removed only after decryption: pad before \
            encrypt, remove after decrypt. Both ends name the same scheme.

            EXAMPLES
              pad < report.txt | encrypt -r bob.card > report.age
              decrypt -i bob.key report.age | pad --remove
            """,
        version: sottoVersion)

    @Flag(help: "Undo the padding.")
    var remove = false

    @Option(
        help: ArgumentHelp(
            "bucket: 64 to 65536 bytes, Padme above. pow2: the next power of two. iso7816: a multiple of --block, its marker only.",
            valueName: "scheme"))
    var scheme = PadScheme.bucket

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Block size of iso7816, in bytes. Default: 256.", valueName: "bytes"))
    var block: Int?

    @Option(
        name: [.short, .long],
        help: ArgumentHelp(
            "Write to this file, whole or not at all; `-` is stdout.", valueName: "file"))
    var output: String?

    @Argument(help: "Input file; `-` is stdin, the default.")
    var file: String?

    func validate() throws {
        guard let block else { return }
        guard (1...1 << 30).contains(block) else { throw ValidationError("--block is 1 to 2^30") }
        guard scheme == .iso7816 else {
            throw ValidationError("--block goes with --scheme iso7816")
        }
    }

    func execute() throws {
        let input = try Input(path: file)
        let output = try Output(path: output, content: .binary, inputs: [input])
        let block = block ?? 256
        let bytes = try input.readAll(limit: Int(Int32.max))
        let result =
            switch (scheme, remove) {
            case (.bucket, false): try Padding.frame(bytes)
            case (.bucket, true): try Padding.unframe(bytes)
            case (.pow2, false): try Padding.frame(bytes, scheme: .pow2)
            case (.pow2, true): try Padding.unframe(bytes, scheme: .pow2)
            case (.iso7816, false): Padding.padISO7816(bytes, block: block)
            case (.iso7816, true): try Padding.unpadISO7816(bytes, block: block)
            }
        try output.write(result)
        try output.finish()
    }
}

/// What `--scheme` names.
enum PadScheme: String, CaseIterable, ExpressibleByArgument {
    case bucket, pow2, iso7816
}
