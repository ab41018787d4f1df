import ArgumentParser
import Sotto
import SottoQR
import SottoTool

/// `qr scan [FILE]`: a picture to bytes.
struct ScanCommand: Program {
    static let configuration = CommandConfiguration(
        commandName: "scan",
        abstract: "Read the QR code in a PNG or JPEG picture; exit 1 when there is none.",
        discussion: """
            Prints exactly the bytes of the code, and no line feed in a pipe. More than one code in a \
            picture is an error unless --all asks for each.
            """)

    @Flag(help: "Print each code, from the top down, with a line feed after each.")
    var all = false

    @Flag(help: "Print a JSON record for each code, its bytes in base64.")
    var json = false

    @Option(
        name: [.short, .long],
        help: ArgumentHelp("Write to this file.", valueName: "file"), completion: .file())
    var output: String?

    @Argument(help: "A PNG or JPEG picture (default: standard input).", completion: .file())
    var file: String?

    func execute() throws {
        let input = try Input(path: file)
        if input.isTerminal {
            throw Failure(.usage, "no picture is given", hint: "name a PNG or JPEG file")
        }
        let bytes = try input.readAll(limit: Picture.maximumBytes)
        let picture: Picture
        do throws(PictureError) {
            picture = try Picture(decoding: bytes)
        } catch { throw Failure(error) }
        let codes: [[UInt8]]
        do throws(ScanError) {
            codes = try picture.codes()
        } catch { throw Failure(error) }
        if codes.isEmpty { throw Failure(.no, "no QR code found") }
        guard all || codes.count == 1 else {
            throw Failure(
                .malformed, "\(codes.count) codes in the picture",
                hint: "--all prints each, or cut the picture to one")
        }
        try write(codes, besides: input)
    }

    private func write(_ codes: [[UInt8]], besides input: Input) throws(Failure) {
        let texts = codes.map { String(validating: $0, as: UTF8.self) }
        let isShown = json || !texts.contains(nil)
        let output = try Output(
            path: output, content: isShown ? .text : .binary, inputs: [input])
        for (code, text) in zip(codes, texts) {
            if json {
                try output.writeLine(record(code, text))
            } else if output.isTerminal, self.output == nil, let text {
                try output.writeText(text.utf8.last == UInt8(ascii: "\n") ? text : text + "\n")
            } else {
                try output.write(all ? code + [UInt8(ascii: "\n")] : code)
            }
        }
        try output.finish()
    }

    private func record(_ code: [UInt8], _ text: String?) -> JSONObject {
        JSONObject([
            ("v", .integer(1)),
            ("type", .string("qr")),
            ("data", .string(Base64.standard.encode(code))),
            ("text", text.map(JSON.string)),
        ])
    }
}
