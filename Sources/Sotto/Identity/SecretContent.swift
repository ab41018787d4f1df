/// Content that gives its reader the keys of its owner. In a message it is almost always a mistake.
package enum SecretContent: Sendable, Equatable {
    /// A secret key.
    case key(SecretText)
    /// The words that restore an identity or a wallet (BIP 39).
    case words

    /// Recognizes a secret by the beginning of a content: its first ``SecretText/searched`` bytes, or all of a shorter content.
    /// Words are recognized only if they are the whole content.
    package init?(beginning bytes: some Collection<UInt8>) {
        if let key = SecretText(beginning: bytes) {
            self = .key(key)
        } else if bytes.count < SecretText.searched, Self.isWords(Array(bytes)) {
            self = .words
        } else {
            return nil
        }
    }

    private static func isWords(_ bytes: [UInt8]) -> Bool {
        guard let text = String(validating: bytes, as: UTF8.self) else { return false }
        // Sentences of people have other characters, or another number of words.
        let isPlain = text.unicodeScalars.allSatisfy { scalar in
            scalar.properties.isAlphabetic || scalar.properties.isWhitespace
                || scalar.properties.generalCategory == .nonspacingMark
                || ("0"..."9").contains(scalar) || [".", ",", ")", "-"].contains(scalar)
        }
        guard isPlain, Mnemonic.wordCounts.contains(TypedWords.words(of: text).count) else {
            return false
        }
        do throws(MnemonicError) {
            _ = try Mnemonic(parsing: text)
            return true
        } catch {
            if case .ambiguous = error { return true }
            return false
        }
    }
}
