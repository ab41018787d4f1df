import TestSupport
import Testing

@testable import Sotto

/// The known answers of the draft.
struct CPaceTests {
    struct Known: Decodable {
        let password: Hex
        let channel: Hex
        let session: Hex
        let generator: Hex
        let initiator: Side
        let responder: Side
        let shared: Hex
        let key: Hex
        let verified: Product
        let invalid: [Hex]

        struct Side: Decodable {
            let scalar: Hex
            let data: Hex
            let share: Hex

            var message: CPace.Message { CPace.Message(share: share.bytes, data: data.bytes) }
        }

        struct Product: Decodable {
            let scalar: Hex
            let element: Hex
            let product: Hex
        }
    }

    let known = Vectors.load("cpace", as: Known.self)

    private var generator: SecretBytes {
        CPace.generator(
            password: SecretBytes(copying: known.password.bytes), channel: known.channel.bytes,
            session: known.session.bytes)
    }

    @Test func theGeneratorIsThatOfTheDraft() {
        #expect(generator.withBytes { Array($0) } == known.generator.bytes)
    }

    @Test func bothSidesGetTheKeyOfTheDraft() throws {
        for (own, other) in [
            (known.initiator, known.responder), (known.responder, known.initiator),
        ] {
            let scalar = SecretBytes(copying: own.scalar.bytes)
            #expect(CPace.share(of: scalar, generator: generator) == own.share.bytes)
            guard let shared = CPace.sharedElement(scalar, with: other.share.bytes) else {
                Issue.record("the share is refused")
                return
            }
            #expect(shared.withBytes { Array($0) } == known.shared.bytes)
            let key = CPace.key(
                shared: shared, session: known.session.bytes, initiator: known.initiator.message,
                responder: known.responder.message)
            #expect(key.withBytes { Array($0) } == known.key.bytes)
        }
    }

    @Test func invalidElementsAndTheIdentityAreRefused() {
        let scalar = SecretBytes(copying: known.verified.scalar.bytes)
        if let product = CPace.sharedElement(scalar, with: known.verified.element.bytes) {
            #expect(product.withBytes { Array($0) } == known.verified.product.bytes)
        } else {
            Issue.record("the element is refused")
        }
        for invalid in known.invalid.map(\.bytes) + [[], [1]] {
            if CPace.sharedElement(scalar, with: invalid) != nil {
                Issue.record("\(invalid) is accepted")
            }
        }
    }

    @Test func lengthsAreInLEB128() {
        #expect(CPace.lengthValue([]) == [0])
        #expect(CPace.lengthValue([UInt8](repeating: 7, count: 127)).prefix(2) == [127, 7])
        #expect(CPace.lengthValue([UInt8](repeating: 7, count: 300)).prefix(3) == [0xAC, 2, 7])
    }
}
