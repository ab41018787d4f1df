import Sotto
import TestSupport
import Testing

@testable import SottoBytes

struct JSONParserTests {
    @Test func bytesOutsideStringsAreFound() {
        var strings = JSONStrings()
        let outside = #"{"a\"{":"}\\",[1]}"#.utf8.filter { strings.isOutside($0) }
        #expect(String(decoding: outside, as: UTF8.self) == "{:,[1]}")
    }

    @Test func canonicallyEquivalentStringsDiffer() {
        #expect(JSON.string("\u{E9}") != JSON.string("e\u{301}"))
        #expect(JSON.array([.string("K")]) != JSON.array([.string("\u{212A}")]))
        #expect(JSON.string("\u{E9}") == JSON.string("\u{E9}"))
    }

    func parse(_ text: String) throws(JSONError) -> JSON { try JSON(parsing: Array(text.utf8)) }

    /// Returns the error for `bytes`, or `nil` if they are valid.
    func error(_ bytes: [UInt8]) -> JSONError? {
        do throws(JSONError) {
            _ = try JSON(parsing: bytes)
            return nil
        } catch {
            return error
        }
    }

    func error(_ text: String) -> JSONError? { error(Array(text.utf8)) }

    @Test func valuesAreRead() throws {
        #expect(try parse(" null ") == .null)
        #expect(try parse("[true,false]") == .array([.bool(true), .bool(false)]))
        #expect(try parse("-0") == .integer(0))
        #expect(try parse("9223372036854775807") == .integer(.max))
        #expect(try parse("-9223372036854775808") == .integer(.min))
        #expect(try parse("1.5e3") == .number(1500))
        #expect(try parse(#""A\u00e9\ud83d\ude00\n\/""#) == .string("Aé😀\n/"))
        #expect(try parse(#"{"b":1,"a":{}}"#).object?.members.map(\.name) == ["b", "a"])
        #expect(try parse("\t\r\n [ ] ") == .array([]))
    }

    @Test(arguments: [
        "", " ", "nul", "truee", "[1,]", "[,1]", "[1 2]", "{,}", "{\"a\"}", "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}", "{'a':1}", "\"", "\"\\\"", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "\"\\u+123\"",
        "01", "-", "+1", ".5", "1.", "1e", "1e+", "0x10", "NaN", "Infinity", "-Infinity", "1 2",
        "{} {}", "[]]", "null,", "/* */1", "\u{FEFF}1", "[\u{A0}1]", "\"a\nb\"", "\"\t\"",
        "\"\u{0}\"",
        "\u{0}", "{}\u{0}",
    ])
    func malformedJSONIsRefused(_ text: String) {
        guard case .malformed = error(text) else {
            Issue.record("\(text.debugDescription): \(String(describing: error(text)))")
            return
        }
    }

    @Test(arguments: [
        #"{"a":1,"a":1}"#, #"{"a":1,"\u0061":2}"#, #"{"\u00e9":1,"é":2}"#, #"{"x":{"y":1,"y":2}}"#,
        #"[{"":1,"":2}]"#, #"{"sig":"a","s\u0069g":"b"}"#,
    ])
    func aRepeatedMemberIsRefusedInAnySpelling(_ text: String) {
        guard case .duplicateMember = error(text) else {
            Issue.record("\(text)")
            return
        }
    }

    @Test func namesAreComparedAsBytes() throws {
        // U+00E9 and U+0065 U+0301 look alike, and Swift's == treats them as equal.
        let object = try JSON.object(parsing: Array("{\"\u{E9}\":1,\"e\u{301}\":2}".utf8))
        #expect(object["\u{E9}"] == .integer(1))
        #expect(object["e\u{301}"] == .integer(2))
    }

