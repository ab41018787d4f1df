import TestSupport
import Testing

@testable import Sotto
@testable import SottoMessengers

/// Tests/Vectors/phrase.json in SHAiny's form, and the fixes for its flaws.
struct ShainyTests {
    struct Vectors: Decodable {
        let compat: [Known]
        let mustFail: [MustFail]
    }
    struct Known: Decodable, Sendable {
        let phrase: String
        let phraseUtf8: Hex
        let key: Hex
        let chatId: String
        let plaintext: String
        let shaHash: Hex
        let iv: Hex
        let cbcText: String
        let gcmNonce: Hex
        let gcmText: String

        var chat: ShainyChat { ShainyChat(phrase: SecretBytes(copying: phraseUtf8.bytes)) }
    }
    struct MustFail: Decodable, Sendable, CustomTestStringConvertible {
        let why: String
        let text: String
        let shaHash: Hex
        var testDescription: String { why }
    }

    static let vectors = TestSupport.Vectors.load("phrase", as: Vectors.self)

    static func chat(_ phrase: String) -> ShainyChat {
        ShainyChat(phrase: SecretBytes(copying: phrase.utf8))
    }

    let chat = Self.chat("correct horse battery staple")

    @Test(arguments: vectors.compat)
    func bothFormsHaveTheKnownBytes(_ known: Known) throws {
        let chat = known.chat
        let plaintext = Array(known.plaintext.utf8)
        #expect(chat.isPublic == (known.phrase == ShainyChat.globalPhrase))
        #expect(chat.id() == (chat.isPublic ? ShainyChat.globalID : known.chatId))
        #expect(known.chatId == hex(known.key.bytes))
        #expect(sha256(plaintext) == known.shaHash.bytes)
        #expect(
            chat.encrypt(plaintext, gcm: false, nonce: known.iv.bytes) == known.cbcText)
        #expect(
            chat.encrypt(plaintext, gcm: true, nonce: known.gcmNonce.bytes) == known.gcmText)
        for text in [known.cbcText, known.gcmText] {
            for text in [text, text.uppercased()] {
                #expect(try chat.open(text, hash: known.shaHash.bytes) == plaintext)
                #expect(try chat.unverifiedText(text) == known.plaintext)
            }
        }
    }

    // MARK: The flaws of the format

    @Test func p1TheIDIsTheKeyAndIsNotShown() {
        #expect(bytes(hex: chat.id()) == sha256(Array("correct horse battery staple".utf8)))
        var dumped = ""
        dump(chat, to: &dumped)
        for text in [dumped, "\(chat)", String(reflecting: chat)] {
            #expect(!text.contains(chat.id()) && !text.contains("correct"))
        }
    }

    @Test(arguments: [
        ("", 0.0..<1), ("hello", 0..<20), ("aaaaaaaaaaaaaaaaaaaaaaaaaaaa", 0..<40),
        ("correct horse battery staple", 30..<60), ("abcdefghijklmnopqrstuvwxyz", 0..<40),
        ("la la la la la la la la", 0..<20), ("Sommer2024!", 10..<40),
        ("9f2c7a41e6b80d53c1f4a7e29b6d8035", 80..<128), ("ключевая фраза", 10..<40),
        (String(repeating: "ha", count: 60), 0..<20),
        (String(repeating: "a b ", count: 60), 0..<20),
        (String(repeating: "Passwort1! ", count: 12), 10..<40),
        (String(repeating: "abcXYZ", count: 30), 0..<30),
        (String(repeating: "哈", count: 99), 0..<20),
        ("travel tomato bright kangaroo velvet orbit pencil", 77..<77.1),
        ("Travel-tomato bright  kangaroo velvet orbit pencil fox zoo", 99..<99.1),
        ("travel tomato bright kangaroo velvet orbit harbour", 60..<110),
        ("abandon ability able about above absent absorb abstract", 18..<18.1),
        ("zoo zoo zoo zoo zoo zoo zoo zoo", 18..<18.1), ("的 一 是 在 不 了 有 和", 10..<20),
    ])
    func p2AWeakPhraseIsDetected(_ phrase: String, _ range: Range<Double>) {
        #expect(range.contains(PhraseStrength.bits(of: phrase)), "\(phrase)")
    }

    @Test func p3TheHashRevealsEqualTextsUnlessItIsHidden() throws {
        let first = try chat.seal(Array("yes".utf8))
        let second = try chat.seal(Array("yes".utf8))
        #expect(first.hash == second.hash && first.hash == sha256(Array("yes".utf8)))
        #expect(first.encryptedText != second.encryptedText)
        for gcm in [false, true] {
            let hidden = try chat.seal(Array("yes".utf8), hash: .hidden, gcm: gcm)
            #expect(hidden.hash == [UInt8](repeating: 0, count: 32))
            #expect(hidden.record["shaHash"]?.string == String(repeating: "0", count: 64))
            #expect(throws: ShainyError.authentication) { try chat.open(hidden) }
            #expect(try chat.open(hidden, allowingHiddenHash: true) == Array("yes".utf8))
        }
    }

    /// The CBC vectors use one phrase, the GCM vectors that of the public channel.
    @Test(arguments: vectors.mustFail)
    func p4EveryFailureIsOneError(_ bad: MustFail) {
        for chat in [chat, Self.chat(ShainyChat.globalPhrase)] {
            for allowing in [false, true] {
                #expect(throws: ShainyError.authentication) {
                    try chat.open(bad.text, hash: bad.shaHash.bytes, allowingHiddenHash: allowing)
                }
            }
        }
    }

    @Test func p4ValidTextsOfTheSamePartsAreRead() throws {
        let text = "635708de836e07fe72dbef1dde4a648e:e06c279433f76664379890c98730ba85"
        let hash = sha256(Array("Hello".utf8))
        #expect(try chat.open(text, hash: hash) == Array("Hello".utf8))
        let gcm = "83d482220daf576294caec02:f26c0506a1:5b6cd719a3810498a56566e0a2f41dbf"
        let opened = try Self.chat(ShainyChat.globalPhrase).open(gcm, hash: hash)
        #expect(opened == Array("Hello".utf8))
    }

    @Test func p4ChangesAndTruncationsGiveOneError() throws {
        for gcm in [false, true] {
            let message = try chat.seal(Array("attack at dawn, or later".utf8), gcm: gcm)
            for place in message.encryptedText.utf8.indices {
                var text = Array(message.encryptedText.utf8)
                let index = message.encryptedText.utf8.distance(
                    from: message.encryptedText.utf8.startIndex, to: place)
                text[index] = text[index] == UInt8(ascii: "7") ? UInt8(ascii: "8") : 0x37
                for text in [text, Array(text[..<index])] {
                    #expect(throws: ShainyError.authentication) {
                        try chat.open(String(decoding: text, as: UTF8.self), hash: message.hash)
                    }
                }
            }
            for bit in 0..<256 {
                #expect(throws: ShainyError.authentication) {
                    try chat.open(message.encryptedText, hash: message.hash.flipping(bit: bit))
                }
            }
            for hash in [[], Array(message.hash.dropLast()), message.hash + [0]] {
                #expect(throws: ShainyError.authentication) {
                    try chat.open(message.encryptedText, hash: hash)
                }
            }
        }
    }

    /// A forgery that the format cannot detect: the hash is not an authentication.
    @Test func p4AKnownTextAllowsAForgeryOnlyInTheCBCForm() throws {
        let message = try chat.seal(Array("pay bob 10".utf8))
        var parts = message.encryptedText.split(separator: ":").map(String.init)
        var iv = try #require(bytes(hex: parts[0]))
        iv[8] ^= UInt8(ascii: "1") ^ UInt8(ascii: "9")
        parts[0] = hex(iv)
        let forged = try chat.open(
            parts.joined(separator: ":"), hash: sha256(Array("pay bob 90".utf8)))
        #expect(forged == Array("pay bob 90".utf8))
    }

    @Test func p5ThePublicChannelIsWrittenOnlyOnRequest() throws {
        let channel = Self.chat(ShainyChat.globalPhrase)
        #expect(throws: ShainyError.publicChannel) { try channel.seal([]) }
        let message = try channel.seal(Array("news".utf8), toPublic: true)
        #expect(message.record["chatId"]?.string == "global-announcements")
        #expect(try channel.open(message) == Array("news".utf8))
    }

    @Test func p6AQuotationIsNotAuthenticated() throws {
        let quoted = chat.encrypt(Array("I owe you".utf8))
        let reply = ShainyMessage.Reply(
            messageID: "m1", encryptedText: quoted, senderName: "bob", milliseconds: 1_700_000_000)
        let message = try chat.seal(Array("good".utf8), reply: reply)
        let read = try #require(ShainyMessage(record: message.record))
        #expect(read.record == message.record)
        #expect(try chat.unverifiedText(try #require(read.reply).encryptedText) == "I owe you")
        #expect(throws: ShainyError.authentication) { try chat.unverifiedText("no text") }
        let bytes = chat.encrypt([0xFF, 0xFE])
        #expect(throws: ShainyError.authentication) { try chat.unverifiedText(bytes) }
    }

    @Test func p6AMessageOfAnotherChatIsRefused() throws {
        let message = try chat.seal(Array("hi".utf8))
        #expect(throws: ShainyError.authentication) { try Self.chat("other").open(message) }
        var record = message.record
        record["chatId"] = .string(Self.chat("other").id())
        let moved = try #require(ShainyMessage(record: record))
        #expect(throws: ShainyError.authentication) { try chat.open(moved) }
    }

    @Test func p7ComposedAndDecomposedAreTwoChatsAndOneWarns() {
        let composed = "caf\u{E9}"
        let decomposed = "cafe\u{301}"
        #expect(composed == decomposed)
        #expect(Self.chat(composed).id() != Self.chat(decomposed).id())
        #expect(isNFC(composed) && !isNFC(decomposed))
        #expect(nfc(decomposed).isSameBytes(as: composed))
        #expect(Self.chat(" x").id() != Self.chat("x").id())
    }

    @Test func p8NoNonceRepeats() throws {
        for gcm in [false, true] {
            let nonces = try (0..<1000).map { _ in
                try chat.seal([], gcm: gcm).encryptedText.split(separator: ":")[0]
            }
            #expect(Set(nonces).count == nonces.count)
        }
    }

    // MARK: Properties

    @Test(arguments: [0, 1, 15, 16, 17, 65_535, 65_536, 65_537], [false, true])
    func sealedTextIsOpened(_ size: Int, _ gcm: Bool) throws {
        let plaintext = randomBytes(size)
        let message = try chat.seal(plaintext, gcm: gcm)
        let record = try JSON.object(parsing: message.record.serialized())
        #expect(try chat.open(try #require(ShainyMessage(record: record))) == plaintext)
    }

    @Test func theDocumentedFormIsAlsoRead() throws {
        let flat = try chat.seal(Array("hi".utf8)).record
        var payload = flat
        payload["type"] = nil
        let nested: JSONObject = ["type": .string("send_message"), "payload": .object(payload)]
        #expect(try #require(ShainyMessage(record: nested)).record == flat)
        var both = flat
        both["payload"] = .object(payload)
        #expect(ShainyMessage(record: both) == nil)
    }

    @Test func aMalformedRecordIsRefused() throws {
        let good = try chat.seal([]).record
        #expect(ShainyMessage(record: good) != nil)
        let bad: [(String, JSON?)] = [
            ("type", .string("ping")), ("type", nil), ("chatId", nil), ("chatId", .string("")),
            ("chatId", .string("global")), ("chatId", .string(String(repeating: "g", count: 64))),
            ("encryptedText", nil), ("encryptedText", .integer(1)), ("shaHash", nil),
            ("shaHash", .string("00")), ("replyTo", .string("m1")), ("replyTo", .object([:])),
            ("payload", .null),
        ]
        for (name, value) in bad {
            var record = good
            record[name] = value
            #expect(ShainyMessage(record: record) == nil, "\(name)")
        }
    }

    @Test func anyTextIsOpenedOrRefusedWithOneError() throws {
        try withGenerator { generator in
            let alphabet = Array("0123456789abcdefABCDEF:::g \u{301}")
            for _ in 0..<2000 {
                let text = String(
                    (0..<generator.int(0..<140)).map { _ in
                        alphabet[generator.int(0..<alphabet.count)]
                    })
                do throws(ShainyError) {
                    _ = try chat.open(text, hash: generator.bytes(32))
                    Issue.record(generator.comment)
                } catch {
                    #expect(error == .authentication, generator.comment)
                }
            }
        }
    }
}
