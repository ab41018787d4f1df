import Arguments
import SottoBytes
import SottoQR
import SottoProgram

/// `qr scan [FILE ...]`: decodes pictures to bytes.
struct ScanCommand: Program {
    static let configuration = CommandConfiguration(
        name: "scan",
        abstract:
            "Read the QR code in a PNG, JPEG or PNM picture; exit with 1 if no code is found.",
        discussion: """
            Prints exactly the bytes of the code, and no line feed in a pipe. The parts of one content, as \
            --split makes them, are joined from any number of pictures; exits with 15 if some are missing. \
            Otherwise more than one code is an error without --all. With --camera it reads until it finds a \
            code or all parts of one content; with --all until Ctrl-C.
            """)

    @Flag(
        "--all",
        help: "Print each code, from top to bottom, with a line feed after each; do not join parts."
    )
    var all = false

    @Flag("--json", help: "Print a JSON record for each code, with its bytes in base64.")
    var json = false

    @Option("-o", "--output", value: "file", help: "Write to this file.")
    var output: String?

    @Option(
        "--camera", value: "device",
        help: "Read this camera instead of pictures, for example /dev/video0.")
    var camera: String?

    @Option(
        "--time-limit", value: "seconds",
        help: "Processor time limit for all pictures together, in seconds.", values: .any)
    var timeLimit = 30

    @Option(
        "--memory-limit", value: "mib", help: "Address space limit for the search, in MiB.",
        values: .any)
    var memoryLimit = 1024

    @Argument("file", help: "PNG, JPEG or PNM pictures (default: standard input).")
    var files: [String] = []

    let given = GivenArguments()

    func checkMode() throws {
        guard camera != nil else { return }
        for limit in ["--time-limit", "--memory-limit"] {
            try given.refuse(limit, with: "--camera")
        }
    }

    func validate() throws {
        guard 1...86_400 ~= timeLimit else {
            throw UsageError("--time-limit must be from 1 to 86400 seconds")
        }
        guard 64...1 << 20 ~= memoryLimit else {
            throw UsageError("--memory-limit must be from 64 to 1048576 MiB")
        }
    }

    func execute() throws {
        if let camera { return try watch(camera) }
        guard files.count(where: { $0 == "-" }) < 2 else {
            throw Failure(.usage, "standard input can be given only once")
        }
        let inputs = try files.isEmpty ? [Input(path: nil)] : files.map(Input.init(path:))
        if inputs.contains(where: \.isTerminal) {
            throw Failure(.usage, "no picture file is given", hint: "give a PNG or JPEG file")
        }
        let process = try ScanProcess(
            .pictures(.init(seconds: timeLimit, mebibytes: memoryLimit)))
        var pictures: [ScannedPicture] = []
        for (place, input) in inputs.enumerated() {
            let file = files.isEmpty || files[place] == "-" ? nil : files[place]
            pictures.append(
                try ScannedPicture(
                    input, file: file, isOneOfSeveral: inputs.count > 1, all: all, by: process))
        }
        if pictures.contents.isEmpty { throw Failure(.no, "no QR code found") }
        for (picture, input) in zip(pictures, inputs) where picture.symbols.isEmpty {
            Terminal.say("qr: note: no QR code found in \(input.name)")
        }
        try write(try all ? each(of: pictures) : [one(of: &pictures, by: process)], besides: inputs)
    }

    /// The bytes to print for a code, and its record.
    struct Content {
        let bytes: [UInt8]
        let record: JSONObject
    }

    private func each(of pictures: [ScannedPicture]) -> [Content] {
        pictures.flatMap { picture in
            picture.symbols.map { content(of: $0, in: picture.file) }
        }
    }

    /// Returns the content of a code found in a file or by a camera.
    func content(of symbol: Symbol, in file: String?) -> Content {
        var record = record(symbol.bytes)
        record["file"] = file.map(JSON.string)
        describe(symbol, in: &record)
        return Content(bytes: symbol.bytes, record: record)
    }

    /// Returns a content that was split over several codes.
    func content(of bytes: [UInt8], parts: Int) -> Content {
        var record = record(bytes)
        record["parts"] = .integer(Int64(parts))
        return Content(bytes: bytes, record: record)
    }

    /// Returns the only content. For a content in parts, the record has their number instead of a polygon.
    private func one(
        of pictures: inout [ScannedPicture], by process: ScanProcess
    ) throws(Failure) -> Content {
        let (bytes, parts) = try pictures.content(by: process)
        if let parts { return content(of: bytes, parts: parts) }
        for picture in pictures {
            if let symbol = picture.symbols.first { return content(of: symbol, in: picture.file) }
        }
        return Content(bytes: bytes, record: record(bytes))
    }

    private func describe(_ symbol: Symbol, in record: inout JSONObject) {
        record["symbology"] = .string("QR Code")
        record["polygon"] = .array(
            symbol.polygon.map { point in
                .array([.integer(Int64(point.x.rounded())), .integer(Int64(point.y.rounded()))])
            })
        guard let part = CodePart(parsing: symbol.bytes) else { return }
        record["part"] = .object(
            JSONObject([
                ("set", .string(hex(part.set))), ("index", .integer(Int64(part.index))),
                ("count", .integer(Int64(part.count))),
            ]))
    }

    /// Prints all contents.
    func write(_ contents: [Content], besides inputs: [Input] = []) throws(Failure) {
        let texts = contents.map { String(validating: $0.bytes, as: UTF8.self) }
        let isShown = json || !texts.contains(nil)
        let output = try Output(path: output, content: isShown ? .text : .binary, inputs: inputs)
        for (content, text) in zip(contents, texts) {
            if json {
                try output.writeLine(content.record)
            } else if output.isTerminal, self.output == nil, let text {
                try output.writeText(text.utf8.last == UInt8(ascii: "\n") ? text : text + "\n")
            } else {
                try output.write(all ? content.bytes + [UInt8(ascii: "\n")] : content.bytes)
            }
        }
        try output.finish()
    }

    private func record(_ code: [UInt8]) -> JSONObject {
        JSONObject([
            ("v", .integer(1)),
            ("type", .string("qr")),
            ("data", .base64(code)),
            ("text", String(validating: code, as: UTF8.self).map(JSON.string)),
        ])
    }
}
