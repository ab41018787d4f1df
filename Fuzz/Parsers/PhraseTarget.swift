import Sotto

extension FuzzTarget {
    /// A text of phrase/v2. The bytes are also encrypted as a plaintext, and normalised and rated as a phrase.
    static let phrase = FuzzTarget("phrase") { bytes in
        let text = String(decoding: bytes, as: UTF8.self)
        _ = try? phraseKey.open(text)
        // A ciphertext has only one encoding, because repeats are recognized by their text.
        let sealed = Array(phraseKey.seal(Array("x".utf8)).utf8)
        for place in [2, 3] where !bytes.isEmpty {
            let other = sealed[..<place] + bytes + sealed[place...]
            precondition((try? phraseKey.open(String(decoding: other, as: UTF8.self))) == nil)
        }
        precondition((try? phraseKey.open(phraseKey.seal(bytes))) == bytes)
        let normal = nfc(text)
        precondition(isNFC(normal) && normal == text)
        precondition(PhraseStrength.bits(of: text) >= 0)
    }

    private static let phraseKey = PhraseKey(
        root: SecretBytes(copying: [UInt8](repeating: 0, count: 32)))
}
