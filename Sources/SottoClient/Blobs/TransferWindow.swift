import SottoWire

/// The bytes of a blob that may be in flight on one connection, which an interruption repeats.
///
/// At first it is one piece. It grows with what the connection has carried, and with the time of a round trip. One slow
/// answer is no evidence of a long line: on a busy machine, the first one often takes as long.
struct TransferWindow {
    /// The most bytes in flight.
    private static let mostBytes: Int64 = 2 << 20
    /// The most bytes of one request.
    private static let mostRequest: Int64 = 1 << 20
    /// The part of the carried bytes that may be in flight.
    private static let part: Int64 = 16
    /// Seconds of a round trip for each further piece in flight. A relay that synchronises a piece within this time
    /// counts as near: then an interruption repeats one piece.
    private static let secondsOfPiece = 0.02
    /// The bytes of a piece on a line that is fast enough.
    static let pieceBytes = Int64(WireLimits.blobPieceBytes)

    /// The bytes that were answered on this connection.
    private var carried: Int64 = 0
    private var answers = 0
    /// The shortest time of a round trip, in seconds.
    private(set) var roundTrip = Double.infinity

    /// Notes an answer for `count` bytes after some seconds.
    mutating func answered(_ count: Int64, after seconds: Double) {
        carried += count
        answers += 1
        roundTrip = min(roundTrip, seconds)
    }

    /// The bytes that may be in flight.
    var bytes: Int64 {
        let pieces = answers > 1 ? Int64(min(roundTrip / Self.secondsOfPiece, 1_000)) : 0
        return min(
            Self.mostBytes, max(Self.pieceBytes * (1 + pieces), carried / Self.part))
    }

    /// The bytes of the next request.
    var request: Int64 { min(Self.mostRequest, max(Self.pieceBytes, bytes / 2)) }
}
