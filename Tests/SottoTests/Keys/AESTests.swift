import Crypto
import TestSupport
import Testing

@testable import Sotto

/// Tests/Vectors/aesgcm_hkdf.json, and properties of both modes.
struct AESTests {
    struct Vectors: Decodable {
        let aes256gcmCombined: [Sealed]
        let hkdfSha256: [Derived]
    }
    struct Sealed: Decodable, Sendable {
        let key: Hex
        let nonce: Hex
        let aad: Hex
        let message: Hex
        let combined: Hex
    }
    struct Derived: Decodable, Sendable {
        let ikm: Hex
        let salt: Hex?
        let info: String
        let length: Int
        let okm: Hex
    }

    static let vectors = TestSupport.Vectors.load("aesgcm_hkdf", as: Vectors.self)

    @Test(arguments: vectors.aes256gcmCombined)
    func gcmHasTheKnownBytes(_ known: Sealed) {
        let key = SymmetricKey(data: known.key.bytes)
        #expect(
            AESGCM.seal(
                known.message.bytes, authenticating: known.aad.bytes, nonce: known.nonce.bytes,
                key: key) == known.combined.bytes)
        let opened = AESGCM.open(
            known.combined.bytes, authenticating: known.aad.bytes, key: key)
        #expect(opened == known.message.bytes)
        #expect(
            AESGCM.open(known.combined.bytes, authenticating: known.aad.bytes + [0], key: key)
                == nil)
        for byte in known.combined.bytes.indices {
            let changed = known.combined.bytes.flipping(bit: byte * 8 + byte % 8)
            #expect(AESGCM.open(changed, authenticating: known.aad.bytes, key: key) == nil)
        }
        for count in 0..<min(40, known.combined.bytes.count) {
            let cut = Array(known.combined.bytes[..<count])
            #expect(AESGCM.open(cut, authenticating: known.aad.bytes, key: key) == nil)
        }
    }

    @Test(arguments: vectors.hkdfSha256)
    func hkdfGivesTheKnownBytes(_ known: Derived) {
        let okm = hkdfSHA256(
            SecretBytes(copying: known.ikm.bytes), salt: known.salt?.bytes ?? [], info: known.info,
            count: known.length)
        #expect(okm.withBytes { Array($0) } == known.okm.bytes)
    }

    static let sizes = [0, 1, 15, 16, 17, 31, 32, 33, 65_535, 65_536, 65_537]

    @Test(arguments: sizes)
    func cbcRoundTrips(_ size: Int) {
        let key = SecretBytes(randomCount: 32)
        let iv = randomBytes(16)
        let message = randomBytes(size)
        let ciphertext = AESCBC.encrypt(message, iv: iv, key: key)
        #expect(ciphertext.count == (size / 16 + 1) * 16)
        #expect(AESCBC.decrypt(ciphertext, iv: iv, key: key) == message)
        for length in [0, 1, ciphertext.count - 1] {
            #expect(AESCBC.decrypt(Array(ciphertext[..<length]), iv: iv, key: key) == nil)
        }
    }

    /// The last block of plaintext with each possible padding.
    @Test func everyWrongPaddingIsRefused() {
        let key = SecretBytes(randomCount: 32)
        let iv = randomBytes(16)
        for last in UInt8.min...UInt8.max {
            for right in [0, 1, Int(last) - 1, Int(last), 15, 16] where (0...16).contains(right) {
                var block = [UInt8](repeating: last ^ 0x55, count: 16)
                for place in 0..<right { block[15 - place] = last }
                block[15] = last
                // The first block of a padded message does not depend on the blocks after it.
                let ciphertext = Array(AESCBC.encrypt(block, iv: iv, key: key)[..<16])
                let isRight = (1...16).contains(Int(last)) && max(right, 1) >= Int(last)
                let opened = AESCBC.decrypt(ciphertext, iv: iv, key: key)
                #expect(opened == (isRight ? Array(block[..<(16 - Int(last))]) : nil))
            }
        }
    }
}

/// AES-256-CBC and PBKDF2 compared with openssl in both directions.
@Suite(.needs(.openSSL))
struct OpenSSLCipherTests {
    @Test(arguments: AESTests.sizes + [10 << 20])
    func cbcMatchesOpenSSL(_ size: Int) throws {
        try withGenerator { generator in
            let message = generator.bytes(size)
            let key = generator.bytes(32)
            let iv = generator.bytes(16)
            let arguments = ["enc", "-aes-256-cbc", "-K", hex(key), "-iv", hex(iv)]
            let ours = AESCBC.encrypt(message, iv: iv, key: SecretBytes(copying: key))
            let theirs = try OpenSSL.run(arguments, stdin: message)
            #expect(ours == theirs, generator.comment)
            #expect(try OpenSSL.run(arguments + ["-d"], stdin: ours) == message, generator.comment)
            let read = AESCBC.decrypt(theirs, iv: iv, key: SecretBytes(copying: key))
            #expect(read == message, generator.comment)
        }
    }

