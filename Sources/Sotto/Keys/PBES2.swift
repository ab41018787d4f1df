/// A private key under a password: `EncryptedPrivateKeyInfo` (RFC 5958 §3) with PBES2 (RFC 8018 §6.2), PBKDF2 with
/// HMAC-SHA256 and AES-256-CBC. It is not authenticated.
package struct PBES2: Sendable, Equatable {
    /// The rounds of new files.
    package static let writtenRounds = 600_000
    /// The highest number of rounds that is accepted. They take a few seconds.
    package static let roundsLimit = 10_000_000

    package let salt: [UInt8]
    package let rounds: Int
    package let iv: [UInt8]
    package let ciphertext: [UInt8]

    private enum Identifier {
        static let pbes2: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 5, 13]
        static let pbkdf2: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 5, 12]
        static let hmacSHA256: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 2, 9]
        static let aes256CBC: [UInt8] = [0x60, 0x86, 0x48, 1, 0x65, 3, 4, 1, 42]
    }

    /// Encrypts `plaintext` under a password.
    package init(
        sealing plaintext: [UInt8], password: borrowing SecretBytes, rounds: Int = writtenRounds
    ) {
        salt = randomBytes(16)
        iv = randomBytes(AESCBC.blockSize)
        self.rounds = rounds
        ciphertext = AESCBC.encrypt(
            plaintext, iv: iv, key: pbkdf2SHA256(password: password, salt: salt, rounds: rounds))
    }

    /// Reads DER. Throws ``RSAKeyError/form``, ``RSAKeyError/scheme`` or ``RSAKeyError/rounds(limit:)``.
    package init(der: [UInt8]) throws(RSAKeyError) {
        var outer = DERReader(der[...])
        guard var info = outer.sequence(), outer.isAtEnd, var algorithm = info.sequence(),
            let ciphertext = info.content(.octetString), info.isAtEnd
        else { throw .form }
        guard algorithm.takes(Identifier.pbes2), var parameters = algorithm.sequence(),
            algorithm.isAtEnd, var derivation = parameters.sequence(),
            var encryption = parameters.sequence(), parameters.isAtEnd,
            derivation.takes(Identifier.pbkdf2), var pbkdf2 = derivation.sequence(),
            derivation.isAtEnd, let salt = pbkdf2.content(.octetString),
            let rounds = pbkdf2.integer()
        else { throw .scheme }
        if pbkdf2.nextTag == DER.Tag.integer.rawValue, pbkdf2.integer() != 32 { throw .scheme }
        guard var function = pbkdf2.sequence(), pbkdf2.isAtEnd,
            function.takes(Identifier.hmacSHA256), function.takesNull(), function.isAtEnd,
            encryption.takes(Identifier.aes256CBC), let iv = encryption.content(.octetString),
            encryption.isAtEnd, iv.count == AESCBC.blockSize, (1...1024).contains(salt.count)
        else { throw .scheme }
        guard (1...Self.roundsLimit).contains(rounds) else {
            throw .rounds(limit: Self.roundsLimit)
        }
        self.salt = Array(salt)
        self.rounds = rounds
        self.iv = Array(iv)
        self.ciphertext = Array(ciphertext)
    }

    /// The DER encoding.
    package var der: [UInt8] {
        let derivation = DER.sequence([
            DER.element(.objectIdentifier, Identifier.pbkdf2),
            DER.sequence([
                DER.element(.octetString, salt), DER.integer(UInt64(rounds)),
                DER.sequence([
                    DER.element(.objectIdentifier, Identifier.hmacSHA256), DER.element(.null, []),
                ]),
            ]),
        ])
        let encryption = DER.sequence([
            DER.element(.objectIdentifier, Identifier.aes256CBC), DER.element(.octetString, iv),
        ])
        return DER.sequence([
            DER.sequence([
                DER.element(.objectIdentifier, Identifier.pbes2),
                DER.sequence([derivation, encryption]),
            ]),
            DER.element(.octetString, ciphertext),
        ])
    }

    /// Returns the plaintext, or `nil` if its padding is wrong. A wrong password usually gives wrong padding, but not
    /// always.
    package func open(password: borrowing SecretBytes) -> [UInt8]? {
        AESCBC.decrypt(
            ciphertext, iv: iv, key: pbkdf2SHA256(password: password, salt: salt, rounds: rounds))
    }
}
