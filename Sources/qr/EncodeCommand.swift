import ArgumentParser
import Glibc
import Sotto
import SottoQR
import SottoTool

/// `qr [FILE]`: bytes to a picture.
struct EncodeCommand: Program {
    static let configuration = CommandConfiguration(
        commandName: "encode",
        abstract: "Make a QR code of a file or standard input (this is what a bare qr does).",
        discussion: """
            Bytes are taken as they are, except that one line feed at the end of text is dropped. The \
            picture is read again before it is written, and must give back the same bytes.
            """)

    @Option(
        name: [.short, .long],
        help: ArgumentHelp("Write to this file; its ending tells the type.", valueName: "file"),
        completion: .file())
    var output: String?

    @Option(name: [.short, .long], help: "What to make of it (default: by the output's ending).")
    var type: PictureType?

    @Option(name: [.short, .long], help: "Error correction, from least to most.")
    var level: ErrorCorrection = .medium

    @Option(
        name: [.short, .long], parsing: .unconditional,
        help: "Pixels to a module, for png and svg: 1 to 100 (default: 8).")
    var size: Int?

    @Option(
        name: [.short, .long], parsing: .unconditional,
        help: "Light modules around the code: 0 to 100.")
    var margin = 4

    @Flag(help: "Keep a line feed at the end of text.")
    var exact = false

    @Flag(help: "Draw light modules instead of dark ones, for light text on a dark ground.")
    var invert = false

    @Argument(help: "What to encode (default: standard input).", completion: .file())
    var file: String?

    func execute() throws {
        let plan = try EncodePlan(self)
        let input = try Input(path: file)
        let bytes = try content(of: input)
        let code: QRCode
        do throws(QREncodeError) {
            code = try QRCode(encoding: bytes, level: level)
        } catch { throw Failure(error) }
        // Opened before the work, so that what cannot be written is known at once.
        let destination = try Output(
            path: output, content: plan.type == .png ? .binary : .text, inputs: [input])
        try plan.check(code, fitsInto: destination.terminalWidth)
        let picture = try plan.picture(of: code, holding: bytes, onTerminal: destination.isTerminal)
        try destination.write(picture)
        try destination.finish()
    }

    private func content(of input: Input) throws(Failure) -> [UInt8] {
        var bytes: [UInt8]
        do throws(Failure) {
            bytes = try input.readAll(limit: 1 << 20)
        } catch {
            guard error.status == .malformed else { throw error }
            throw Failure(tooMuchFor: level, error.message)
        }
        if !exact, bytes.last == UInt8(ascii: "\n"), isText(bytes) { bytes.removeLast() }
        return bytes
    }
}
