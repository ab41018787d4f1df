import SwiftASN1
import TestSupport
import Testing

@testable import Sotto

/// The RSA login key, its files, and its signatures.
struct RSALoginTests {
    static let key = RSALoginKey(size: .bits2048)
    static func password(_ text: String) -> SecretBytes { SecretBytes(copying: text.utf8) }

    @Test(arguments: RSALoginKey.Size.allCases)
    func anAnswerIsValidOnlyForItsChallenge(_ size: RSALoginKey.Size) throws {
        let key = RSALoginKey(size: size)
        let challenge = randomBytes(32)
        let answer = try key.answer(to: challenge)
        #expect(answer.count == size.rawValue / 8)
        #expect(key.publicKey.isAnswer(answer, to: challenge))
        #expect(!key.publicKey.isAnswer(answer, to: challenge.flipping(bit: 3)))
        #expect(!key.publicKey.isAnswer(answer.flipping(bit: 100), to: challenge))
        #expect(!key.publicKey.isAnswer([], to: challenge))
        #expect(!Self.key.publicKey.isAnswer(answer, to: challenge))
    }

    @Test func r12OnlyThirtyTwoBytesAreSigned() {
        for count in Array(0..<32) + [33, 64, 190, 256, 1000] {
            #expect(throws: RSAKeyError.challenge) {
                try Self.key.answer(to: [UInt8](repeating: 1, count: count))
            }
        }
        #expect(
            RSALoginKey.signed([UInt8](repeating: 7, count: 32))
                == Array("ratchet/login/v1\0".utf8) + [UInt8](repeating: 7, count: 32))
    }

    @Test func aKeyIsWrittenAndRead() throws {
        let pem = Array(Self.key.pem().utf8)
        #expect(!RSALoginKey.isEncrypted(file: pem))
        let read = try RSALoginKey(file: pem)
        #expect(read.pem() == Self.key.pem() && read.publicPEM() == Self.key.publicPEM())
        #expect(throws: RSAKeyError.notEncrypted) {
            try RSALoginKey(encryptedFile: pem, password: Self.password("x"))
        }
    }

    @Test func aKeyUnderAPasswordIsWrittenAndRead() throws {
        let pem = Array(Self.key.pem(password: Self.password("пароль")).utf8)
        #expect(RSALoginKey.isEncrypted(file: pem))
        #expect(throws: RSAKeyError.encrypted) { try RSALoginKey(file: pem) }
        let read = try RSALoginKey(encryptedFile: pem, password: Self.password("пароль"))
        #expect(read.pem() == Self.key.pem())
        #expect(throws: RSAKeyError.password) {
            try RSALoginKey(encryptedFile: pem, password: Self.password("пароли"))
        }
    }

    /// Few rounds, so that many passwords can be tried. Some of them give padding that looks valid.
    @Test func wrongPasswordsAndDamageGiveOneError() throws {
        let der = try #require(PEM.decode(Array(Self.key.pem().utf8))).bytes
        let sealed = PBES2(sealing: der, password: Self.password("right"), rounds: 1)
        let pem = Array(PEM.encode("ENCRYPTED PRIVATE KEY", sealed.der).utf8)
        var rightPaddings = 0
        for number in 0..<4000 {
            let wrong = Self.password("wrong \(number)")
            if sealed.open(password: wrong) != nil { rightPaddings += 1 }
            #expect(throws: RSAKeyError.password) {
                try RSALoginKey(encryptedFile: pem, password: wrong)
            }
        }
        #expect(rightPaddings > 0)
        let read = try RSALoginKey(encryptedFile: pem, password: Self.password("right"))
        #expect(read.pem() == Self.key.pem())
    }

    @Test(arguments: [0, 1, 15, 16, 17, 65_535, 65_536, 65_537])
    func pbes2EncryptsAnySize(_ size: Int) throws {
        let plaintext = randomBytes(size)
        let sealed = PBES2(sealing: plaintext, password: Self.password("p"), rounds: 3)
        let read = try PBES2(der: sealed.der)
        #expect(read == sealed && read.der == sealed.der)
        #expect(read.open(password: Self.password("p")) == plaintext)
        for count in stride(from: 0, to: sealed.der.count, by: max(1, sealed.der.count / 300)) {
            #expect(throws: RSAKeyError.form) { try PBES2(der: Array(sealed.der[..<count])) }
        }
        #expect(throws: RSAKeyError.form) { try PBES2(der: sealed.der + [0]) }
    }

    @Test func roundsHaveALimit() {
        let limit = PBES2.roundsLimit
        let sealed = Self.sealed()
        // Replaces the integer 1 by another one of the same length, and by longer ones.
        for rounds in [0, UInt64(limit) + 1, 1 << 62] {
            let integer = Array(DER.sequence { try $0.serialize(rounds) }.dropFirst(2))
            let der = Self.der(of: sealed, rounds: integer)
            #expect(throws: RSAKeyError.rounds(limit: limit)) { try PBES2(der: der) }
        }
        let negative = Self.der(of: sealed, rounds: [2, 1, 0x80])
        #expect(throws: RSAKeyError.scheme) { try PBES2(der: negative) }
    }

    /// A short plaintext under PBES2 with one round.
    static func sealed() -> PBES2 { PBES2(sealing: [1], password: password("p"), rounds: 1) }

    /// Returns the DER of `sealed` with these bytes in the place of the rounds. Every element has fewer than 128 bytes.
    static func der(of sealed: PBES2, rounds: [UInt8]) -> [UInt8] {
        func element(_ tag: UInt8, _ content: [UInt8]...) -> [UInt8] {
            let content = content.flatMap(\.self)
            return [tag, UInt8(content.count)] + content
        }
        func oid(_ bytes: [UInt8]) -> [UInt8] { element(6, bytes) }
        func sequence(_ elements: [UInt8]...) -> [UInt8] { element(0x30, elements.flatMap(\.self)) }
        let pkcs5: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 5]
        let hmac = sequence(oid([0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 2, 9]), element(5))
        let derivation = sequence(
            oid(pkcs5 + [12]), sequence(element(4, sealed.salt), rounds, hmac))
        let encryption = sequence(
            oid([0x60, 0x86, 0x48, 1, 0x65, 3, 4, 1, 42]), element(4, sealed.iv))
        return sequence(
            sequence(oid(pkcs5 + [13]), sequence(derivation, encryption)),
            element(4, sealed.ciphertext))
    }

    @Test func invalidKeysAreRefused() {
        let label = "PRIVATE KEY"
        let texts = [
            "", "-----BEGIN PRIVATE KEY-----", PEM.encode(label, []), PEM.encode(label, [0x30, 0]),
            PEM.encode("RSA PRIVATE KEY", [1]), PEM.encode("CERTIFICATE", [1]),
            Self.key.pem() + Self.key.pem(), Self.key.publicPEM(),
            Self.key.pem().replacing("BEGIN PRIVATE", with: "BEGIN PUBLIC"),
            // The Kelvin sign, which Swift's `==` treats as equal to K, and a line break that is not ASCII.
            Self.key.pem().replacing("KEY", with: "\u{212A}EY"),
            Self.key.pem().replacing("\n", with: "\u{2028}"), "\u{A0}" + Self.key.pem(),
        ]
        for text in texts {
            #expect(throws: RSAKeyError.form) { try RSALoginKey(file: Array(text.utf8)) }
            #expect(!RSALoginKey.isEncrypted(file: Array(text.utf8)))
        }
    }
}

