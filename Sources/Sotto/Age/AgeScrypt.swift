import CSodium

/// Passphrase recipients (C2SP age, "The scrypt recipient type").
public enum AgeScrypt {
    static let type = "scrypt"
    /// The work factor of new files: 2¹⁸ rounds, 256 MiB.
    public static let logN = 18
    /// The highest work factor that is accepted when reading.
    public static let maximumLogN = 22

    static func wrap(
        _ fileKey: borrowing SecretBytes, passphrase: Passphrase, logN: Int
    ) throws(AgeError) -> AgeStanza {
        let salt = randomBytes(16)
        let key = try wrapKey(passphrase: passphrase, salt: salt, logN: logN)
        return AgeStanza(
            type: type, arguments: [Base64.raw.encode(salt), String(logN)],
            body: ChaChaPoly.sealOnce(fileKey, key: key))
    }

    /// Returns the file key. Throws `wrongPassphrase` if the stanza cannot be decrypted.
    static func unwrap(
        _ stanza: AgeStanza, passphrase: Passphrase
    ) throws(AgeError) -> SecretBytes {
        guard stanza.arguments.count == 2, let salt = Base64.raw.decode(stanza.arguments[0]),
            salt.count == 16, stanza.body.count == 32
        else { throw .header("scrypt stanza") }
        let text = stanza.arguments[1]
        guard !text.hasPrefix("0"), text.utf8.count <= 2,
            text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let logN = Int(text)
        else { throw .header("scrypt work factor") }
        guard logN <= maximumLogN else { throw .workFactor(logN) }
        let key = try wrapKey(passphrase: passphrase, salt: salt, logN: logN)
        guard let fileKey = ChaChaPoly.openOnce(stanza.body, key: key) else {
            throw .wrongPassphrase
        }
        return fileKey
    }

    private static func wrapKey(
        passphrase: Passphrase, salt: [UInt8], logN: Int
    ) throws(AgeError) -> SecretBytes {
        let salt = Array("age-encryption.org/v1/scrypt".utf8) + salt
        let count = passphrase.secret.count
        return try SecretBytes(count: 32) { out throws(AgeError) in
            let result = passphrase.secret.withPointer {
                crypto_pwhash_scryptsalsa208sha256_ll(
                    $0, count, salt, salt.count, UInt64(1) << UInt64(logN), 8, 1,
                    out.baseAddress!.assumingMemoryBound(to: UInt8.self), 32)
            }
            // scrypt fails only if it cannot allocate 2^(logN + 10) bytes.
            guard result == 0 else { throw .workFactor(logN) }
        }
    }
}
