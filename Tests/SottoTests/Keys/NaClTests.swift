import Sotto
import TestSupport
import Testing

/// Tests/Vectors/nacl.json.
struct NaClTests {
    struct Vectors: Decodable {
        let naclPaperVector: Paper
        let cases: [Case]
        let x25519LowOrderPointsMustBeRefused: [Hex]
    }
    struct Paper: Decodable {
        let alicesk: Hex
        let bobpk: Hex
        let nonce: Hex
        let m: Hex
        let c: Hex
    }
    struct Case: Decodable, Sendable, CustomTestStringConvertible {
        let aliceSk: Hex
        let alicePk: Hex
        let bobSk: Hex
        let bobPk: Hex
        let nonce: Hex
        let shared: Hex
        let messageSha256: Hex
        let messageRule: String
        let boxSha256: Hex
        let box: Hex?
        let secretboxKey: Hex
        let secretboxSha256: Hex
        var testDescription: String { messageRule }
    }

    static let vectors = TestSupport.Vectors.load("nacl", as: Vectors.self)

    @Test func thePapersBoxMatches() throws {
        let known = Self.vectors.naclPaperVector
        guard
            let key = NaClBox.sharedKey(
                SecretBytes(copying: known.alicesk.bytes), known.bobpk.bytes)
        else {
            Issue.record("no shared key")
            return
        }
        #expect(NaClBox.seal(known.m.bytes, nonce: known.nonce.bytes, key: key) == known.c.bytes)
        #expect(NaClBox.open(known.c.bytes, nonce: known.nonce.bytes, key: key) == known.m.bytes)
    }

    @Test(arguments: vectors.cases)
    func boxesHaveTheKnownBytesFromBothSides(_ known: Case) throws {
        let alice = SecretBytes(copying: known.aliceSk.bytes)
        let bob = SecretBytes(copying: known.bobSk.bytes)
        #expect(X25519.publicKey(of: alice) == known.alicePk.bytes)
        #expect(X25519.publicKey(of: bob) == known.bobPk.bytes)
        let message = bytes(ofRule: known.messageRule)
        #expect(sha256(message) == known.messageSha256.bytes)
        let nonce = known.nonce.bytes
        func check(_ shared: consuming SecretBytes?) throws {
            guard let shared else {
                Issue.record("no shared key")
                return
            }
            #expect(shared.withBytes { Array($0) } == known.shared.bytes)
            let box = NaClBox.seal(message, nonce: nonce, key: shared)
            #expect(sha256(box) == known.boxSha256.bytes)
            if let inline = known.box { #expect(box == inline.bytes) }
            #expect(NaClBox.open(box, nonce: nonce, key: shared) == message)
        }
        try check(NaClBox.sharedKey(alice, known.bobPk.bytes))
        try check(NaClBox.sharedKey(bob, known.alicePk.bytes))
        let key = SecretBytes(copying: known.secretboxKey.bytes)
        let box = NaClBox.seal(message, nonce: nonce, key: key)
        #expect(sha256(box) == known.secretboxSha256.bytes)
        for bit in [0, 127, box.count * 8 - 1] {
            #expect(NaClBox.open(box.flipping(bit: bit), nonce: nonce, key: key) == nil)
        }
        #expect(NaClBox.open(Array(box.dropLast()), nonce: nonce, key: key) == nil)
        #expect(NaClBox.open([], nonce: nonce, key: key) == nil)
    }

    @Test(arguments: vectors.x25519LowOrderPointsMustBeRefused)
    func aLowOrderKeyIsRefusedEverywhere(_ point: Hex) {
        let secret = SecretBytes(randomCount: 32)
        #expect(X25519.isLowOrder(point.bytes))
        if X25519.sharedSecret(secret, point.bytes) != nil { Issue.record("a shared secret") }
        if NaClBox.sharedKey(secret, point.bytes) != nil { Issue.record("a shared key") }
        let text = Bech32.encode(prefix: "age", point.bytes)
        #expect(AgeRecipient(text) == nil)
    }
}

/// Tests/Vectors/ed25519_x25519.json.
struct Ed25519ToX25519Tests {
    struct Vectors: Decodable {
        let cases: [Case]
        let badPublicKeys: [Bad]
    }
    struct Case: Decodable, Sendable {
        let ed25519Seed: Hex
        let ed25519Public: Hex
        let x25519Secret: Hex
        let x25519Public: Hex
    }
    struct Bad: Decodable, Sendable { let ed25519Public: Hex }

    static let vectors = TestSupport.Vectors.load("ed25519_x25519", as: Vectors.self)

    @Test(arguments: vectors.cases)
    func bothHalvesHaveTheKnownForm(_ known: Case) {
        let seed = SecretBytes(copying: known.ed25519Seed.bytes)
        let key = SigningKey(seed: seed)
        #expect(key.publicKey == known.ed25519Public.bytes)
        #expect(key.withSeed { Array($0) } == known.ed25519Seed.bytes)
        let secret = x25519Secret(fromEd25519Seed: seed)
        #expect(secret.withBytes { Array($0) } == known.x25519Secret.bytes)
        #expect(x25519PublicKey(fromEd25519: key.publicKey) == known.x25519Public.bytes)
        #expect(X25519.publicKey(of: secret) == known.x25519Public.bytes)
    }

    @Test(arguments: vectors.badPublicKeys)
    func aBadKeyIsRefused(_ bad: Bad) {
        #expect(x25519PublicKey(fromEd25519: bad.ed25519Public.bytes) == nil)
        let signature = [UInt8](repeating: 0, count: 64)
        #expect(!verifySignature(signature, of: [], by: bad.ed25519Public.bytes))
    }

    @Test func aSignatureIsValidOnlyForItsMessageAndKey() {
        let key = SigningKey(seed: SecretBytes(randomCount: 32))
        let message = Array("pay bob".utf8)
        let signature = key.sign(message)
        #expect(verifySignature(signature, of: message, by: key.publicKey))
        #expect(!verifySignature(signature, of: message + [0], by: key.publicKey))
        for bit in 0..<512 {
            #expect(
                !verifySignature(signature.flipping(bit: bit), of: message, by: key.publicKey))
        }
        let other = SigningKey(seed: SecretBytes(randomCount: 32))
        #expect(!verifySignature(signature, of: message, by: other.publicKey))
        #expect(!verifySignature([], of: message, by: key.publicKey))
        #expect(!verifySignature(signature, of: message, by: []))
    }
}
