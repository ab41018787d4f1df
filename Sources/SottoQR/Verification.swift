/// Why a picture that was just made is not handed out.
public enum VerificationError: Error, Sendable, Hashable {
    /// Its pixels are not those of a QR code of this size and margin.
    case pixels
    /// It cannot be read.
    case unreadable
    /// It is read as other bytes.
    case differs
    /// Memory has run out before that is known.
    case outOfMemory
}

extension QRCode {
    /// Reads the code with another library than the one that made it, and compares.
    ///
    /// Throws ``VerificationError`` unless what is read is exactly `bytes`.
    public func verify(holds bytes: [UInt8]) throws(VerificationError) {
        var outcome = VerificationError.unreadable
        do throws(ScanError) {
            let scanner = try Scanner()
            // No size suits zbar for every code; what it reads it has checked by the code's own redundancy.
            for (size, density) in Self.readable {
                let drawing = raster(size: size, margin: 4)
                let codes = try scanner.symbols(in: drawing, density: density).map(\.bytes)
                if codes == [bytes] { return }
                if !codes.isEmpty { outcome = .differs }
            }
        } catch {
            switch error {
            case .outOfMemory: throw .outOfMemory
            }
        }
        throw outcome
    }

    /// Reads a PNG file that ``png(size:margin:)`` made: its pixels must be those of a code of that size
    /// and margin, and that code must hold `bytes`.
    public static func verify(
        png: [UInt8], size: Int, margin: Int, holds bytes: [UInt8]
    ) throws(VerificationError) {
        guard let picture = try? Picture(decoding: png),
            let code = QRCode(exactly: picture.raster, size: size, margin: margin)
        else { throw .pixels }
        try code.verify(holds: bytes)
    }

    /// Pixels to a module, and rows and columns from one that zbar looks at to the next; what is quick first.
    static let readable: [(size: Int, density: Int32)] = [
        (3, 2), (4, 2), (3, 1), (5, 1), (8, 1), (2, 1),
    ]
}
