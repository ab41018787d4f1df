import Foundation
import Sotto
import TestSupport
import Testing

struct HexTests {
    @Test func bothCasesAreReadAndLowerIsWritten() {
        #expect(bytes(hex: "00fFAb") == [0, 255, 171])
        #expect(hex([0, 255, 171]) == "00ffab")
        for text in ["0", "0g", "+1", " 0", "0x", "é0", "\u{FF11}\u{FF11}"] {
            #expect(bytes(hex: text) == nil, "\(text)")
        }
    }

    @Test func integersAreBigEndianAndOfTheirSize() {
        #expect(UInt32(0x0102_0304).bigEndianBytes == [1, 2, 3, 4])
        #expect(UInt32(bigEndianBytes: [1, 2, 3, 4]) == 0x0102_0304)
        #expect(UInt32(bigEndianBytes: [1, 2, 3]) == nil)
        #expect(UInt64(bigEndianBytes: [1, 2, 3, 4]) == nil)
    }
}

struct UUIDTextTests {
    @Test func textAndBytesAgree() {
        let text = "00112233-4455-6677-8899-aabbccddeeff"
        let bytes: [UInt8] = (0..<16).map { $0 * 0x11 }
        #expect(UUIDText.bytes(text) == bytes && UUIDText.text(bytes[...]) == text)
        var out: [UInt8] = [1]
        bytes.withUnsafeBytes { UUIDText.append($0, to: &out) }
        #expect(out == [1] + Array(text.utf8))
        for _ in 0..<1_000 {
            let bytes = randomBytes(16)
            #expect(UUIDText.bytes(UUIDText.text(bytes[...])) == bytes)
        }
    }

    @Test(arguments: [
        "", "00112233-4455-6677-8899-aabbccddeef", "00112233-4455-6677-8899-aabbccddeeff0",
        "00112233-4455-6677-8899-AABBCCDDEEFF", "0011223304455-6677-8899-aabbccddeeff",
        "00112233-4455-6677-8899aaabbccddeeff", "00112233-4455-6677-8899-aabbccddeefg",
        "-0112233-4455-6677-8899-aabbccddeeff", "00112233-4455-6677-8899-aabbccddee\u{E9}",
        "00112233\u{0}4455-6677-8899-aabbccddeeff", "0011223:-4455-6677-8899-aabbccddeeff",
    ])
    func anotherFormIsRefused(_ text: String) {
        #expect(UUIDText.bytes(text) == nil && !Envelope.isID(text))
    }
}

struct Base64Tests {
    @Test func theRFCsVectorsMatch() {
        for (plain, text) in [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy"),
        ] {
            #expect(Base64.standard.encode(Array(plain.utf8)) == text)
            #expect(Base64.standard.decode(text) == Array(plain.utf8))
            #expect(Base64.raw.encode(Array(plain.utf8)) == text.filter { $0 != "=" })
            #expect(Base64.raw.decode(text.filter { $0 != "=" }) == Array(plain.utf8))
        }
        #expect(Base64.standard.encode([0xFB, 0xFF]) == "+/8=")
        #expect(Base64.url.encode([0xFB, 0xFF]) == "-_8")
    }

    @Test(arguments: [
        "Zg", "Zg=", "Zg===", "Zm8", "Zm8==", "=", "==", "===", "====", "Z===", "Zg=g", "=Zg=",
        "Zm9v=",
        "Zm9v==", "Zm9v====", "Zh==", "Zm9=", "Zm 9v", " Zm9v", "Zm9v\n", "Zm9v\r\n", "Zm-v",
        "Zm_v",
        "Zm9v\u{0}", "Zméé", "Zg==Zg==",
    ])
    func nonCanonicalTextIsRefused(_ text: String) {
        #expect(Base64.standard.decode(text) == nil)
    }

    @Test func wrongPaddingAndAlphabetAreRefused() {
        #expect(Base64.raw.decode("Zg==") == nil && Base64.url.decode("Zg==") == nil)
        #expect(Base64.url.decode("+/8") == nil && Base64.raw.decode("-_8") == nil)
        #expect(Base64.raw.decode("Z") == nil && Base64.raw.decode("Zm9vY") == nil)
        #expect(Base64.raw.decode("Zh") == nil && Base64.url.decode("Zm9") == nil)
    }

