/// The part of a QR code that may be damaged or covered while the code stays readable (ISO/IEC 18004, §7.5.1).
public enum ErrorCorrection: String, Sendable, CaseIterable {
    /// About 7 % of the codewords.
    case low = "L"
    /// About 15 %.
    case medium = "M"
    /// About 25 %.
    case quartile = "Q"
    /// About 30 %.
    case high = "H"
}

extension ErrorCorrection {
    /// The maximum share of data in the codewords of any code of this level (ISO/IEC 18004, table 9).
    var mostData: Double {
        switch self {
        case .low: 0.82
        case .medium: 0.66
        case .quartile: 0.5
        case .high: 0.4
        }
    }
}

/// The encoding of bytes in a code (ISO/IEC 18004, §7.3). Decoding gives the same bytes for each mode.
public enum EncodingMode: Sendable, CaseIterable {
    /// Ten bits per three digits.
    case numeric
    /// Eleven bits per two of 45 characters: digits, capital letters and `␠$%*+-./:`.
    case alphanumeric
    /// Eight bits per byte.
    case byte

    /// Selects the densest mode that can encode all of `bytes`.
    public init(for bytes: some Sequence<UInt8>) {
        var mode = Self.numeric
        for byte in bytes {
            if Self.isDigit(byte) { continue }
            guard Self.isAlphanumeric(byte) else {
                self = .byte
                return
            }
            mode = .alphanumeric
        }
        self = mode
    }

    /// Bits for one byte.
    var bits: Double {
        switch self {
        case .numeric: 10.0 / 3
        case .alphanumeric: 5.5
        case .byte: 8
        }
    }

    /// Returns the number of bytes in the largest code, version 40, at `level` (ISO/IEC 18004, table 7).
    public func capacity(at level: ErrorCorrection) -> Int {
        switch (self, level) {
        case (.numeric, .low): 7089
        case (.numeric, .medium): 5596
        case (.numeric, .quartile): 3993
        case (.numeric, .high): 3057
        case (.alphanumeric, .low): 4296
        case (.alphanumeric, .medium): 3391
        case (.alphanumeric, .quartile): 2420
        case (.alphanumeric, .high): 1852
        case (.byte, .low): 2953
        case (.byte, .medium): 2331
        case (.byte, .quartile): 1663
        case (.byte, .high): 1273
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { 0x30...0x39 ~= byte }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A: true
        case 0x20, 0x24, 0x25, 0x2A, 0x2B, 0x2D, 0x2E, 0x2F, 0x3A: true
        default: false
        }
    }
}
