import CQREncode

/// An error of encoding bytes in a QR code.
public enum QREncodeError: Error, Sendable, Hashable {
    /// There are no bytes to encode.
    case empty
    /// The bytes exceed the capacity of the largest code in their mode at the requested level.
    case tooLong(count: Int, mode: EncodingMode, level: ErrorCorrection)
    /// The encoder is out of memory.
    case outOfMemory
}

/// A QR code, model 2 (ISO/IEC 18004): a square of dark and light modules.
public struct QRCode: Sendable, Hashable {
    /// The number of modules on a side, without a margin: 21 to 177.
    public let side: Int
    /// `side` × `side` modules, row by row from the top; `true` is dark.
    public let modules: [Bool]

    /// Creates the smallest code that contains exactly `bytes` at `level`.
    ///
    /// The bytes are in one segment of the densest mode that can encode all of them, without an ECI, so that readers in
    /// binary mode return exactly these bytes.
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
        // The lowest bit of each module is its color; the other bits are its function.
        modules = UnsafeBufferPointer(start: code.pointee.data, count: side * side).map {
            $0 & 1 == 1
        }
        self.side = side
    }

    /// Creates the smallest code that contains exactly `bytes` at `level`, with the highest level that does not make it
    /// larger: error correction replaces the padding.
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

    /// The number of bits of all codewords (ISO/IEC 18004, §7.1): the modules that are neither function patterns nor
    /// format or version information.
    var codewordBits: Int {
        let version = (side - 17) / 4
        let alignment = version > 1 ? version / 7 + 2 : 0
        // A finder pattern and its separators have 8 by 8 modules; an alignment pattern has 25, of which five are
        // shared with the timing patterns.
        let patterns = 3 * 64 + 2 * (side - 16) + 31 + (version > 6 ? 36 : 0)
        guard alignment > 0 else { return side * side - patterns }
        return side * side - patterns - (alignment * alignment - 3) * 25 + (alignment - 2) * 10
    }

    /// Creates a code from modules found in a picture.
    package init(side: Int, modules: [Bool]) {
        self.side = side
        self.modules = modules
    }

    /// Returns whether the module in a column and row is dark. Outside the code all modules are light.
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
