import Sotto
import SottoMessengers

extension FuzzTarget {
    /// The payload of Kecalek's QR code. One that is read is written unchanged.
    static let kecalekQR = FuzzTarget("kecalek-qr") { bytes in
        guard let code = try? KecalekQR(payload: bytes) else { return }
        precondition(code.payload == bytes)
    }
}
