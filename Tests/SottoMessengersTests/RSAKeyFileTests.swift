import TestSupport
import Testing

@testable import Sotto
@testable import SottoMessengers

/// RSA keys in the forms of other programs.
struct RSAKeyFileTests {
    /// Tests/Vectors/rsa_forms.json.
    struct Forms: Decodable {
        let pkcs1Pem: String
        let pkcs1Der: Hex
        let pkcs8Pem: String
        let pkcs8Der: Hex
        let encryptedDer: Hex
        let password: String
        let publicPkcs1Pem: String
        let publicPem: String
    }
    static let forms = Vectors.load("rsa_forms", as: Forms.self)

    static let plain: [(name: String, file: [UInt8])] = [
        ("PKCS #1 PEM", Array(forms.pkcs1Pem.utf8)), ("PKCS #1 DER", forms.pkcs1Der.bytes),
        ("PKCS #8 PEM", Array(forms.pkcs8Pem.utf8)), ("PKCS #8 DER", forms.pkcs8Der.bytes),
    ]

    @Test func everyFormGivesTheSameKey() throws {
        for (name, file) in Self.plain {
            #expect(!RSALoginKey.isEncrypted(file: file), "\(name)")
            #expect(try RSALoginKey(file: file).pem() == Self.forms.pkcs8Pem, "\(name)")
            let key = try MercurioPrivateKey(file: file)
            #expect(
                key.pem().withBytes { $0.elementsEqual(Self.forms.pkcs8Pem.utf8) }, "\(name)")
            #expect(
                key.publicKey.pem.utf8.filter { $0 != 10 }
                    == Self.forms.publicPem.utf8.filter { $0 != 10 })
        }
    }

    @Test func anEncryptedDERIsOpenedWithItsPassword() throws {
        let file = Self.forms.encryptedDer.bytes
        let right = SecretBytes(copying: Self.forms.password.utf8)
        let wrong = SecretBytes(copying: "wrong".utf8)
        #expect(RSALoginKey.isEncrypted(file: file))
        #expect(
            try RSALoginKey(encryptedFile: file, password: right).pem() == Self.forms.pkcs8Pem)
        #expect(
            try MercurioPrivateKey(encryptedFile: file, password: right).publicKey.pem
                == MercurioPublicKey(pem: Self.forms.publicPem).pem)
        #expect(throws: RSAKeyError.encrypted) { try RSALoginKey(file: file) }
        #expect(throws: RSAKeyError.encrypted) { try MercurioPrivateKey(file: file) }
        #expect(throws: RSAKeyError.password) {
            try RSALoginKey(encryptedFile: file, password: wrong)
        }
        #expect(throws: RSAKeyError.password) {
            try MercurioPrivateKey(encryptedFile: file, password: wrong)
        }
        #expect(throws: RSAKeyError.notEncrypted) {
            try RSALoginKey(encryptedFile: Self.forms.pkcs1Der.bytes, password: right)
        }
    }

    @Test func changedAndTruncatedFilesAreRefused() throws {
        for (name, file) in Self.plain {
            for bad in [Array(file.dropLast(2)), file + [0x30], Array(file.dropFirst())] {
                #expect(throws: RSAKeyError.form, "\(name)") { try RSALoginKey(file: bad) }
                #expect(throws: RSAKeyError.form, "\(name)") { try MercurioPrivateKey(file: bad) }
            }
        }
        // A label that does not match the content.
        for (from, to) in [
            (Self.forms.pkcs1Pem, ("RSA PRIVATE KEY", "PRIVATE KEY")),
            (Self.forms.pkcs8Pem, ("PRIVATE KEY", "RSA PRIVATE KEY")),
        ] {
            let text = from.replacing(to.0, with: to.1)
            #expect(throws: RSAKeyError.form) { try RSALoginKey(file: Array(text.utf8)) }
        }
        #expect(throws: RSAKeyError.form) {
            try RSALoginKey(file: Array(Self.forms.publicPem.utf8))
        }
        #expect(throws: RSAKeyError.form) {
            try RSALoginKey(file: [UInt8](repeating: 0x30, count: RSAKeyFile.limit + 1))
        }
    }

    @Test func aPublicKeyOfPKCS1IsRead() throws {
        let key = try MercurioPublicKey(pem: Self.forms.publicPkcs1Pem)
        #expect(try key == MercurioPublicKey(pem: Self.forms.publicPem))
        let cut = Self.forms.publicPkcs1Pem.replacing("MII", with: "MIJ")
        #expect(throws: MercurioKeyError.encoding) { try MercurioPublicKey(pem: cut) }
    }
}
