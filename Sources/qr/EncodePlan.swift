public import Arguments
import Glibc
import SottoBytes
public import SottoQR
import SottoProgram

/// The output types of `qr`.
enum PictureType: String, CaseIterable, ExpressibleByArgument {
    case png, svg, terminal, ascii

    /// Selects the type by a file's extension; without an extension, a text drawing.
    init(endingOf path: String?) throws(Failure) {
        let name = path?.split(separator: "/").last ?? ""
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else {
            self = .terminal
            return
        }
        switch name[name.index(after: dot)...].lowercased() {
        case "png": self = .png
        case "svg": self = .svg
        case "txt", "": self = .terminal
        case let ending:
            throw Failure(
                .usage, "the extension .\(ending) is not a known type",
                hint: "select the type: -t png, -t svg, -t terminal or -t ascii")
        }
    }
}

extension ErrorCorrection: ExpressibleByArgument {
    /// Parses a level, in upper or lower case.
    public init?(argument: String) { self.init(rawValue: argument.uppercased()) }
}

/// The validated options of `qr`.
struct EncodePlan {
    let type: PictureType
    private let size: Int
    private let margin: Int
    private let invert: Bool
    /// Whether the user chose a text drawing, which is then drawn on a terminal of any size.
    private let isChosen: Bool

    init(_ flags: EncodeCommand) throws(Failure) {
        if let type = flags.type {
            self.type = type
        } else {
            type = try PictureType(endingOf: flags.output)
        }
        let isText = type == .terminal || type == .ascii
        if isText, flags.size != nil {
            throw Failure(
                .usage, "--size is not for text drawings", hint: "use -t png or -t svg")
        }
        if !isText, flags.invert {
            throw Failure(
                .usage, "--invert is only for text drawings",
                hint: "omit it, or use -t terminal or -t ascii")
        }
        size = flags.size ?? 8
        margin = flags.margin
        invert = flags.invert
        isChosen = flags.type != nil
        guard 1...100 ~= size else {
            throw Failure(.usage, "--size must be from 1 to 100")
        }
        guard 0...100 ~= margin else {
            throw Failure(.usage, "--margin must be from 0 to 100")
        }
    }

    /// Returns the output paths of `count` codes: one for each, or one for text drawings.
    ///
    /// With `--split`, each has its number before the extension: `card.png` becomes `card-1.png` and so on.
    func paths(_ output: String?, count: Int, isSplit: Bool) throws(Failure) -> [String?] {
        guard isSplit, type == .png || type == .svg else { return [output] }
        guard let output, output != "-" else {
            if count == 1 { return [output] }
            throw Failure(
                .usage, "\(count) pictures cannot be written to standard output",
                hint: "give a name: -o FILE.\(type.rawValue)")
        }
        let name = output.lastIndex(of: "/").map { output.index(after: $0) } ?? output.startIndex
        let dot = output[name...].lastIndex(of: ".").flatMap { $0 > name ? $0 : nil }
        let end = dot ?? output.endIndex
        return (1...count).map { "\(output[..<end])-\($0)\(output[end...])" }
    }

    /// Throws if a text drawing that the user did not choose does not fit into the terminal.
    func check(_ code: QRCode, fitsInto terminal: Terminal.Size?) throws(Failure) {
        guard !isChosen, let terminal, let needed = drawnSize(of: code),
            needed.columns > terminal.columns || needed.rows > terminal.rows
        else { return }
        throw Failure(
            .usage,
            "the code does not fit into this terminal (\(terminal.columns)x\(terminal.rows), needs \(needed.columns)x\(needed.rows))",
            hint: "give the command -o FILE.png for a picture, or -t terminal")
    }

    /// Returns the size of a text drawing with one more line for its number or the prompt, or `nil` for a picture.
    private func drawnSize(of code: QRCode) -> Terminal.Size? {
        let modules = code.side + 2 * margin
        switch type {
        case .png, .svg: return nil
        case .terminal: return Terminal.Size(columns: modules, rows: (modules + 1) / 2 + 1)
        case .ascii: return Terminal.Size(columns: 2 * modules, rows: modules + 1)
        }
    }

    /// Returns the file or drawing, after it was read back and compared with `bytes`. A drawing in another format than PNG
    /// is read as the smallest PNG picture of the same code.
    func picture(
        of code: QRCode, holding bytes: [UInt8], onTerminal: Bool
    ) throws(Failure) -> [UInt8] {
        let side = (code.side + 2 * margin) * size
        guard type != .png || side * side <= Raster.maximumPixels else {
            throw Failure(
                .usage, "a picture of \(side) by \(side) pixels is too large",
                hint: "use a smaller --size or --margin")
        }
        let (pixels, border) = type == .png ? (size, margin) : (1, 0)
        guard let png = code.png(size: pixels, margin: border) else {
            throw Failure(VerificationError.outOfMemory)
        }
        do throws(VerificationError) {
            try QRCode.verify(png: png, size: pixels, margin: border, holds: bytes)
        } catch { throw Failure(error) }
        return switch type {
        case .png: png
        case .svg: Array(code.svg(size: size, margin: margin).utf8)
        case .terminal: Array(code.halfBlocks(margin: margin, ink: ink(onTerminal)).utf8)
        case .ascii: Array(code.ascii(margin: margin, ink: ink(onTerminal)).utf8)
        }
    }

    /// Colors if the terminal supports them; otherwise the background is unknown.
    private func ink(_ onTerminal: Bool) -> Ink {
        let terminal = getenv("TERM").map { String(cString: $0) } ?? "dumb"
        if onTerminal, terminal != "dumb" { return .coloured }
        return invert ? .light : .dark
    }
}
