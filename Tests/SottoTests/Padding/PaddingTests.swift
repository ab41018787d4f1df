import Sotto
import SottoPadding
import TestSupport
import Testing

/// Tests/Vectors/padding.json, and properties of every length.
struct PaddingTests {
    struct Vectors: Decodable {
        let buckets: [Int]
        let lengths: [Length]
        let frames: [Frame]
        let mustFail: [MustFail]
        let padme: [Padme]
        let iso78164: [ISO7816]
    }
    struct Length: Decodable, Sendable {
        let plaintextLength: Int
        let paddedLength: Int
        let padLength: Int
        let rule: String
    }
    struct Frame: Decodable, Sendable {
        let plaintext: Hex
        let frame: Hex
        let padLength: Int
    }
    struct MustFail: Decodable, Sendable, CustomTestStringConvertible {
        let why: String
        let frame: Hex
        var testDescription: String { why }
    }
    struct Padme: Decodable, Sendable {
        let length: Int
        let padded: Int
    }
    struct ISO7816: Decodable, Sendable {
        let block: Int
        let message: Hex
        let padded: Hex
    }

    static let vectors = TestSupport.Vectors.load("padding", as: Vectors.self)

    @Test func theBucketsAreTheKnownOnes() {
        #expect(Padding.buckets == Self.vectors.buckets)
    }

    @Test(arguments: vectors.lengths)
    func aFrameHasTheKnownLength(_ known: Length) {
        #expect(Padding.Scheme.bucket.frameLength(known.plaintextLength) == known.paddedLength)
        #expect(known.paddedLength - known.plaintextLength - 5 == known.padLength)
    }

    @Test(arguments: vectors.lengths.filter { $0.plaintextLength < 1 << 20 })
    func aFrameOfTheKnownLengthRoundTrips(_ known: Length) throws {
        let plaintext = [UInt8](repeating: 0xA5, count: known.plaintextLength)
        let frame = try Padding.frame(plaintext)
        #expect(frame.count == known.paddedLength)
        #expect(UInt32(bigEndianBytes: frame.suffix(4)) == UInt32(known.padLength))
        #expect(try Padding.unframe(frame) == plaintext)
    }

    @Test(arguments: vectors.frames)
    func aKnownFrameIsRead(_ known: Frame) throws {
        #expect(try Padding.unframe(known.frame.bytes) == known.plaintext.bytes)
    }

    @Test(arguments: vectors.mustFail)
    func aMalformedFrameIsRefused(_ known: MustFail) throws {
        let expected: PaddingError =
            switch known.why {
            case let why where why.hasPrefix("first byte"): .version
            case let why where why.hasPrefix("pad_length"): .padLength
            default: .length(known.frame.bytes.count)
            }
        #expect(throws: expected) { try Padding.unframe(known.frame.bytes) }
    }

    @Test(arguments: vectors.padme)
    func padmeGivesTheKnownLength(_ known: Padme) {
        #expect(Padding.padme(known.length) == known.padded)
    }

    @Test(arguments: vectors.iso78164)
    func iso7816PadsAsKnown(_ known: ISO7816) throws {
        #expect(
            Padding.padISO7816(known.message.bytes, block: known.block) == known.padded.bytes)
        #expect(
            try Padding.unpadISO7816(known.padded.bytes, block: known.block) == known.message.bytes)
    }

    @Test(arguments: Padding.Scheme.allCases)
    func everyLengthRoundTripsAndOnlyGrows(_ scheme: Padding.Scheme) throws {
        var last = 0
        for length in Array(0...300) + [1000, 4091, 4092, 65531, 65532, 65533, 70_000, 100_000] {
            let plaintext = [UInt8](repeating: 0, count: length)
            let frame = try Padding.frame(plaintext, scheme: scheme)
            #expect(frame.count >= max(64, length + 5) && frame.count >= last)
            #expect(try Padding.unframe(frame, scheme: scheme) == plaintext)
            last = frame.count
        }
    }

    @Test func padmeCostsAtMostTwelvePercent() {
        for length in Array(2...5000) + (12..<40).map({ 1 << $0 + 1 }) {
            let padded = Padding.padme(length)
            #expect(padded >= length && Double(padded) <= Double(length) * 1.12 + 1)
            #expect(Padding.padme(padded) == padded)
        }
    }

    @Test func theRandomBytesAreNotChecked() throws {
        var frame = try Padding.frame(Array("hi".utf8))
        for place in 3..<(frame.count - 4) { frame[place] ^= 0xFF }
        #expect(try Padding.unframe(frame) == Array("hi".utf8))
        #expect(try Padding.frame(Array("hi".utf8)) != Padding.frame(Array("hi".utf8)))
    }

    @Test func aMissingISO7816MarkerIsRefused() {
        #expect(throws: PaddingError.marker) {
            try Padding.unpadISO7816([UInt8](repeating: 0, count: 16), block: 16)
        }
        #expect(throws: PaddingError.length(0)) { try Padding.unpadISO7816([], block: 16) }
        #expect(throws: PaddingError.length(17)) {
            try Padding.unpadISO7816([UInt8](repeating: 0x80, count: 17), block: 16)
        }
        #expect(throws: PaddingError.marker) {
            try Padding.unpadISO7816(
                [0x80] + [UInt8](repeating: 0, count: 15) + [UInt8](repeating: 1, count: 16),
                block: 16)
        }
    }
}
