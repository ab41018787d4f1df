import Arguments
import Glibc
import Sotto
import SottoQR
import SottoTool

/// `qr [FILE]`: bytes to a picture.
struct EncodeCommand: Program {
    static let configuration = CommandConfiguration(
        name: "encode",
        abstract: "Make a QR code of a file or standard input (this is what a bare qr does).",
        discussion: """
            Bytes are taken as they are, except that one line feed at the end of piped text is dropped: a shell adds it. The \
            picture is read again before it is written, and must give back the same bytes. With --split a \
            picture is made for each part: card-1.png, card-2.png and so on for -o card.png; a drawing in \
            text has one after the other.
            """)

    @Option("-o", "--output", value: "file", help: "Write to this file; its ending tells the type.")
    var output: String?

    @Option(
        "-t", "--type", value: "type", help: "What to make of it (default: by the output's ending)."
    )
    var type: PictureType?

    @Option(
        "-l", "--level", value: "level",
        help: "Error correction (default: M, and more where the code is no larger for it).")
    var level: ErrorCorrection?

    @Option(
        "-s", "--size", value: "size",
        help: "Pixels to a module, for png and svg: 1 to 100 (default: 8).", values: .any)
    var size: Int?

    @Option(
        "-m", "--margin", value: "margin", help: "Light modules around the code: 0 to 100.",
        values: .any)
    var margin = 4

    @Option(
        "--split", value: "count",
        help: "Spread over so many codes, 1 to 99; auto: over as many as leave 640 bytes to each.")
    var split: SplitCount?

    @Flag("--exact", help: "Keep a line feed at the end of piped text.")
    var exact = false

    @Flag(
        "--invert",
        help: "Draw light modules instead of dark ones, for light text on a dark ground.")
    var invert = false

    @Argument("file", help: "What to encode (default: standard input).")
    var file: String?

    func execute() throws {
        let plan = try EncodePlan(self)
        let input = try Input(path: file)
        let bytes = try content(of: input)
        let contents =
            try split.map { try $0.codes(of: bytes, level: level ?? .medium) } ?? [whole(bytes)]
        let codes = try contents.map { content throws(Failure) in
            do throws(QREncodeError) {
                guard let level else { return try QRCode(encoding: content, atLeast: .medium) }
                return try QRCode(encoding: content, level: level)
            } catch { throw Failure(error) }
        }
        let paths = try plan.paths(output, count: codes.count, isSplit: split != nil)
        // Opened before the work, so that what cannot be written is known at once.
        let destinations = try paths.map { path throws(Failure) in
            try Output(path: path, content: plan.type == .png ? .binary : .text, inputs: [input])
        }
        for (place, code) in codes.enumerated() {
            let destination = destinations[min(place, destinations.count - 1)]
            try plan.check(code, fitsInto: destination.terminalWidth)
            let picture = try plan.picture(
                of: code, holding: contents[place], onTerminal: destination.isTerminal)
            if destinations.count < codes.count {
                try destination.writeText("\(place + 1) of \(codes.count)\n")
            }
            try destination.write(picture)
        }
        for destination in destinations { try destination.finish() }
    }

    /// What the one code of `bytes` holds. Bytes that would be read as a part of something else are made the
    /// only part of a set, so that any bytes come back as they were.
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
        // A named file and its parts come back byte for byte.
        let isPiped = file == nil || file == "-"
        if isPiped, !exact, split == nil, bytes.last == UInt8(ascii: "\n"), isText(bytes) {
            bytes.removeLast()
        }
        return bytes
    }
}
