import Sotto
import SottoTool

/// Asks for some of the recovery words on the terminal, so that nobody keeps an identity whose words are not written down.
enum WordCheck {
    /// The number of words that are asked for.
    private static let count = 3
    /// The number of answers to each question.
    private static let attempts = 3

    /// Asks for three words at random places. Throws a failure with status 14 after wrong answers, and with 1 for an empty answer.
    static func run(_ mnemonic: Mnemonic) throws(Failure) {
        let places = (1...mnemonic.wordCount).shuffled().prefix(count).sorted()
        for place in places {
            guard try isConfirmed(mnemonic, place) else {
                throw Failure(
                    .mismatch, "the words were not confirmed",
                    hint: "print them again: sotto keygen words")
            }
        }
        Terminal.say("\(KeygenTool.toolName): the words are confirmed")
    }

    private static func isConfirmed(
        _ mnemonic: Mnemonic, _ place: Int
    ) throws(Failure) -> Bool {
        for _ in 0..<attempts {
            let answer = try Terminal.ask("Word \(place) of \(mnemonic.wordCount): ", secret: false)
            guard answer.count > 0 else { throw Failure(.no, "the words were not confirmed") }
            let isRight = answer.withBytes {
                mnemonic.isWord(String(decoding: $0, as: UTF8.self), at: place)
            }
            if isRight { return true }
            Terminal.say("\(KeygenTool.toolName): this is not word \(place)")
        }
        return false
    }
}
