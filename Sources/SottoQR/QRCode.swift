import CQREncode

/// Why bytes do not become a QR code.
public enum QREncodeError: Error, Sendable, Hashable {
    /// There are no bytes.
    case empty
    /// More bytes than the largest code holds in their mode at the level that was asked for.
    case tooLong(count: Int, mode: EncodingMode, level: ErrorCorrection)
    /// The encoder is out of memory.
    case outOfMemory
}

/// A QR code, model 2 (ISO/IEC 18004): a square of dark and light modules.
public struct QRCode: Sendable, Hashable {
    /// The number of modules on a side, without a margin: 21 to 177.
    public let side: Int
    /// `side` times `side` modules, row by row from the top; `true` is dark.
    public let modules: [Bool]

    /// The smallest code that holds exactly `bytes` at `level`.
    ///
    /// The bytes stand in one segment of the densest mode that all of them allow, without an ECI, so that
    /// readers that are asked for bytes give back these and no others.
    public init(encoding bytes: [UInt8], level: ErrorCorrection = .medium) throws(QREncodeError) {
        let mode = EncodingMode(for: bytes)
        guard !bytes.isEmpty else { throw .empty }
        guard bytes.count <= mode.capacity(at: level) else {
            throw .tooLong(count: bytes.count, mode: mode, level: level)
        }
        guard let input = QRinput_new2(0, level.library) else { throw .outOfMemory }
        defer { QRinput_free(input) }
        guard QRinput_append(input, mode.library, Int32(bytes.count), bytes) == 0,
            let code = QRcode_encodeInput(input)
        else { throw .outOfMemory }
        defer { QRcode_free(code) }
        let side = Int(code.pointee.width)
        // The lowest bit of each is the colour; the others tell what a module is for.
        modules = UnsafeBufferPointer(start: code.pointee.data, count: side * side).map {
            $0 & 1 == 1
        }
        self.side = side
    }

    /// The smallest code that holds exactly `bytes` at `level`, at the highest level with which it is no larger: what
    /// would be padding corrects errors instead.
    public init(encoding bytes: [UInt8], atLeast level: ErrorCorrection) throws(QREncodeError) {
        var code = try QRCode(encoding: bytes, level: level)
        let mode = EncodingMode(for: bytes)
        for higher in ErrorCorrection.allCases.drop(while: { $0 != level }).dropFirst()
        where bytes.count <= mode.capacity(at: higher)
            && Double(bytes.count) * mode.bits <= higher.mostData * Double(code.codewordBits)
        {
            let stronger = try QRCode(encoding: bytes, level: higher)
            guard stronger.side == code.side else { break }
            code = stronger
        }
        self = code
    }

    /// The number of bits of all codewords (ISO/IEC 18004, §7.1): the modules that are no function pattern and no format or
    /// version information.
    var codewordBits: Int {
        let version = (side - 17) / 4
        let alignment = version > 1 ? version / 7 + 2 : 0
        // A pattern and its separators take 8 by 8 modules; an alignment pattern 25, of which the timing patterns have five.
        let patterns = 3 * 64 + 2 * (side - 16) + 31 + (version > 6 ? 36 : 0)
        guard alignment > 0 else { return side * side - patterns }
        return side * side - patterns - (alignment * alignment - 3) * 25 + (alignment - 2) * 10
    }

    /// A code of modules that were found in a picture.
    init(side: Int, modules: [Bool]) {
        self.side = side
        self.modules = modules
    }

    /// Whether the module in a column and row is dark. Outside of the code all are light.
    public func isDark(_ column: Int, _ row: Int) -> Bool {
        0..<side ~= column && 0..<side ~= row && modules[row * side + column]
    }
}

extension ErrorCorrection {
    var library: QRecLevel {
        switch self {
        case .low: QR_ECLEVEL_L
        case .medium: QR_ECLEVEL_M
        case .quartile: QR_ECLEVEL_Q
        case .high: QR_ECLEVEL_H
        }
    }
}

extension EncodingMode {
    var library: QRencodeMode {
        switch self {
        case .numeric: QR_MODE_NUM
        case .alphanumeric: QR_MODE_AN
        case .byte: QR_MODE_8
        }
    }
}
