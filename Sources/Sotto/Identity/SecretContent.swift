/// Content that gives its reader the keys of its owner. In a message it is almost always a mistake.
package enum SecretContent: Sendable, Equatable {
    /// A secret key.
    case key(SecretText)
    /// The words that restore an identity or a wallet (BIP 39).
    case words

    /// Recognizes a secret in a content, or in the beginning of a long one. Keys are recognized by its first ``SecretText/searched`` bytes, and
    /// words wherever they stand, in a sentence too.
    package init?(beginning bytes: some Collection<UInt8>) {
        if let key = SecretText(beginning: bytes) {
            self = .key(key)
        } else if Self.hasWords(Array(bytes)) {
            self = .words
        } else {
            return nil
        }
    }

    private static func hasWords(_ bytes: [UInt8]) -> Bool {
        WordRun.all(in: bytes).contains { run in
            guard let text = String(validating: bytes[run.range], as: UTF8.self) else {
                return false
            }
            let lists = Wordlist.allCases.filter { $0.script == run.script }
            if run.isSpaced {
                return lists.contains { TypedWords.hasSentence(text, of: $0) }
            }
            // Any Chinese text has such characters without a space; as recovery words they are all of it.
            let words = TypedWords.words(of: text)
            return run.range == 0..<bytes.count
                && lists.contains { Mnemonic.isSentence(words, in: $0) }
        }
    }
}
