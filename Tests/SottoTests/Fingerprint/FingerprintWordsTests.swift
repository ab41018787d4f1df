import Sotto
import Testing

/// Conversion of digits to words and back.
struct FingerprintWordsTests {
    @Test func theNumberIsWrittenToTheBase2048() {
        let zero = String(repeating: "0", count: 30)
        // 2049 is 1 · 2048 + 1.
        let small = String(repeating: "0", count: 26) + "2049"
        #expect(Fingerprint.words(of: zero) == Array(repeating: "abandon", count: 10))
        #expect(
            Fingerprint.words(of: small + zero)
                == Array(repeating: "abandon", count: 8) + ["ability", "ability"]
                + Array(repeating: "abandon", count: 10))
    }

    @Test func wordsConvertBackToDigits() {
        let id = "05" + String(repeating: "00", count: 32)
        for seed in 0..<20 {
            let digits = Fingerprint(userID: id, key: Array(repeating: UInt8(seed), count: 32))
                .digits
            for number in [digits, digits + String(digits.reversed())] {
                let words = Fingerprint.words(of: number)
                #expect(words.count == number.count / 3)
                #expect(Fingerprint.digits(of: words) == number)
            }
        }
        let most = String(repeating: "9", count: 30)
        #expect(Fingerprint.digits(of: Fingerprint.words(of: most)) == most)
    }

    @Test func otherWordsAreRefused() {
        let abandon = Array(repeating: "abandon", count: 10)
        for words in [
            [], Array(abandon.dropLast()), abandon + ["abandon"], abandon.dropLast() + ["Abandon"],
            abandon.dropLast() + ["sotto"],
            // 2048^10 - 1, which has more than 30 digits.
            Array(repeating: "zoo", count: 10),
        ] {
            #expect(Fingerprint.digits(of: words) == nil, "\(words)")
        }
    }
}
