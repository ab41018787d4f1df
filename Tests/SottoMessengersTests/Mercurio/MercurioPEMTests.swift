import Sotto
import SottoMessengers
import TestSupport
import Testing

/// RSA keys for Mercurio as PEM under a password.
struct MercurioPEMTests {
    static let password = "correct horse"

    func open(_ pem: String, _ password: String = password) throws(RSAKeyError)
        -> MercurioPrivateKey
    {
        try MercurioPrivateKey(
            encryptedFile: Array(pem.utf8), password: SecretBytes(copying: password.utf8))
    }

    @Test func onlyItsPasswordOpensAKey() throws {
        let key = try MercurioPrivateKey(bits: 2048)
        let pem = key.pem(password: SecretBytes(copying: Self.password.utf8))
        #expect(pem.hasPrefix("-----BEGIN ENCRYPTED PRIVATE KEY-----\n"))
        #expect(try open(pem).publicKey == key.publicKey)
        #expect(throws: RSAKeyError.password) { _ = try open(pem, "correct horsf") }
        // Each file has its own salt.
        #expect(key.pem(password: SecretBytes(copying: Self.password.utf8)) != pem)
    }

    @Test func malformedKeysAreRefused() throws {
        let password = SecretBytes(copying: Self.password.utf8)
        let plain = try MercurioPrivateKey(bits: 2048).pem()
        let text = plain.withBytes { String(decoding: $0, as: UTF8.self) }
        #expect(throws: RSAKeyError.notEncrypted) { _ = try open(text) }
        #expect(throws: RSAKeyError.form) { _ = try open("no key") }
        #expect(throws: RSAKeyError.form) {
            _ = try open(text.replacing("PRIVATE KEY", with: "PUBLIC KEY"))
        }
        let long = RSALoginKey(size: .bits4096).pem(password: password)
        #expect(throws: RSAKeyError.size(bits: 4096)) { _ = try open(long) }
    }

    @Test(.needs(.openSSL))
    func openSSLReadsIt() throws {
        let files = TemporaryDirectory()
        let key = try MercurioPrivateKey(bits: 2048)
        let pem = key.pem(password: SecretBytes(copying: Self.password.utf8))
        let path = files.write("key.pem", Array(pem.utf8))
        let theirs = try OpenSSL.run(["pkey", "-in", path, "-passin", "pass:" + Self.password])
        #expect(key.pem().withBytes { $0.elementsEqual(theirs) })
    }
}
