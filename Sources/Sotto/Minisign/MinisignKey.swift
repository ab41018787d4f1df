import CSodium

/// Ed25519 keys in the form of minisign's key files.
///
/// A key has an id of 8 bytes, by which a signature names its key. The id proves nothing. minisign chooses it at
/// random; here it is the first 8 bytes of the public key, so that each export of a key has the same id.
public enum MinisignKey {
    static let algorithm = Array("Ed".utf8)
    private static let scrypt = Array("Sc".utf8)
    private static let unprotected: [UInt8] = [0, 0]
    private static let blake2b = Array("B2".utf8)
    private static let saltSize = 32
    /// The scrypt parameters of a key under a password, as libsodium counts them: 2¹⁸ rounds in 256 MiB.
    private static let operations: UInt64 = 1 << 23
    private static let memory: UInt64 = 1 << 28

    /// Returns the id of a 32-byte public key, 8 bytes.
    static func id(of publicKey: [UInt8]) -> [UInt8] { Array(publicKey.prefix(8)) }

    /// Returns an id as minisign prints it: a hexadecimal number without leading zeros. Files store its lowest byte
    /// first.
    static func text(id: some BidirectionalCollection<UInt8>) -> String {
        let digits = hex(Array(id.reversed())).uppercased().drop { $0 == "0" }
        return digits.isEmpty ? "0" : String(digits)
    }

    /// Returns the public key file of a 32-byte public key: a comment and a line of base64.
    public static func publicFile(_ publicKey: [UInt8]) -> String {
        let id = id(of: publicKey)
        let line = Base64.standard.encode(algorithm + id + publicKey)
        return "untrusted comment: minisign public key \(text(id: id))\n\(line)\n"
    }

    /// Returns the secret key file: encrypted with `password` by scrypt, or unencrypted, as `minisign -W` writes it.
    /// Returns `nil` if scrypt cannot allocate its memory.
    public static func secretFile(_ key: SigningKey, password: Passphrase?) -> SecretBytes? {
        secretFile(key, password: password, salt: randomBytes(saltSize))
    }

    static func secretFile(
        _ key: SigningKey, password: Passphrase?, salt: [UInt8]
    ) -> SecretBytes? {
        var secret = id(of: key.publicKey)
        secret.reserveCapacity(256)
        key.withSeed { secret += $0 }
        secret += key.publicKey
        defer { wipe(&secret) }
        var signed = algorithm + secret
        defer { wipe(&signed) }
        secret += signed.withUnsafeBytes { blake2b256($0) }
        if let password {
            guard let stream = stream(password, salt: salt, count: secret.count) else { return nil }
            stream.withBytes { for index in secret.indices { secret[index] ^= $0[index] } }
        }
        let head =
            algorithm + (password == nil ? unprotected : scrypt) + blake2b
            + (password == nil ? [UInt8](repeating: 0, count: saltSize) : salt)
            + littleEndian(password == nil ? 0 : operations)
            + littleEndian(password == nil ? 0 : memory)
        let comment = "minisign \(password == nil ? "unencrypted" : "encrypted") secret key"
        var file = head + secret
        defer { wipe(&file) }
        var line = Base64.standard.encodeBytes(file)
        defer { wipe(&line) }
        let first = Array("untrusted comment: \(comment)\n".utf8)
        return SecretBytes(count: first.count + line.count + 1) { text in
            text.copyBytes(from: first)
            UnsafeMutableRawBufferPointer(rebasing: text[first.count...]).copyBytes(from: line)
            text[text.count - 1] = 0x0A
        }
    }

    private static func stream(_ password: Passphrase, salt: [UInt8], count: Int) -> SecretBytes? {
        var isDone = false
        let stream = SecretBytes(count: count) { out in
            let length = UInt64(password.secret.count)
            isDone =
                password.secret.withPointer { bytes in
                    bytes.withMemoryRebound(to: CChar.self, capacity: max(Int(length), 1)) {
                        crypto_pwhash_scryptsalsa208sha256(
                            out.baseAddress!.assumingMemoryBound(to: UInt8.self), UInt64(count), $0,
                            length, salt, operations, Int(memory))
                    }
                } == 0
        }
        guard isDone else { return nil }
        return stream
    }

    private static func littleEndian(_ value: UInt64) -> [UInt8] { value.bigEndianBytes.reversed() }
}
