import Sotto

extension FuzzTarget {
    /// A sentence in any word list. The bytes are also read as the number of a list and the entropy of a sentence.
    static let mnemonic = FuzzTarget("mnemonic") { bytes in
        spell(bytes)
        let text = String(decoding: bytes, as: UTF8.self)
        guard let mnemonic = try? Mnemonic(parsing: text) else { return }
        let again = try? Mnemonic(parsing: mnemonic.sentenceText(), wordlist: mnemonic.wordlist)
        precondition(again?.sentenceText() == mnemonic.sentenceText())
    }

    private static func spell(_ bytes: [UInt8]) {
        guard let first = bytes.first, [16, 20, 24, 28, 32].contains(bytes.count - 1) else {
            return
        }
        let list = Wordlist.allCases[Int(first) % Wordlist.allCases.count]
        let entropy = SecretBytes(copying: bytes.dropFirst())
        let text = Mnemonic(entropy: entropy, wordlist: list).sentenceText()
        precondition((try? Mnemonic(parsing: text, wordlist: list))?.sentenceText() == text)
        do throws(MnemonicError) {
            let found = try Mnemonic(parsing: text).wordlist
            precondition(found == list)
        } catch {
            // The Chinese lists share words.
            guard case .ambiguous(let lists) = error, lists.contains(list) else {
                preconditionFailure("\(error)")
            }
        }
    }
}
