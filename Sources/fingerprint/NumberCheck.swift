import Sotto
import SottoContacts
import SottoMessages
import SottoTool

/// Compares the number of a key with a given one.
struct NumberCheck {
    let keys: ComparedKeys
    /// Digits or words; `-` to read them from standard input.
    let number: String
    let isJSON: Bool
    let quiet: Bool

    /// Throws a failure with status 14 if the numbers differ.
    func run() throws {
        let (theirs, mine) = try keys.load()
        let output = try Output(path: "-", content: .text)
        for (_, key) in mine {
            try compare(try Number(of: key, with: theirs, style: keys.style), output)
        }
        try output.finish()
    }

    private func compare(_ number: Number, _ output: Output) throws {
        let matches = constantTimeEqual(try digits(like: number), Array(number.digits.utf8))
        if isJSON {
            var record = number.record
            record["match"] = .bool(matches)
            try output.writeLine(record)
        } else if matches, !quiet {
            Terminal.say("fingerprint: the numbers match")
        }
        guard matches else {
            throw Failure(
                .mismatch, quiet ? "" : "the numbers do not match",
                hint: quiet
                    ? nil
                    : "compare again; if the numbers still differ, one side has a different key: do not trust it unless you know the reason"
            )
        }
    }

    /// Returns the digits of the given number. Throws a failure with status 65 if it has another length than `number`.
    private func digits(like number: Number) throws -> [UInt8] {
        var text = self.number
        if text == "-" {
            let bytes = try Input(path: nil).readText(limit: 64 << 10)
            text = String(decoding: bytes, as: UTF8.self)
        }
        let count = number.digits.utf8.count
        if let digits = TypedDigits.read(text), digits.count == count { return digits }
        if let digits = try phraseDigits(text, insteadOf: number.digits) { return digits }
        throw Failure(
            .malformed,
            "the number to compare has neither \(count) digits nor \(count / 3) words",
            hint: keys.other == nil
                ? "use 30 digits for one card, or 60 digits with --with"
                : "use all 60 digits of the safety number")
    }

    /// Returns the digits of a number that was given in words; empty if the words encode no digits, `nil` if their
    /// number differs from that of `number`.
    private func phraseDigits(
        _ text: String, insteadOf number: String
    ) throws(Failure) -> [UInt8]? {
        guard let words = TypedDigits.readWords(text),
            words.count == Fingerprint.words(of: number).count
        else { return nil }
        if let place = Fingerprint.unknownWord(in: words) {
            throw Failure(
                .malformed,
                "word \(place + 1) of the number, \(words[place]), is not in the word list",
                hint: "use the words that sotto fingerprint --words prints")
        }
        return Fingerprint.digits(of: words).map { Array($0.utf8) } ?? []
    }
}
