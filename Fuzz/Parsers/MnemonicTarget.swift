import Sotto

extension FuzzTarget {
    /// The words of an identity, in any list.
    static let mnemonic = FuzzTarget("mnemonic") { bytes in
        let text = String(decoding: bytes, as: UTF8.self)
        guard let mnemonic = try? Mnemonic(parsing: text) else { return }
        let again = try? Mnemonic(parsing: mnemonic.sentenceText(), wordlist: mnemonic.wordlist)
        precondition(again?.sentenceText() == mnemonic.sentenceText())
    }
}