    @Test func aRepeatedMemberIsFoundAmongMany() {
        let many = (0..<3000).map { "\"m\($0)\":0" }
        #expect(error("{\(many.joined(separator: ","))}") == nil)
        for twin in [3, 15, 16, 17, 2999] {
            let text = "{\((many + [many[twin]]).joined(separator: ","))}"
            guard case .duplicateMember = error(text) else {
                Issue.record("member \(twin)")
                return
            }
        }
    }

    @Test func sixteenLevelsAreReadAndSeventeenAreNot() {
        func nested(_ open: String, _ close: String, _ depth: Int) -> String {
            String(repeating: open, count: depth) + "1" + String(repeating: close, count: depth)
        }
        #expect(JSON.maximumDepth == 16)
        #expect(error(nested("[", "]", 16)) == nil)
        #expect(error(nested("{\"a\":", "}", 16)) == nil)
        for text in [
            nested("[", "]", 17), nested("{\"a\":", "}", 17), nested("[{\"a\":", "}]", 9),
            String(repeating: "[", count: 1_000_000),
        ] {
            guard case .tooDeep = error(text) else {
                Issue.record("\(text.prefix(40))")
                return
            }
        }
    }

    @Test(arguments: [
        #""\ud800""#, #""\udc00""#, #""\ud800x""#, #""\ud800\u0041""#, #""\ud800\ud800""#,
        #""\udc00\ud800""#, #""\ud83d\""#,
    ])
    func aLoneSurrogateIsRefused(_ text: String) {
        #expect(error(text) != nil)
    }

    @Test(
        arguments: [
            [0x22, 0xC0, 0xAF, 0x22], [0x22, 0xE0, 0x80, 0xAF, 0x22],
            [0x22, 0xF0, 0x80, 0x80, 0xAF, 0x22],
            [0x22, 0xED, 0xA0, 0x80, 0x22], [0x22, 0xF4, 0x90, 0x80, 0x80, 0x22],
            [0x22, 0xFF, 0x22],
            [0x22, 0x80, 0x22], [0x22, 0xC3, 0x22], [0x22, 0xE2, 0x82, 0x22],
            [0x22, 0xC0, 0x80, 0x22],
        ] as [[UInt8]])
    func textThatIsNotUTF8IsRefused(_ bytes: [UInt8]) {
        guard case .invalidText = error(bytes) else {
            Issue.record("\(hex(bytes))")
            return
        }
        // The same in a string with an escape, and in a member's name.
        let escaped = [0x22, 0x5C, 0x6E] + bytes[1...]
        let name = [0x7B] + bytes + [0x3A, 0x31, 0x7D]
        #expect(error(Array(escaped)) != nil && error(Array(name)) != nil)
    }

    @Test(arguments: [
        "9223372036854775808", "-9223372036854775809", "1e999", "-1e999",
        "100000000000000000000000000000000000000000",
    ])
    func aNumberThatDoesNotFitIsRefused(_ text: String) {
        #expect(error(text) == .numberOutOfRange(offset: 0))
    }

    @Test func serializedValuesAreReadBack() throws {
        let text =
            #"{"b":[1,-2,3.25,1e-7],"a":{"q\"\\\n":null,"€":"\u001f\u007f "},"":true}"#
        let value = try parse(text)
        #expect(try JSON(parsing: value.serialized()) == value)
        #expect(try JSON(parsing: value.canonical()).canonical() == value.canonical())
        #expect(!value.serialized().contains(10))
        #expect(value.serialized().count <= 6 * value.lengthWithoutEscapes)
    }

    @Test(arguments: [
        "null", "false", "-9223372036854775808", "-1.7976931348623157e308", "[]", "{}",
        #"[1,"",[null]]"#, #"{"name":{"€":[true,false]},"":""}"#,
    ])
    func aTextWithoutEscapesIsNotLongerThanItsBound(_ text: String) throws {
        let value = try parse(text)
        #expect(value.serialized().count <= value.lengthWithoutEscapes)
    }

