import Arguments
import Glibc
import SottoBytes
import SottoQR
import SottoProgram

/// `qr [FILE]`: encodes bytes in a picture.
struct EncodeCommand: Program {
    static let configuration = CommandConfiguration(
        name: "encode",
        abstract: "Make a QR code from a file or standard input (the default command).",
        discussion: """
            Encodes the bytes unchanged, but drops one line feed at the end of piped text, because a shell adds it. \
            Before a picture is written, it is read back and compared with the input. With --split, each part \
            is written to its own picture: card-1.png, card-2.png and so on for -o card.png; text drawings \
            follow each other.
            """)

    @Option(
        "-o", "--output", value: "file", help: "Write to this file; its extension selects the type."
    )
    var output: String?

    @Option(
        "-t", "--type", value: "type", help: "Output type (default: by the output's extension)."
    )
    var type: PictureType?

    @Option(
        "-l", "--level", value: "level",
        help: "Error correction (default: M, or higher if it does not enlarge the code).")
    var level: ErrorCorrection?

    @Option(
        "-s", "--size", value: "size",
        help: "Pixels per module, for png and svg: 1 to 100 (default: 8).", values: .any)
    var size: Int?

    @Option(
        "-m", "--margin", value: "margin", help: "Light modules around the code: 0 to 100.",
        values: .any)
    var margin = 4

    @Option(
        "--split", value: "count",
        help: "Split over this many codes, 1 to 99; auto: at most 640 bytes per code.")
    var split: SplitCount?

    @Flag("--exact", help: "Keep a line feed at the end of piped text.")
    var exact = false

    @Flag(
        "--invert",
        help: "Draw light modules instead of dark ones, for light text on a dark background.")
    var invert = false

    @Argument("file", help: "File to encode (default: standard input).")
    var file: String?

    func execute() throws {
        let plan = try EncodePlan(self)
        let input = try openInput()
        let bytes = try content(of: input)
        if SecretText(beginning: bytes) != nil {
            Terminal.say("qr: note: this is a secret key: whoever sees the code has it")
        } else if WordRun.all(in: bytes).contains(where: \.isLikely) {
            Terminal.say("qr: note: these can be recovery words: whoever sees the code has them")
        }
        let contents =
            try split.map { try $0.codes(of: bytes, level: level ?? .medium) } ?? [whole(bytes)]
        let codes = try contents.map { content throws(Failure) in
            do throws(QREncodeError) {
                guard let level else { return try QRCode(encoding: content, atLeast: .medium) }
                return try QRCode(encoding: content, level: level)
            } catch { throw Failure(error) }
        }
        let paths = try plan.paths(output, count: codes.count, isSplit: split != nil)
        // Opened before the work, so that an output that cannot be written is reported at once.
        let destinations = try paths.map { path throws(Failure) in
            try Output(path: path, content: plan.type == .png ? .binary : .text, inputs: [input])
        }
        for (place, code) in codes.enumerated() {
            let destination = destinations[min(place, destinations.count - 1)]
            try plan.check(code, fitsInto: destination.terminalSize)
            let picture = try plan.picture(
                of: code, holding: contents[place], onTerminal: destination.isTerminal)
            if destinations.count < codes.count {
                try destination.writeText("\(place + 1) of \(codes.count)\n")
            }
            try destination.write(picture)
        }
        for destination in destinations { try destination.finish() }
    }

    /// Opens the input. The name of a file that does not exist can be a misspelled command.
    private func openInput() throws(Failure) -> Input {
        do throws(Failure) {
            return try Input(path: file)
        } catch {
            guard error.status == .noInput, let file else { throw error }
            let commands = QRTool.configuration.subcommands.map { $0.configuration.name }
            throw Failure(
                .noInput, error.message + suggestion(for: file, among: commands),
                hint: error.hint)
        }
    }

    /// Returns the bytes of a single code. Bytes that would be read as a part are made the only part of a set, so that
    /// any input is read back unchanged.
    private func whole(_ bytes: [UInt8]) -> [UInt8] {
        CodePart(parsing: bytes) == nil ? bytes : CodePart.split(bytes, into: 1)[0].code
    }

    private func content(of input: Input) throws(Failure) -> [UInt8] {
        var bytes: [UInt8]
        do throws(Failure) {
            bytes = try input.readAll(limit: 1 << 20)
        } catch {
            guard error.status == .malformed else { throw error }
            throw Failure(tooMuchFor: level ?? .medium, error.message)
        }
        // A named file and its parts are read back byte for byte.
        let isPiped = file == nil || file == "-"
        if isPiped, !exact, split == nil, bytes.last == UInt8(ascii: "\n"), isText(bytes) {
            bytes.removeLast()
        }
        return bytes
    }
}
