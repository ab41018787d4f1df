import Sotto
import TestSupport
import Testing

/// Tests/Vectors/fingerprint.json.
struct FingerprintTests {
    struct Vectors: Decodable {
        let libsignal: Libsignal
        let kecalek_profile: [Pair]
    }

    struct Libsignal: Decodable {
        let alice_identity: Hex
        let bob_identity: Hex
        let alice_id: String
        let bob_id: String
        let iterations: Int
        let alice_digits: String
        let bob_digits: String
        let displayable: String
    }

    struct Pair: Decodable, Sendable {
        let user_a: String
        let key_a: Hex
        let user_b: String
        let key_b: Hex
        let fingerprint_a: String
        let fingerprint_b: String
        let safety_number: String
        let display: String
    }

    static let vectors = try! TestSupport.Vectors.load("fingerprint", as: Vectors.self)

    @Test func libsignalsVectorsAreMet() {
        let known = Self.vectors.libsignal
        #expect(known.iterations == Fingerprint.rounds)
        let alice = Fingerprint(userID: known.alice_id, key: known.alice_identity.bytes)
        let bob = Fingerprint(userID: known.bob_id, key: known.bob_identity.bytes)
        #expect(alice.digits == known.alice_digits)
        #expect(bob.digits == known.bob_digits)
        #expect(Fingerprint.safetyNumber(alice, bob, style: .signal) == known.displayable)
        #expect(Fingerprint.safetyNumber(bob, alice, style: .signal) == known.displayable)
    }

    @Test(arguments: vectors.kecalek_profile)
    func ourVectorsAreMetFromBothSides(_ pair: Pair) {
        let a = Fingerprint(userID: pair.user_a, key: pair.key_a.bytes)
        let b = Fingerprint(userID: pair.user_b, key: pair.key_b.bytes)
        #expect(a.digits == pair.fingerprint_a)
        #expect(b.digits == pair.fingerprint_b)
        for number in [
            Fingerprint.safetyNumber(a, b, style: .sotto),
            Fingerprint.safetyNumber(b, a, style: .sotto),
        ] {
            #expect(number == pair.safety_number)
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
