import SottoBytes
import SottoChat
import Testing

struct KeyDecoderTests {
    private func decode(_ text: String) -> [TerminalInput] {
        var decoder = KeyDecoder()
        return decoder.decode(text.utf8) + decoder.flush()
    }

    @Test(
        arguments: [
            ("a", .text("a")), ("\r", .enter), ("\n", .lineBreak), ("\u{1B}\r", .lineBreak),
            ("\u{7F}", .backspace), ("\t", .tab), ("\u{1B}[Z", .backTab), ("\u{1B}", .escape),
            ("\u{1B}[A", .up), ("\u{1B}OB", .down), ("\u{1B}[1;3A", .selectUp),
            ("\u{1B}[1;5D", .wordLeft), ("\u{1B}[5~", .pageUp), ("\u{1B}[3~", .delete),
            ("\u{1B}[13;2u", .lineBreak), ("\u{1B}[27;5;13~", .lineBreak),
            ("\u{19}", .control("y")),
            ("\u{1B}x", .alt("x")), ("\u{1B}ö", .unknown), ("\u{1B}\u{F0}\u{9F}", .unknown),
            ("\u{1B}[99~", .unknown), ("\u{1B}[", .unknown),
            ("\0", .unknown),
            ("grüß 👩‍👩‍👧", .text("grüß 👩‍👩‍👧")),
        ] as [(String, Key)])
    func keysAreRead(_ text: String, _ key: Key) { #expect(decode(text) == [.key(key)]) }

    /// A fast typist, or a slow line, brings Esc and the next key in one read.
    @Test func aCommandAfterEscIsNoText() {
        #expect(decode("\u{1B}/search x") == [.key(.escape), .key(.text("/search x"))])
    }

    @Test func aPasteIsOneInputWithoutItsControlCharacters() {
        #expect(
            decode("x\u{1B}[200~one\r\ntwo\rthree\u{1B}[31m\u{9B}\u{1B}[201~y")
                == [.key(.text("x")), .paste("one\ntwo\nthree[31m"), .key(.text("y"))])
    }

    /// Text that can be a passphrase is in no string, and keeps its place among the keys.
    @Test func aPassphraseIsReadSecretly() {
        func words(_ inputs: [TerminalInput]) -> [String] {
            inputs.map { input in
                switch input {
                case .secret(let text):
                    text.secret().withBytes { String(decoding: $0, as: UTF8.self) }
                case .key(let key): "\(key)"
                case .paste(let text): "paste \(text)"
                }
            }
        }
        let bytes = Array("ho\u{1B}[200~rs\u{1B}[2é\ne\u{1B}[201~!\u{7F}ab\r\u{1B}[A".utf8)
        var decoder = KeyDecoder()
        #expect(
            words(decoder.decode(bytes, secretly: true))
                == ["hors[2ée!", "backspace", "ab", "enter", "up"])
        // Each byte can come alone.
        var inputs: [TerminalInput] = []
        for byte in bytes { inputs += decoder.decode([byte], secretly: true) }
        let typed = words(inputs.filter { if case .secret = $0 { true } else { false } })
        #expect(inputs.count - typed.count == 3)
        #expect(decoder.decode("x".utf8) == [.key(.text("x"))])
        let long = String(repeating: "x", count: TypedPassphrase.limit + 1)
        let passphrase = TypedPassphrase()
        for case .secret(let text) in decoder.decode(long.utf8, secretly: true) {
            passphrase.append(text)
        }
        #expect(passphrase.count == 0)
    }

    @Test func aLongPasteIsCutAndItsEndIsFound() {
        var decoder = KeyDecoder()
        let many = String(repeating: "p", count: KeyDecoder.pasteLimit + 1_000)
        let inputs = decoder.decode("\u{1B}[200~\(many)\u{1B}[201~q".utf8)
        #expect(inputs.count == 2)
        guard case .paste(let text) = inputs.first else { return #expect(Bool(false)) }
        #expect(text.utf8.count == KeyDecoder.pasteLimit)
        #expect(inputs.last == .key(.text("q")))
    }

    @Test func anAnswerOfTheTerminalIsNoText() {
        #expect(
            decode("\u{1B}]11;rgb:0000/0000/0000\u{1B}\\a\u{1B}P1$r0m\u{07}b") == [
                .key(.text("ab"))
            ])
    }

    /// `ESC ]` and its like begin a string. Without an end it must not swallow what is typed afterwards.
    @Test(arguments: ["]", "P", "_", "^"])
    func aStringWithoutAnEndEnds(_ introducer: String) {
        var decoder = KeyDecoder()
        #expect(decoder.decode("\u{1B}\(introducer)x".utf8).isEmpty)
        #expect(decoder.isPending)
        #expect(decoder.flush() == [.key(.unknown)])
        #expect(decoder.decode("a".utf8) == [.key(.text("a"))])
        #expect(
            decoder.decode("\u{1B}\(introducer)x\u{03}a".utf8)
                == [.key(.unknown), .key(.control("c")), .key(.text("a"))])
        let long = String(repeating: "x", count: 4 << 10)
        #expect(
            decoder.decode("\u{1B}\(introducer)\(long)xab".utf8)
                == [.key(.unknown), .key(.text("ab"))])
    }

    @Test func partsOfACharacterAndOfASequenceAreJoined() {
        var decoder = KeyDecoder()
        var inputs: [TerminalInput] = []
        for byte in "é\u{1B}[A".utf8 { inputs += decoder.decode([byte]) }
        #expect(inputs == [.key(.text("é")), .key(.up)])
        #expect(decoder.decode([0xC3, 0x28]) == [.key(.text("\u{FFFD}("))])
    }

    @Test func anEscapeIsPendingUntilItIsFlushed() {
        var decoder = KeyDecoder()
        #expect(decoder.decode([0x1B]).isEmpty)
        #expect(decoder.isPending)
        #expect(decoder.flush() == [.key(.escape)])
        #expect(!decoder.isPending)
    }

    @Test func randomBytesBecomeNoControlCharacters() {
        var generator = TestGenerator(37)
        let words: [[UInt8]] = [
            "\u{1B}[", "\u{1B}[200~", "\u{1B}[201~", "\u{1B}]", "é", "👍", "\u{1B}O",
        ].map { Array($0.utf8) }
        for _ in 0..<500 {
            var decoder = KeyDecoder()
            var bytes: [UInt8] = []
            for _ in 0..<40 {
                if Bool.random(using: &generator) {
                    bytes += words.randomElement(using: &generator)!
                } else {
                    bytes.append(.random(in: 0...255, using: &generator))
                }
            }
            for input in decoder.decode(bytes) + decoder.flush() {
                switch input {
                case .key(.text(let text)):
                    #expect(
                        !text.isEmpty
                            && text.unicodeScalars.allSatisfy {
                                $0.properties.generalCategory != .control
                            })
                case .paste(let text):
                    #expect(
                        text.unicodeScalars.allSatisfy {
                            $0 == "\n" || $0 == "\t" || $0.properties.generalCategory != .control
                        })
                case .secret: Issue.record("text is secret without a prompt")
                case .key: break
                }
            }
            #expect(!decoder.isPending)
        }
    }
}

/// A repeatable source of random numbers (SplitMix64).
struct TestGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
