import Sotto
import TestSupport
import Testing

/// Tests/Vectors/fingerprint.json.
struct FingerprintTests {
    struct Vectors: Decodable {
        let libsignal: Libsignal
        let kecalekProfile: [Pair]
    }

    struct Libsignal: Decodable {
        let aliceIdentity: Hex
        let bobIdentity: Hex
        let aliceId: String
        let bobId: String
        let iterations: Int
        let aliceDigits: String
        let bobDigits: String
        let displayable: String
    }

    struct Pair: Decodable, Sendable {
        let userA: String
        let keyA: Hex
        let userB: String
        let keyB: Hex
        let fingerprintA: String
        let fingerprintB: String
        let safetyNumber: String
        let display: String
    }

    static let vectors = TestSupport.Vectors.load("fingerprint", as: Vectors.self)

    @Test func libsignalsVectorsMatch() {
        let known = Self.vectors.libsignal
        #expect(known.iterations == Fingerprint.rounds)
        let alice = Fingerprint(userID: known.aliceId, key: known.aliceIdentity.bytes)
        let bob = Fingerprint(userID: known.bobId, key: known.bobIdentity.bytes)
        #expect(alice.digits == known.aliceDigits)
        #expect(bob.digits == known.bobDigits)
        #expect(Fingerprint.safetyNumber(alice, bob, style: .signal) == known.displayable)
        #expect(Fingerprint.safetyNumber(bob, alice, style: .signal) == known.displayable)
    }

    @Test(arguments: vectors.kecalekProfile)
    func ourVectorsMatchFromBothSides(_ pair: Pair) {
        let a = Fingerprint(userID: pair.userA, key: pair.keyA.bytes)
        let b = Fingerprint(userID: pair.userB, key: pair.keyB.bytes)
        #expect(a.digits == pair.fingerprintA)
        #expect(b.digits == pair.fingerprintB)
        for number in [
            Fingerprint.safetyNumber(a, b, style: .sotto),
            Fingerprint.safetyNumber(b, a, style: .sotto),
        ] {
            #expect(number == pair.safetyNumber)
            #expect(Fingerprint.grouped(number) == pair.display)
        }
    }

    @Test func anotherKeyOrUserGivesOtherDigits() {
        let key = [UInt8](repeating: 9, count: 32)
        let one = Fingerprint(userID: "bob", key: key)
        #expect(one.digits.count == 30)
        #expect(Fingerprint(userID: "bob", key: key.flipping(bit: 0)).digits != one.digits)
        #expect(Fingerprint(userID: "Bob", key: key).digits != one.digits)
    }
}
