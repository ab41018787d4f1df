import TestSupport
import Testing

@testable import Sotto

/// Tests/Vectors/phrase.json in the form phrase/v2.
struct PhraseTests {
    struct Vectors: Decodable { let v2OurChoice: [Known] }
    struct Known: Decodable, Sendable {
        let phrase: String
        let argon2id: Argon2id
        let root: Hex
        let chatId: Hex
        let key: Hex
    }
    struct Argon2id: Decodable, Sendable {
        let salt: Hex
        let opslimit: UInt64
        let memlimitBytes: Int
    }

    static let vectors = TestSupport.Vectors.load("phrase", as: Vectors.self)

    let key = PhraseKey(root: SecretBytes(copying: [UInt8](repeating: 7, count: 32)))

    @Test func theKnownKeysAreDerived() throws {
        // One at a time, because each takes 256 MiB.
        for known in Self.vectors.v2OurChoice {
            #expect(known.argon2id.opslimit == PhraseHash.passes)
            #expect(known.argon2id.memlimitBytes == PhraseHash.memory)
            let root = try PhraseKey.root(of: SecretBytes(copying: known.phrase.utf8))
            #expect(root.withBytes { Array($0) } == known.root.bytes)
            let phrase = PhraseKey(root: root)
            #expect(phrase.id == known.chatId.bytes)
            let text = phrase.seal(Array("hello".utf8))
            let combined = try #require(Base64.url.decode(text.dropFirst(3)))
            let opened = AESGCM.open(
                combined, authenticating: known.chatId.bytes,
                key: SecretBytes(copying: known.key.bytes).symmetricKey())
            #expect(opened == Array("hello".utf8))
        }
    }

    @Test func p7EquivalentPhrasesAreOneChat() throws {
        let composed = try PhraseKey(phrase: SecretBytes(copying: "caf\u{E9}".utf8))
        let decomposed = try PhraseKey(phrase: SecretBytes(copying: "cafe\u{301}".utf8))
        #expect(composed.id == decomposed.id)
        #expect(try composed.open(decomposed.seal([1])) == [1])
    }

    @Test func aPhraseThatIsNotUTF8IsRefused() {
        #expect(throws: PhraseError.phrase) {
            try PhraseKey(phrase: SecretBytes(copying: [0xC3, 0x28]))
        }
    }

    @Test func p1TheIDDoesNotRevealTheKey() throws {
        let asKey = SecretBytes(copying: key.id).symmetricKey()
        let combined = try #require(Base64.url.decode(key.seal([1]).dropFirst(3)))
        #expect(AESGCM.open(combined, authenticating: key.id, key: asKey) == nil)
        var dumped = ""
        dump(key, to: &dumped)
        #expect(!dumped.contains(hex([UInt8](repeating: 7, count: 32))))
    }

    @Test func p6OnlyItsChatOpensAText() {
        let other = PhraseKey(root: SecretBytes(copying: [UInt8](repeating: 8, count: 32)))
        let text = key.seal(Array("hi".utf8))
        #expect(throws: PhraseError.authentication) { try other.open(text) }
    }

    @Test(arguments: [0, 1, 15, 16, 17, 65_535, 65_536, 65_537])
    func sealedTextIsOpened(_ size: Int) throws {
        let plaintext = randomBytes(size)
        #expect(try key.open(key.seal(plaintext)) == plaintext)
    }

    @Test(arguments: ["\u{301}", "\u{200D}", "\u{FE0F}", " ", "\0"])
    func aTextHasOneEncoding(_ mark: String) {
        let sealed = key.seal(Array("x".utf8))
        let other = "v2." + mark + sealed.dropFirst(3)
        #expect(throws: PhraseError.authentication) { try key.open(other) }
    }

    @Test func p4EveryFailureIsOneError() throws {
        let text = key.seal(Array("attack at dawn".utf8))
        let characters = Array(text)
        for place in characters.indices {
            var changed = characters
            changed[place] = changed[place] == "A" ? "B" : "A"
            #expect(throws: PhraseError.authentication) { try key.open(String(changed)) }
            #expect(throws: PhraseError.authentication) {
                try key.open(String(characters[..<place]))
            }
        }
        let mark = "v2."
        for bad in [
            "", mark, "v1." + text.dropFirst(3), "V2." + text.dropFirst(3), text + "=", text + "\n",
        ] {
            #expect(throws: PhraseError.authentication) { try key.open(bad) }
        }
    }
}
