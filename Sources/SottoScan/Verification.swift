public import SottoQR

extension QRCode {
    /// Reads the code with a different library than the one that made it, and compares the bytes.
    ///
    /// Throws ``VerificationError`` unless exactly `bytes` are read.
    public func verify(holds bytes: [UInt8]) throws(VerificationError) {
        var outcome = VerificationError.unreadable
        do throws(ScanError) {
            let scanner = try Scanner()
            // No single size works for every code in zbar; a result is already checked by the code's error correction.
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

    /// Reads a PNG file that ``png(size:margin:)`` made: its pixels must be those of a code with that size and margin,
    /// and that code must contain `bytes`.
    public static func verify(
        png: [UInt8], size: Int, margin: Int, holds bytes: [UInt8]
    ) throws(VerificationError) {
        guard let picture = try? Picture(decoding: png),
            let code = QRCode(exactly: picture.raster, size: size, margin: margin)
        else { throw .pixels }
        try code.verify(holds: bytes)
    }

    /// Pixels per module, and the distance of rows and columns that zbar searches; the fastest first.
    static let readable: [(size: Int, density: Int32)] = [
        (3, 2), (4, 2), (3, 1), (5, 1), (8, 1), (2, 1),
    ]
}
