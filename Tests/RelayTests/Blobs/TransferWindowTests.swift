import Testing

@testable import SottoClient

/// The bytes of a blob that may be in flight.
@Suite struct TransferWindowTests {
    private static let piece = TransferWindow.pieceBytes

    @Test func oneSlowAnswerLetsNoSecondPieceGo() {
        var window = TransferWindow()
        #expect(window.bytes == Self.piece)
        window.answered(Self.piece, after: 0.05)
        #expect(window.bytes == Self.piece)
        // The machine was busy.
        window.answered(Self.piece, after: 0.001)
        #expect(window.bytes == Self.piece)
    }

    @Test func aLongRoundTripLetsMorePiecesGo() {
        var window = TransferWindow()
        for _ in 0..<2 { window.answered(Self.piece, after: 0.05) }
        #expect(window.bytes == 3 * Self.piece)
    }
}
