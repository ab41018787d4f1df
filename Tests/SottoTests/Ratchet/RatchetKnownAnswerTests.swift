import Crypto
import SottoPadding
import TestSupport
import Testing

@testable import Sotto

/// Tests/Vectors/ratchet.json, made by other implementations: classical sessions.
struct RatchetKnownAnswerTests {
    struct Vectors: Decodable {
        let transcripts: [Transcript]
        let firstMessageSkipLimit: [SkipLimit]
    }
    struct Transcript: Decodable, Sendable, CustomTestStringConvertible {
        let name: String
        let x3dh: X3DH
        let steps: [Step]
        var testDescription: String { name }
    }
    struct X3DH: Decodable, Sendable {
        let aliceIkSeed: Hex
        let bobIkSeed: Hex
        let bobIk: Hex
        let bobSpkSecret: Hex
        let bobSpk: Hex
        let bobSpkSig: Hex
        let bobOpkSecret: Hex?
        let bobOpk: Hex?
        let aliceEkSecret: Hex
        let aliceEk: Hex
        let sharedSecret: Hex
        let associatedData: Hex
    }
    struct Step: Decodable, Sendable {
        let op: String
        let id: String
        let who: String
        let expect: String?
        let plaintext: Hex?
        let padded: Hex?
        let dhPub: Hex?
        let n: UInt32?
        let pn: UInt32?
        let combined: Hex?
        let messageKey: Hex?
        let aad: Hex?
        let newRatchetSecret: Hex?
    }
    struct SkipLimit: Decodable, Sendable {
        let sharedSecret: Hex
        let associatedData: Hex
        let bobSpkSecret: Hex
        let dhPub: Hex
        let n: UInt32
        let pn: UInt32
        let combined: Hex
        let plaintext: Hex
        let expect: String
    }

    static let vectors = TestSupport.Vectors.load("ratchet", as: Vectors.self)

    static func pair(_ secret: Hex) -> RatchetKeyPair {
        RatchetKeyPair(secret: RatchetSecret(secret.bytes))
    }

    static func identityPair(_ seed: Hex) -> RatchetKeyPair {
        let secret = x25519Secret(fromEd25519Seed: SecretBytes(copying: seed.bytes))
        return RatchetKeyPair(secret: secret.withBytes { RatchetSecret($0) })
    }

    static func agreement(_ known: X3DH) throws -> KeyAgreement {
        let alice = SigningKey(seed: SecretBytes(copying: known.aliceIkSeed.bytes))
        return try KeyAgreement.respond(
            own: identityPair(known.bobIkSeed), publicKey: known.bobIk.bytes,
            PreKeyHeader(
                identityKey: alice.publicKey, ephemeralKey: known.aliceEk.bytes,
                signedPreKeyID: 1, oneTimePreKeyID: known.bobOpk.map { _ in 1 }, kem: nil),
            signed: pair(known.bobSpkSecret), oneTime: known.bobOpkSecret.map(pair), kemKey: nil)
    }

    @Test(arguments: vectors.transcripts)
    func bothSidesAgreeOnTheKnownSecret(_ transcript: Transcript) throws {
        let known = transcript.x3dh
        let responder = try Self.agreement(known)
        #expect(responder.secret.copyBytes() == known.sharedSecret.bytes)
        #expect(responder.associatedData == known.associatedData.bytes)

        let bundle = try PreKeyBundle(
            identityKey: known.bobIk.bytes,
            signedPreKey: .init(id: 1, key: known.bobSpk.bytes, signature: known.bobSpkSig.bytes),
            pqSignedPreKey: nil,
            oneTimePreKey: known.bobOpk.map { .init(id: 1, key: $0.bytes) })
        let initiator = try KeyAgreement.initiate(
            own: Self.identityPair(known.aliceIkSeed),
            publicKey: SigningKey(seed: SecretBytes(copying: known.aliceIkSeed.bytes)).publicKey,
            bundle, ephemeral: Self.pair(known.aliceEkSecret))
        #expect(initiator.agreement.secret.copyBytes() == known.sharedSecret.bytes)
        #expect(initiator.header.ephemeralKey == known.aliceEk.bytes)
    }

    /// Bob's half of the transcript: each message of Alice is decrypted or refused, and each of his is sent, as known.
    @Test(arguments: vectors.transcripts)
    func bobFollowsTheTranscript(_ transcript: Transcript) throws {
        let known = transcript.x3dh
        var bob = Session(
            responderWith: try Self.agreement(known), signedPreKey: Self.pair(known.bobSpkSecret))
        var sent: [String: Step] = [:]
        var newPair: RatchetKeyPair?
        for step in transcript.steps {
            if step.op == "send" { sent[step.id] = step }
            guard step.who == "bob" else { continue }
            if step.op == "send" {
                // Our chain begins with its first message; the transcript has its key with the message before.
                if let pair = newPair, case .received = bob.turn {
                    try bob.begin(
                        ChainBeginning(
                            pair: RatchetPair(x25519: pair, kem: nil), encapsulation: nil))
                }
                let combined = try #require(step.combined).bytes
                let message = try bob.encrypt(
                    try #require(step.padded).bytes, nonce: Array(combined[..<12]))
                #expect(message.combined == combined, "\(step.id)")
                #expect(message.header.number == step.n && message.header.previousLength == step.pn)
                #expect(message.header.publicKey == step.dhPub?.bytes)
                #expect(message.header.authenticatedData(bob.associatedData) == step.aad?.bytes)
                continue
            }
            let source = step.combined == nil ? try #require(sent[step.id]) : step
            let message = RatchetMessage(
                header: RatchetHeader(
                    publicKey: try #require(source.dhPub).bytes, number: try #require(source.n),
                    previousLength: try #require(source.pn)),
                combined: try #require(source.combined).bytes)
            if step.expect == "ok" {
                let plaintext = try bob.decrypt(message)
                if let secret = step.newRatchetSecret { newPair = Self.pair(secret) }
                #expect(plaintext == step.padded?.bytes, "\(step.id)")
            } else {
                let before = bob.fingerprint
                #expect(throws: RatchetError.self, "\(step.id)") { try bob.decrypt(message) }
                #expect(bob.fingerprint == before, "\(step.id)")
            }
        }
    }

    @Test(arguments: vectors.firstMessageSkipLimit)
    func aFirstMessageSkipsAtMost256(_ known: SkipLimit) throws {
        let agreement = KeyAgreement(
            secret: RatchetSecret(known.sharedSecret.bytes),
            associatedData: known.associatedData.bytes, kind: .classical)
        var bob = Session(
            responderWith: agreement, signedPreKey: Self.pair(known.bobSpkSecret))
        let message = RatchetMessage(
            header: RatchetHeader(
                publicKey: known.dhPub.bytes, number: known.n, previousLength: known.pn),
            combined: known.combined.bytes)
        if known.expect == "ok" {
            let plaintext = try Padding.unframe(try bob.decrypt(message))
            #expect(plaintext == known.plaintext.bytes)
        } else {
            #expect(throws: RatchetError.tooManySkipped) { try bob.decrypt(message) }
        }
    }
}

extension Session {
    /// The whole state of the session, to check that a refusal does not change it.
    var fingerprint: [UInt8] { encoded() }
}