/// The same keys in openssl.
@Suite(.needs(.openSSL))
struct OpenSSLKeyTests {
    @Test(arguments: [2048, 3072, 4096])
    func openSSLsKeysAreRead(_ bits: Int) throws {
        let pem = try OpenSSL.run([
            "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:\(bits)",
        ])
        let key = try RSALoginKey(file: pem)
        #expect(try key.answer(to: randomBytes(32)).count == bits / 8)
        #expect(Array(key.pem().utf8) == pem)
        let encrypted = try OpenSSL.run(
            [
                "pkcs8", "-topk8", "-v2", "aes-256-cbc", "-v2prf", "hmacWithSHA256", "-iter",
                "1000", "-passout", "pass:correct horse",
            ], stdin: pem)
        let read = try RSALoginKey(
            encryptedFile: encrypted, password: RSALoginTests.password("correct horse"))
        #expect(read.pem() == key.pem())
        #expect(throws: RSAKeyError.password) {
            try RSALoginKey(encryptedFile: encrypted, password: RSALoginTests.password("x"))
        }
    }

    /// Encrypts and decrypts any bytes, not only keys, with openssl's PBKDF2 and AES-CBC.
    @Test(arguments: [0, 1, 15, 16, 17, 65_535, 65_536, 65_537, 10 << 20])
    func openSSLEncryptsAndDecryptsTheSame(_ size: Int) throws {
        let plaintext = randomBytes(size)
        let sealed = PBES2(
            sealing: plaintext, password: RSALoginTests.password("correct horse"), rounds: 1000)
        let key = try OpenSSL.run([
            "kdf", "-keylen", "32", "-kdfopt", "digest:SHA256", "-kdfopt", "pass:correct horse",
            "-kdfopt", "hexsalt:\(hex(sealed.salt))", "-kdfopt", "iter:1000", "-binary", "PBKDF2",
        ])
        let cipher = ["enc", "-aes-256-cbc", "-K", hex(key), "-iv", hex(sealed.iv)]
        #expect(try OpenSSL.run(cipher + ["-d"], stdin: sealed.ciphertext) == plaintext)
        let theirs = try OpenSSL.run(cipher, stdin: plaintext)
        #expect(theirs == sealed.ciphertext)
        let read = try PBES2(der: sealed.der)
        #expect(read.open(password: RSALoginTests.password("correct horse")) == plaintext)
        // openssl parses the whole DER.
        let parsed = try OpenSSL.run(["asn1parse", "-inform", "DER"], stdin: sealed.der)
        let text = String(decoding: parsed, as: UTF8.self)
        for name in ["PBES2", "PBKDF2", "hmacWithSHA256", "aes-256-cbc"] {
            #expect(text.contains(":" + name))
        }
    }

    @Test(arguments: [
        ["-v2", "aes-128-cbc"], ["-v2", "des3"], ["-v2", "aes-256-cbc", "-v2prf", "hmacWithSHA1"],
        ["-v2", "aes-256-cbc", "-scrypt"],
    ])
    func otherSchemesAreRefused(_ scheme: [String]) throws {
        let encrypted = try OpenSSL.run(
            ["pkcs8", "-topk8", "-passout", "pass:x"] + scheme,
            stdin: Array(RSALoginTests.key.pem().utf8))
        #expect(throws: RSAKeyError.scheme) {
            try RSALoginKey(encryptedFile: encrypted, password: RSALoginTests.password("x"))
        }
    }

    @Test func ourKeysAreRead() throws {
        let key = RSALoginTests.key
        let pem = key.pem(password: RSALoginTests.password("correct horse"))
        let read = try OpenSSL.run(
            ["pkcs8", "-passin", "pass:correct horse"], stdin: Array(pem.utf8))
        #expect(read == Array(key.pem().utf8))
        let publicKey = try OpenSSL.run(["pkey", "-pubout"], stdin: Array(key.pem().utf8))
        #expect(publicKey == Array(key.publicPEM().utf8))
    }

    @Test func keysOfOtherSizesAndKindsAreRefused() throws {
        for bits in [1024, 1536, 5120] {
            let pem = try OpenSSL.run([
                "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:\(bits)",
            ])
            #expect(throws: RSAKeyError.size(bits: bits)) { try RSALoginKey(file: pem) }
        }
        for algorithm in ["ED25519", "X25519"] {
            let pem = try OpenSSL.run(["genpkey", "-algorithm", algorithm])
            #expect(throws: RSAKeyError.form) { try RSALoginKey(file: pem) }
        }
        let pss = try OpenSSL.run([
            "genpkey", "-algorithm", "RSA-PSS", "-pkeyopt", "rsa_keygen_bits:2048",
        ])
        #expect(throws: RSAKeyError.form) { try RSALoginKey(file: pss) }
    }

    @Test func r12AnswersArePSSWithASaltOf32Bytes() throws {
        let directory = TemporaryDirectory()
        let challenge = randomBytes(32)
        let key = RSALoginTests.key
        let publicKey = directory.write("public.pem", key.publicPEM().utf8)
        let secret = directory.write("private.pem", key.pem().utf8)
        let answer = directory.write("answer", try key.answer(to: challenge))
        let options = [
            "dgst", "-sha256", "-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_mgf1_md:sha256",
            "-sigopt", "rsa_pss_saltlen:32",
        ]
        let signed = Array("ratchet/login/v1\0".utf8) + challenge
        _ = try OpenSSL.run(
            options + ["-verify", publicKey, "-signature", answer], stdin: signed)
        let theirs = try OpenSSL.run(options + ["-sign", secret, "-binary"], stdin: signed)
        #expect(key.publicKey.isAnswer(theirs, to: challenge))
    }
}
