import Arguments
import SottoBytes
import SottoPadding
import SottoProgram

@main
struct PadTool: Program {
    static let configuration = CommandConfiguration(
        name: "pad",
        abstract: "Hide the length of data by padding, or remove the padding.",
        usage: """
            sotto pad [--remove] [--scheme SCHEME] [--block BYTES] [-o FILE] [FILE]
            sotto pad --report [--scheme SCHEME] [--block BYTES] [-o FILE] [FILE]
            """,
        discussion: """
            Padding hides a length only inside encryption: pad before encrypt, and remove the padding after \
            decrypt. Sender and recipient use the same scheme.

            EXAMPLES
              sotto pad < report.txt | sotto encrypt -r bob.card > report.age
              sotto decrypt -i bob.key report.age | sotto pad --remove
            """,
        version: sottoVersion)

    @Flag("--remove", help: "Remove the padding.")
    var remove = false

    @Flag(
        "--report",
        help:
            "Print a JSON record for each scheme with the padding that it would add, and do not pad."
    )
    var report = false

    @Option(
        "--scheme", value: "scheme",
        help:
            "bucket (the default): 64 to 65536 bytes, Padme above. pow2: the next power of two. iso7816: a multiple of --block, with the marker only."
    )
    var scheme: PadScheme?

    @Option(
        "--block", value: "bytes", help: "Block size of iso7816, in bytes. Default: 256.",
        values: .any)
    var block: Int?

    @Option(
        "-o", "--output", value: "file",
        help: "Write to this file, which is created only when complete; `-` is stdout.")
    var output: String?

    @Argument("file", help: "Input file; `-` is stdin, the default.")
    var file: String?

    func validate() throws {
        guard !report || !remove else {
            throw UsageError("--report and --remove cannot be combined")
        }
        guard let block else { return }
        guard (1...1 << 30).contains(block) else { throw UsageError("--block must be 1 to 2^30") }
        guard scheme == .iso7816 || report && scheme == nil else {
            throw UsageError("--block is only for --scheme iso7816")
        }
    }

    func execute() throws {
        let input = try Input(path: file)
        let output = try Output(
            path: output, content: report ? .text : .binary, inputs: [input])
        let block = block ?? 256
        let bytes = try input.readAll(limit: Int(Int32.max))
        if report {
            for scheme in scheme.map({ [$0] }) ?? PadScheme.allCases {
                try output.writeLine(scheme.report(on: bytes.count, block: block))
            }
            try output.finish()
            return
        }
        let result =
            switch (scheme ?? .bucket, remove) {
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

/// The schemes of `--scheme`.
enum PadScheme: String, CaseIterable, ExpressibleByArgument {
    case bucket, pow2, iso7816

    /// Returns the record of the padding of `count` bytes. It has no padded length if that would exceed the limit.
    func report(on count: Int, block: Int) -> JSONObject {
        let (rule, padded) =
            switch self {
            case .bucket:
                (
                    count + Padding.overhead <= Padding.buckets.last ?? 0 ? "bucket" : "padme",
                    Padding.Scheme.bucket.frameLength(count)
                )
            case .pow2: ("pow2", Padding.Scheme.pow2.frameLength(count))
            case .iso7816: ("iso7816", Padding.lengthISO7816(count, block: block))
            }
        let isPossible = self == .iso7816 || padded <= Padding.limit
        return JSONObject([
            ("v", .integer(1)), ("type", .string("padding")), ("scheme", .string(rawValue)),
            ("rule", .string(rule)),
            ("block", self == .iso7816 ? .integer(Int64(block)) : nil),
            ("length", .integer(Int64(count))),
            ("padded", isPossible ? .integer(Int64(padded)) : nil),
            ("overhead", isPossible ? .integer(Int64(padded - count)) : nil),
        ])
    }
}
