import SottoBytes
import SottoChat
import Testing

struct PassphraseTests {
    @Test func itTakesCharactersBack() {
        let passphrase = TypedPassphrase()
        passphrase.append("héé")
        passphrase.removeLast()
        #expect(passphrase.secret().withBytes { Array($0) } == Array("hé".utf8))
        passphrase.append(String(repeating: "x", count: TypedPassphrase.limit))
        #expect(passphrase.count == 3)
        passphrase.removeAll()
        #expect(passphrase.count == 0)
    }
}
