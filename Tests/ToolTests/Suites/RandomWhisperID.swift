import Sotto

@testable import SottoMessengers

extension WhisperID {
    /// Returns a random id, as the server makes them.
    static func random() -> WhisperID {
        WhisperID(symbols: randomBytes(10).map { $0 & 31 })
    }
}
