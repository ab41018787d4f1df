import TestSupport
import Testing

@testable import Sotto

/// The signature over both signed prekeys of a bundle.
struct PairSignatureTests {
    struct Vector: Decodable {
        struct PreKey: Decodable {
            let id: UInt32
            let key: Hex
        }
        let seed: Hex
        let time: Int64
        let signed: PreKey
        let postQuantum: PreKey
        let signature: Hex
    }

    let bob = Identity(mnemonic: Mnemonic(randomWordCount: 12), name: "bob")
    let time = Timestamp(seconds: 1_700_000_000)

    private func preKey(
        _ kind: SecretPreKey.Kind, _ id: UInt32, day: Int64
    ) -> PreKeyBundle.SignedPreKey {
        SecretPreKey(kind, id: id).signed(
            by: bob, at: Timestamp(seconds: time.seconds + day * 86_400))
    }

    private func publication(
        _ signed: PreKeyBundle.SignedPreKey, _ postQuantum: PreKeyBundle.SignedPreKey?
    ) throws -> PreKeyBundle {
        try PreKeyPublication(
            by: bob, signedPreKey: signed, pqSignedPreKey: postQuantum, oneTimePreKeys: []
        ).bundle(oneTime: nil)
    }

    @Test func theSignatureIsTheKnownOne() throws {
        let known = Vectors.load("prekey_pair", as: Vector.self)
        let key = SigningKey(seed: SecretBytes(copying: known.seed.bytes))
        func preKey(_ known: Vector.PreKey, label: [UInt8]) -> PreKeyBundle.SignedPreKey {
            PreKeyBundle.SignedPreKey(
                id: known.id, key: known.key.bytes, signature: key.sign(label + known.key.bytes),
                date: .init(time: Timestamp(seconds: 1_760_000_000), signature: []))
        }
        let signed = preKey(known.signed, label: [])
        let postQuantum = preKey(known.postQuantum, label: PreKeyBundle.pqLabel)
        let signature = try #require(PreKeyBundle.PairSignature(by: key, signed, postQuantum))
        #expect(signature.time.seconds == known.time)
        #expect(signature.signature == known.signature.bytes)
        #expect(signature.verify(by: key.publicKey, signed, postQuantum))
    }

    @Test func aRelayCannotPairANewPreKeyWithAnOldOne() throws {
        let old = (signed: preKey(.signed, 1, day: 0), kem: preKey(.postQuantum, 1, day: 0))
        let new = (signed: preKey(.signed, 2, day: 30), kem: preKey(.postQuantum, 2, day: 30))
        let (first, second) = (
            try publication(old.signed, old.kem), try publication(new.signed, new.kem)
        )
        for pair in [first.pairSignature, second.pairSignature] {
            for (signed, kem) in [(old.signed, new.kem), (new.signed, old.kem)] {
                #expect(throws: PreKeyBundleError.signature) {
                    try PreKeyBundle(
                        identityKey: bob.id.publicKey, signedPreKey: signed, pqSignedPreKey: kem,
                        pairSignature: pair, oneTimePreKey: nil)
                }
            }
        }
        let moved = PreKeyBundle.PairSignature(
            time: Timestamp(seconds: time.seconds + 1),
            signature: try #require(first.pairSignature).signature)
        #expect(throws: PreKeyBundleError.signature) {
            try PreKeyBundle(
                identityKey: bob.id.publicKey, signedPreKey: old.signed, pqSignedPreKey: old.kem,
                pairSignature: moved, oneTimePreKey: nil)
        }
        #expect(try PreKeyBundle(record: first.record) == first)
    }

    /// The date of a bundle is that of its older prekey, and unknown if one has none.
    @Test func theOlderPreKeyIsTheDate() throws {
        let (signed, kem) = (preKey(.signed, 2, day: 30), preKey(.postQuantum, 1, day: 2))
        let pair = try publication(signed, kem)
        #expect(pair.pairSignature?.time == kem.date?.time && pair.date == kem.date?.time)
        var apart = pair.record
        apart["pairSignature"] = nil
        #expect(try PreKeyBundle(record: apart).date == kem.date?.time)
        let undated = PreKeyBundle.SignedPreKey(
            id: kem.id, key: kem.key, signature: kem.signature)
        #expect(try publication(signed, undated).pairSignature == nil)
        #expect(try publication(signed, undated).date == nil)
        #expect(try publication(signed, nil).date == signed.date?.time)
    }
}
