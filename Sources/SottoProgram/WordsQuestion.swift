public import SottoBytes

/// Asks on the controlling terminal for some of the recovery words, so that the user sees whether they were written down.
public struct WordsQuestion {
    /// The number of words that are asked for.
    public static let count = 3

    private let words: [String]
    /// The places of the words to ask for, from 0, in their order.
    private let places: [Int]

    /// Chooses random places in the words of an identity, which are more than ``count``.
    public init(_ words: [String]) {
        self.words = words
        places = words.indices.shuffled().prefix(Self.count).sorted()
    }

    /// Asks for each word until the answer is right. With `canSkip`, an empty answer, or the end of the input, ends the
    /// questions. Returns whether all words were typed.
    ///
    /// Throws a failure with status 64 at the end of the input, and 78 without a terminal.
    public func ask(canSkip: Bool) throws(Failure) -> Bool {
        for place in places {
            let name = "word \(place + 1)"
            while true {
                let question =
                    "Type \(name) of \(words.count)\(canSkip ? ", or Enter to skip" : ""): "
                guard let answer = try Self.answer(to: question, canSkip: canSkip) else {
                    return false
                }
                if Self.isSame(answer, words[place]) { break }
                Terminal.say("This is not \(name): compare it with the list.")
            }
        }
        return true
    }

    /// Returns the typed text, or `nil` if the question was skipped.
    private static func answer(to question: String, canSkip: Bool) throws(Failure) -> String? {
        let typed: SecretBytes
        do throws(Failure) {
            typed = try Terminal.ask(question, secret: false)
        } catch {
            guard canSkip, error.status == .usage else { throw error }
            return nil
        }
        let text = typed.withBytes { String(decoding: $0, as: UTF8.self) }
        return canSkip && text.allSatisfy(\.isWhitespace) ? nil : text
    }

    /// Compares without case, outer spaces and normalization forms: some word lists have letters with accents.
    static func isSame(_ answer: String, _ word: String) -> Bool {
        let parts = answer.lowercased().split(whereSeparator: \.isWhitespace)
        return parts.count == 1 && parts[0] == word.lowercased()
    }
}
