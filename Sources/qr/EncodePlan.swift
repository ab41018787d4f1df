public import Arguments
import Glibc
public import SottoQR
import SottoTool

/// What `qr` writes.
enum PictureType: String, CaseIterable, ExpressibleByArgument {
    case png, svg, terminal, ascii

    /// The type that a file's ending stands for; without an ending it is a drawing in text.
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
                .usage, "no type is known by the ending .\(ending)",
                hint: "name one: -t png, -t svg, -t terminal or -t ascii")
        }
    }
}

extension ErrorCorrection: ExpressibleByArgument {
    /// The level of a letter in either case.
    public init?(argument: String) { self.init(rawValue: argument.uppercased()) }
}

/// The flags of `qr`, checked.
struct EncodePlan {
    let type: PictureType
    private let size: Int
    private let margin: Int
    private let invert: Bool

    init(_ flags: EncodeCommand) throws(Failure) {
        if let type = flags.type {
            self.type = type
        } else {
            type = try PictureType(endingOf: flags.output)
        }
        let isText = type == .terminal || type == .ascii
        if isText, flags.size != nil {
            throw Failure(
                .usage, "a drawing in text has no --size", hint: "choose -t png or -t svg")
        }
        if !isText, flags.invert {
            throw Failure(
                .usage, "--invert is for drawings in text",
                hint: "leave it out, or choose -t terminal or -t ascii")
        }
        size = flags.size ?? 8
        margin = flags.margin
        invert = flags.invert
        guard 1...100 ~= size else {
            throw Failure(.usage, "--size must be from 1 to 100")
        }
        guard 0...100 ~= margin else {
            throw Failure(.usage, "--margin must be from 0 to 100")
        }
    }

    /// Where the pictures of `count` codes go: one path for each, or one for drawings in text.
    ///
    /// In a set each has its number before the ending: `card.png` is `card-1.png` and so on.
    func paths(_ output: String?, count: Int, isSplit: Bool) throws(Failure) -> [String?] {
        guard isSplit, type == .png || type == .svg else { return [output] }
        guard let output, output != "-" else {
            if count == 1 { return [output] }
            throw Failure(
                .usage, "\(count) pictures do not go to standard output",
                hint: "name them: -o FILE.\(type.rawValue)")
        }
        let name = output.lastIndex(of: "/").map { output.index(after: $0) } ?? output.startIndex
        let dot = output[name...].lastIndex(of: ".").flatMap { $0 > name ? $0 : nil }
        let end = dot ?? output.endIndex
        return (1...count).map { "\(output[..<end])-\($0)\(output[end...])" }
    }

    /// Throws when a drawing in text would be broken by the end of the terminal's lines.
    func check(_ code: QRCode, fitsInto width: Int?) throws(Failure) {
        let modules = code.side + 2 * margin
        let columns: Int
        switch type {
        case .png, .svg: return
        case .terminal: columns = modules
        case .ascii: columns = 2 * modules
        }
        guard let width, columns > width else { return }
        throw Failure(
            .usage, "the code is \(columns) columns wide, and the terminal \(width)",
            hint: "make the terminal wider, or a picture: -o FILE.png")
    }

    /// The file or drawing, after it has been read again and compared with `bytes`.
    func picture(
        of code: QRCode, holding bytes: [UInt8], onTerminal: Bool
    ) throws(Failure) -> [UInt8] {
        let side = (code.side + 2 * margin) * size
        guard type != .png || side * side <= Raster.maximumPixels else {
            throw Failure(
                .usage, "a picture of \(side) by \(side) pixels is too large",
                hint: "choose a smaller --size or --margin")
        }
        do throws(VerificationError) {
            switch type {
            case .png:
                guard let png = code.png(size: size, margin: margin) else {
                    throw VerificationError.pixels
                }
                try QRCode.verify(png: png, size: size, margin: margin, holds: bytes)
                return png
            case .svg:
                try code.verify(holds: bytes)
                return Array(code.svg(size: size, margin: margin).utf8)
            case .terminal:
                try code.verify(holds: bytes)
                return Array(code.halfBlocks(margin: margin, ink: ink(onTerminal)).utf8)
            case .ascii:
                try code.verify(holds: bytes)
                return Array(code.ascii(margin: margin, ink: ink(onTerminal)).utf8)
            }
        } catch { throw Failure(error) }
    }

    /// Colours where a terminal knows them; elsewhere nobody can tell what the ground will be.
    private func ink(_ onTerminal: Bool) -> Ink {
        let terminal = getenv("TERM").map { String(cString: $0) } ?? "dumb"
        if onTerminal, terminal != "dumb" { return .coloured }
        return invert ? .light : .dark
    }
}