    @Test func randomBytesRoundTripAndAgreeWithFoundation() throws {
        try withGenerator { generator in
            for count in 0..<200 {
                let data = generator.bytes(count)
                let text = Base64.standard.encode(data)
                #expect(text == Data(data).base64EncodedString())
                for alphabet in [Base64.standard, .raw, .url] {
                    #expect(alphabet.decode(alphabet.encode(data)) == data, generator.comment)
                }
            }
        }
    }

    @Test func eachValueHasOneText() throws {
        // A text that can be decoded is the encoding of its value.
        try withGenerator { generator in
            let alphabet = Array("AQgwZz09+/-_=".utf8)
            for _ in 0..<5000 {
                let text = String(
                    decoding: (0..<generator.int(0..<9)).map { _ in
                        alphabet[generator.int(0..<alphabet.count)]
                    }, as: UTF8.self)
                for form in [Base64.standard, .raw, .url] {
                    if let data = form.decode(text) {
                        #expect(form.encode(data) == text, generator.comment)
                    }
                }
            }
        }
    }
}

struct Bech32Tests {
    @Test(arguments: [
        "A12UEL5L", "a12uel5l",
        "an83characterlonghumanreadablepartthatcontainsthenumber1andtheexcludedcharactersbio1tt5tgs",
        "abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw",
        "split1checkupstagehandshakeupstreamerranterredcaperred2y9e3w", "?1ezyfcl",
    ])
    func theBIPsValidStringsPassTheirChecksum(_ text: String) {
        // BIP 173 does not require whole bytes, so only data of whole bytes round-trip.
        guard let (prefix, data) = Bech32.decode(text) else {
            #expect(text.hasPrefix("split1") || text.hasPrefix("abcdef1"))
            return
        }
        #expect(Bech32.encode(prefix: prefix, data) == text.lowercased())
    }

    @Test(arguments: [
        "\u{20}1nwldj5", "\u{7F}1axkwrx", "pzry9x0s0muk", "1pzry9x0s0muk", "x1b4n0q5v", "li1dgmt3",
        "de1lg7wt\u{FF}", "A1G7SGD8", "10a06t8", "1qzzfhee", "", "1", "age1", "age", "A12uEL5L",
        "A12UEL5L ", "a12uel5m", "a1 2uel5l",
    ])
    func theBIPsInvalidStringsAreRefused(_ text: String) {
        #expect(Bech32.decode(text) == nil)
    }

    @Test func anyDataOfAnyLengthRoundTrips() throws {
        try withGenerator { generator in
            for count in [0, 1, 2, 3, 4, 5, 31, 32, 33, 90, 1216, 2000] {
                let data = generator.bytes(count)
                let text = Bech32.encode(prefix: "age", data)
                for form in [text, text.uppercased()] {
                    let decoded = try #require(Bech32.decode(form))
                    #expect(decoded.prefix == "age" && decoded.data == data, generator.comment)
                }
            }
        }
    }

    @Test func everySingleWrongCharacterIsFound() {
        let text = Bech32.encode(prefix: "age", (0..<32).map { UInt8($0 * 7) })
        for place in text.utf8.indices.indices {
            for wrong in "qpzry9x8gf2tvdw0s3jn54khce6mua7lb1ioQ" {
                var changed = text
                if changed[place] == wrong { continue }
                changed.replaceSubrange(place...place, with: [wrong])
                #expect(Bech32.decode(changed) == nil, "\(changed)")
            }
        }
    }

    @Test func paddingThatIsNotZeroOrTooLongIsRefused() {
        // Valid checksums over 0xFF; 0xFF with padding bits 01 and 10; with an extra symbol; half a byte.
        #expect(Bech32.decode("x1lu7rxnn5")?.data == [0xFF])
        for text in ["x1lar4jxwx", "x1l7dx8sqe", "x1luq5uuzzc", "x1qm7ssx4"] {
            #expect(Bech32.decode(text) == nil, "\(text)")
        }
    }

    @Test(arguments: [
        ("", "x", [""]), ("x", "x", ["", ""]), ("axxb", "x", ["a", "", "b"]),
        ("a--b-", "--", ["a", "b-"]),
        ("---", "--", ["", "-"]), ("\u{E9}\u{DF}\u{E9}", "\u{DF}", ["\u{E9}", "\u{E9}"]),
    ])
    func aTextIsSplitAtItsSeparators(_ text: String, _ separator: String, _ pieces: [String]) {
        #expect(text.pieces(between: separator) == pieces.map { $0[...] })
        #expect(text.replacingAll(separator, with: separator) == text)
        #expect(text[...].replacingAll(separator, with: "+") == pieces.joined(separator: "+"))
    }
}