    @Test func randomBytesNeverCrashTheParser() throws {
        try withGenerator { generator in
            let alphabet = Array(#"{}[]",:\u0019aetrfnl-+.eE \#u{E9}"#.utf8) + [0, 0x80, 0xFF]
            for _ in 0..<3000 {
                let count = generator.int(0..<40)
                _ = error((0..<count).map { _ in alphabet[generator.int(0..<alphabet.count)] })
            }
        }
    }
}

/// RFC 8785, the JSON Canonicalization Scheme.
struct CanonicalJSONTests {
    func canonical(_ text: String) throws -> String {
        String(decoding: try JSON(parsing: Array(text.utf8)).canonical(), as: UTF8.self)
    }

    @Test func valuesMatchTheRFCsExample() throws {
        let text = #"""
            {
              "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
              "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
              "literals": [null, true, false]
            }
            """#
        #expect(
            try canonical(text)
                == #"{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}"#
        )
    }

    @Test func namesAreSortedByUTF16Units() {
        let texts = [
            "", "a", "b", "\u{7F}", "\u{E9}", "\u{20AC}", "\u{D7FF}", "\u{E000}", "\u{FFFD}",
            "\u{10000}", "\u{10FFFF}",
        ]
        let names = texts.flatMap { first in texts.map { first + $0 } }
        for a in names {
            for b in names {
                #expect(
                    JSONObject.isBefore(a, b) == a.utf16.lexicographicallyPrecedes(b.utf16),
                    "\(a.debugDescription) \(b.debugDescription)")
            }
        }
    }

    @Test func sortingMatchesTheRFCsExample() throws {
        let text =
            #"{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}"#
        let names = try JSON.object(parsing: Array(canonical(text).utf8)).members.map(\.name)
        // By UTF-16 code unit: the emoji's surrogates come before U+FB33.
        #expect(names == ["\r", "1", "\u{80}", "\u{F6}", "€", "😀", "\u{FB33}"])
    }

    /// RFC 8785, Appendix B: IEEE 754 bits and ECMAScript text.
    @Test(
        arguments: [
            (0x0000_0000_0000_0000, "0"), (0x8000_0000_0000_0000, "0"),
            (0x0000_0000_0000_0001, "5e-324"), (0x8000_0000_0000_0001, "-5e-324"),
            (0x7FEF_FFFF_FFFF_FFFF, "1.7976931348623157e+308"),
            (0xFFEF_FFFF_FFFF_FFFF, "-1.7976931348623157e+308"),
            (0x4340_0000_0000_0000, "9007199254740992"),
            (0xC340_0000_0000_0000, "-9007199254740992"),
            (0x4430_0000_0000_0000, "295147905179352830000"),
            (0x44B5_2D02_C7E1_4AF5, "9.999999999999997e+22"), (0x44B5_2D02_C7E1_4AF6, "1e+23"),
            (0x44B5_2D02_C7E1_4AF7, "1.0000000000000001e+23"),
            (0x444B_1AE4_D6E2_EF4E, "999999999999999700000"),
            (0x444B_1AE4_D6E2_EF4F, "999999999999999900000"), (0x444B_1AE4_D6E2_EF50, "1e+21"),
            (0x3EB0_C6F7_A0B5_ED8C, "9.999999999999997e-7"), (0x3EB0_C6F7_A0B5_ED8D, "0.000001"),
            (0x41B3_DE43_5555_5553, "333333333.3333332"),
            (0x41B3_DE43_5555_5554, "333333333.33333325"),
            (0x41B3_DE43_5555_5555, "333333333.3333333"),
            (0x41B3_DE43_5555_5556, "333333333.3333334"),
            (0x41B3_DE43_5555_5557, "333333333.33333343"),
            (0xBECB_F647_612F_3696, "-0.0000033333333333333333"),
            (0x4314_3FF3_C1CB_0959, "1424953923781206.2"),
        ] as [(UInt64, String)])
    func numbersAreWrittenAsECMAScriptDoes(_ bits: UInt64, _ text: String) {
        let value = JSON.number(Double(bitPattern: bits))
        #expect(String(decoding: value.canonical(), as: UTF8.self) == text)
    }

    @Test func allSpellingsOfAWholeNumberAreEqual() throws {
        #expect(try canonical("[1,1.0,1e0,10e-1,-0,-0.0,100,1e2]") == "[1,1,1,1,0,0,100,100]")
    }

    @Test(arguments: [
        "1e20", "-1e20", "9223372036854775808.0", "1.5e300", "123456789012345678901e0",
    ])
    func aNumberAboveTheIntegersIsReadBack(_ text: String) throws {
        let value = try JSON(parsing: Array("[\(text)]".utf8))
        let written = value.serialized()
        #expect(try JSON(parsing: written) == value)
        #expect(String(decoding: written, as: UTF8.self).contains("e+"))
    }

    @Test func theCanonicalFormIsStable() throws {
        let value = try JSON(parsing: Array("[1e20]".utf8))
        #expect(value.serialized() == Array("[1e+20]".utf8))
        #expect(value.canonical() == Array("[100000000000000000000]".utf8))
    }

    @Test func randomDoublesRoundTrip() throws {
        try withGenerator { generator in
            for _ in 0..<2000 {
                let double = Double(bitPattern: generator.next())
                guard double.isFinite else { continue }
                let text = String(decoding: JSON.number(double).canonical(), as: UTF8.self)
                #expect(Double(text) == double, "\(text), \(generator.comment)")
            }
        }
    }
}

struct JSONStringTests {
    /// Each byte at each place of strings of all short lengths.
    @Test func eachCharacterIsEscapedWhereItMustBe() throws {
        for length in 1..<40 {
            for place in 0..<length {
                for character in [0, 8, 9, 0x1F, 0x20, 0x21, 0x22, 0x23, 0x5B, 0x5C, 0x5D, 0x7F] {
                    var bytes = [UInt8](repeating: UInt8(ascii: "a"), count: length)
                    bytes[place] = UInt8(character)
                    let text = String(decoding: bytes, as: UTF8.self)
                    let json = JSON.string(text).serialized()
                    let isEscaped = character < 0x20 || character == 0x22 || character == 0x5C
                    #expect((json.count > length + 2) == isEscaped)
                    #expect(try JSON(parsing: json) == .string(text))
                }
            }
        }
    }

    /// Random strings of a few characters, compared with a search byte by byte.
    @Test func theFirstEscapeIsFound() {
        let characters: [UInt8] = [
            0, 0x1F, 0x20, 0x21, 0x22, 0x23, 0x5B, 0x5C, 0x5D, 0x61, 0x80, 0xA2, 0xDC, 0xFF,
        ]
        for _ in 0..<20_000 {
            let few = (0..<3).map { _ in characters.randomElement()! }
            let bytes = (0..<Int.random(in: 0...40)).map { _ in
                Int.random(in: 0..<4) > 0 ? 0x61 : few.randomElement()!
            }
            let start = Int.random(in: 0...bytes.count)
            let expected =
                bytes[start...].firstIndex { $0 < 0x20 || $0 == 0x22 || $0 == 0x5C } ?? bytes.count
            let found = bytes.withUnsafeBufferPointer { JSON.firstEscape(in: $0, from: start) }
            #expect(found == expected, "\(bytes), \(start)")
        }
    }

    /// A byte that is not UTF-8 is refused, whatever stands before it.
    @Test func eachWrongByteIsRefused() {
        for length in 0..<20 {
            for byte in [0x80, 0xBF, 0xC0, 0xF8, 0xFF] as [UInt8] {
                var text = Array("\"".utf8) + [UInt8](repeating: 0x61, count: length)
                text += [byte] + Array("b\"".utf8)
                #expect(throws: JSONError.invalidText(offset: 1)) { try JSON(parsing: text) }
            }
        }
    }
}