    @Test(arguments: [1, 15, 16, 17, 63, 64, 65, 60_000])
    func pbkdf2MatchesOpenSSL(_ size: Int) throws {
        try withGenerator { generator in
            let password = generator.bytes(size)
            let salt = generator.bytes(16)
            let theirs = try OpenSSL.run([
                "kdf", "-keylen", "32", "-kdfopt", "digest:SHA256", "-kdfopt",
                "hexpass:\(hex(password))", "-kdfopt", "hexsalt:\(hex(salt))", "-kdfopt",
                "iter:1000", "-binary", "PBKDF2",
            ])
            let ours = pbkdf2SHA256(
                password: SecretBytes(copying: password), salt: salt, rounds: 1000)
            #expect(ours.withBytes { Array($0) } == theirs, generator.comment)
        }
    }
}

/// PBKDF2 with passwords that do not fit a command line, compared with Python's, which uses OpenSSL.
@Suite(.needs(.pythonPackages))
struct PBKDF2PeerTests {
    @Test(arguments: AESTests.sizes + [10 << 20])
    func keysMatchPythons(_ size: Int) throws {
        try withGenerator { generator in
            let password = generator.bytes(size)
            let salt = generator.bytes(generator.int(1..<100))
            let rounds = generator.int(1..<2000)
            let answer = try Peers.ask([
                "op": "pbkdf2", "password": Peers.text(password), "salt": Peers.text(salt),
                "rounds": "\(rounds)",
            ])
            let ours = pbkdf2SHA256(
                password: SecretBytes(copying: password), salt: salt, rounds: rounds)
            #expect(answer.bytes("m") == ours.withBytes { Array($0) }, generator.comment)
        }
    }
}

/// Wycheproof's vectors, read from EXTERNAL_VECTORS.
@Suite(.enabled(if: TestSupport.Vectors.hasExternal, TestSupport.Vectors.hint))
struct WycheproofAESTests {
    struct File: Decodable { let testGroups: [Group] }
    struct Group: Decodable {
        let keySize: Int
        let ivSize: Int
        let tagSize: Int?
        let tests: [Case]
    }
    struct Case: Decodable {
        let tcId: Int
        let key: Hex
        let iv: Hex
        let aad: Hex?
        let msg: Hex
        let ct: Hex
        let tag: Hex?
        let result: String
    }

    @Test func cbcPassesEvery256BitCase() {
        let file = TestSupport.Vectors.loadExternal(
            "wycheproof/aes_cbc_pkcs5_test.json", as: File.self)
        var count = 0
        for group in file.testGroups where group.keySize == 256 {
            for known in group.tests {
                count += 1
                let key = SecretBytes(copying: known.key.bytes)
                let opened = AESCBC.decrypt(known.ct.bytes, iv: known.iv.bytes, key: key)
                let isValid = known.result == "valid"
                #expect(opened == (isValid ? known.msg.bytes : nil), "\(known.tcId)")
                if isValid {
                    let written = AESCBC.encrypt(known.msg.bytes, iv: known.iv.bytes, key: key)
                    #expect(written == known.ct.bytes, "\(known.tcId)")
                }
            }
        }
        #expect(count == 72)
    }

    @Test func gcmPassesEvery256BitCaseWithOurNonceAndTagSizes() {
        let file = TestSupport.Vectors.loadExternal("wycheproof/aes_gcm_test.json", as: File.self)
        var count = 0
        for group in file.testGroups
        where group.keySize == 256 && group.ivSize == 96 && group.tagSize == 128 {
            for known in group.tests {
                count += 1
                let key = SymmetricKey(data: known.key.bytes)
                let combined = known.iv.bytes + known.ct.bytes + known.tag!.bytes
                let opened = AESGCM.open(
                    combined, authenticating: known.aad!.bytes, key: key)
                let isValid = known.result == "valid"
                #expect(opened == (isValid ? known.msg.bytes : nil), "\(known.tcId)")
                if isValid {
                    let written = AESGCM.seal(
                        known.msg.bytes, authenticating: known.aad!.bytes, nonce: known.iv.bytes,
                        key: key)
                    #expect(written == combined, "\(known.tcId)")
                }
            }
        }
        #expect(count == 66)
    }
}
