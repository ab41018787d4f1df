import Sotto
import SottoMessengers
import TestSupport
import Testing

/// Tests/Vectors/qr.json: the binary payload.
struct KecalekQRTests {
    struct Vectors: Decodable {
        let kecalekBinary: [Known]
        let kecalekMustFail: [MustFail]
    }
    struct Known: Decodable, Sendable {
        let uid: String
        let identityKey: Hex
        let payload: Hex
        let accept: Bool
    }
    struct MustFail: Decodable, Sendable, CustomTestStringConvertible {
        let why: String
        let payload: Hex
        var testDescription: String { why }
    }

    static let vectors = TestSupport.Vectors.load("qr", as: Vectors.self)

    @Test(arguments: vectors.kecalekBinary)
    func theKnownPayloadIsWrittenAndRead(_ known: Known) throws {
        guard known.accept else {
            #expect(throws: KecalekQRError.userID) { try KecalekQR(payload: known.payload.bytes) }
            #expect(throws: KecalekQRError.userID) {
                try KecalekQR(userID: known.uid, identityKey: known.identityKey.bytes)
            }
            return
        }
        let made = try KecalekQR(userID: known.uid, identityKey: known.identityKey.bytes)
        #expect(made.payload == known.payload.bytes)
        let read = try KecalekQR(payload: known.payload.bytes)
        #expect(read == made && read.userID.isSameBytes(as: known.uid))
        #expect(read.identityKey == known.identityKey.bytes)
    }

    @Test(arguments: vectors.kecalekMustFail)
    func invalidVectorsAreRefused(_ bad: MustFail) {
        let error: KecalekQRError =
            switch bad.why {
            case "version 2", "version 0": .version
            case "uid not UTF-8": .userID
            case "all-zero key": .key
            default: .length
            }
        #expect(throws: error) { try KecalekQR(payload: bad.payload.bytes) }
    }

    @Test func truncatedAndExtendedBytesAreRefused() {
        let payload = Self.vectors.kecalekBinary[1].payload.bytes
        for count in payload.indices {
            #expect(throws: KecalekQRError.length) {
                try KecalekQR(payload: Array(payload[..<count]))
            }
        }
        #expect(throws: KecalekQRError.length) { try KecalekQR(payload: payload + [0]) }
    }

    @Test func r7AnInvalidKeyIsRefused() {
        let one: [UInt8] = [1] + [UInt8](repeating: 0, count: 31)
        // The field's prime, which is a non-canonical zero, and a number above it.
        let prime: [UInt8] = [0xED] + [UInt8](repeating: 0xFF, count: 30) + [0x7F]
        let above: [UInt8] = [0xF0] + [UInt8](repeating: 0xFF, count: 30) + [0x7F]
        for key in [one, prime, above, [], [UInt8](repeating: 2, count: 33)] {
            #expect(throws: KecalekQRError.key) { try KecalekQR(userID: "a", identityKey: key) }
        }
        let key = People.alice.signingKey.publicKey
        #expect(throws: KecalekQRError.userID) {
            try KecalekQR(userID: String(repeating: "u", count: 256), identityKey: key)
        }
    }

    @Test func equalityComparesBytes() throws {
        let key = People.alice.signingKey.publicKey
        let composed = try KecalekQR(userID: "\u{E9}", identityKey: key)
        #expect(try composed != KecalekQR(userID: "e\u{301}", identityKey: key))
    }
}
