import SwiftASN1

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
        static let pbes2: ASN1ObjectIdentifier = [1, 2, 840, 113_549, 1, 5, 13]
        static let pbkdf2: ASN1ObjectIdentifier = [1, 2, 840, 113_549, 1, 5, 12]
        static let hmacSHA256: ASN1ObjectIdentifier = [1, 2, 840, 113_549, 2, 9]
        static let aes256CBC: ASN1ObjectIdentifier = [2, 16, 840, 1, 101, 3, 4, 1, 42]
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
        let info = try? DER.sequence(in: der) { info in
            (algorithm: try info.element(), ciphertext: try ASN1OctetString(derEncoded: &info))
        }
        guard let info else { throw .form }
        guard let (salt, rounds, iv) = try? Self.parameters(info.algorithm),
            iv.count == AESCBC.blockSize, (1...1024).contains(salt.count)
        else { throw .scheme }
        guard (1...UInt64(Self.roundsLimit)).contains(rounds) else {
            throw .rounds(limit: Self.roundsLimit)
        }
        self.salt = salt
        self.rounds = Int(rounds)
        self.iv = iv
        ciphertext = Array(info.ciphertext.bytes)
    }

    private static func parameters(
        _ algorithm: ASN1Node
    ) throws -> (salt: [UInt8], rounds: UInt64, iv: [UInt8]) {
        try DER.sequence(algorithm, identifier: .sequence) { algorithm in
            try algorithm.require(Identifier.pbes2)
            return try algorithm.sequence { parameters in
                let (salt, rounds) = try parameters.sequence { derivation in
                    try derivation.require(Identifier.pbkdf2)
                    return try derivation.sequence(derivationParameters)
                }
                let iv = try parameters.sequence { encryption in
                    try encryption.require(Identifier.aes256CBC)
                    return try ASN1OctetString(derEncoded: &encryption)
                }
                return (salt, rounds, Array(iv.bytes))
            }
        }
    }

    private static func derivationParameters(
        _ pbkdf2: inout ASN1NodeCollection.Iterator
    ) throws -> (salt: [UInt8], rounds: UInt64) {
        let salt = try ASN1OctetString(derEncoded: &pbkdf2)
        let rounds = try UInt64(derEncoded: &pbkdf2)
        var rest = pbkdf2
        // The key's length is optional.
        if rest.next()?.identifier == .integer { try pbkdf2.require(32) }
        try pbkdf2.sequence { function in
            try function.require(Identifier.hmacSHA256)
            try function.require(ASN1Null())
        }
        return (Array(salt.bytes), rounds)
    }

    /// The DER encoding.
    package var der: [UInt8] {
        DER.sequence { info in
            try info.sequence { algorithm in
                try algorithm.serialize(Identifier.pbes2)
                try algorithm.sequence { parameters in
                    try parameters.sequence { derivation in
                        try derivation.serialize(Identifier.pbkdf2)
                        try derivation.sequence { pbkdf2 in
                            try pbkdf2.octets(salt)
                            try pbkdf2.serialize(rounds)
                            try pbkdf2.sequence { function in
                                try function.serialize(Identifier.hmacSHA256)
                                try function.serialize(ASN1Null())
                            }
                        }
                    }
                    try parameters.sequence { encryption in
                        try encryption.serialize(Identifier.aes256CBC)
                        try encryption.octets(iv)
                    }
                }
            }
            try info.octets(ciphertext)
        }
    }

    /// Returns the plaintext, or `nil` if its padding is wrong. A wrong password usually gives wrong padding, but not
    /// always.
    package func open(password: borrowing SecretBytes) -> [UInt8]? {
        AESCBC.decrypt(
            ciphertext, iv: iv, key: pbkdf2SHA256(password: password, salt: salt, rounds: rounds))
    }
}
