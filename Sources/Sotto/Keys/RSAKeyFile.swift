import SwiftASN1

/// The content of an RSA private key file: PKCS #8 (RFC 5958) or PKCS #1 (RFC 8017 §A.1.2), in PEM (RFC 7468) or DER.
package enum RSAKeyFile: ~Copyable {
    /// The DER of a PKCS #8 key without a password.
    case plain(SecretBytes)
    /// A PKCS #8 key under a password.
    case encrypted(PBES2)

    /// The longest file in bytes. A key of 16384 bits in PEM fits.
    package static let limit = 64 << 10

    private static let label = "PRIVATE KEY"
    private static let encryptedLabel = "ENCRYPTED PRIVATE KEY"
    private static let pkcs1Label = "RSA PRIVATE KEY"
    /// The first byte of a sequence in DER.
    private static let sequenceTag: UInt8 = 0x30

    /// Reads a file. Throws ``RSAKeyError/form`` if it is not an RSA private key, and ``RSAKeyError/scheme`` or
    /// ``RSAKeyError/rounds(limit:)`` for an encryption that ``PBES2`` does not read.
    package init(_ file: [UInt8]) throws(RSAKeyError) {
        guard file.count <= Self.limit else { throw .form }
        guard file.first != Self.sequenceTag else {
            self = try Self.read(der: file)
            return
        }
        guard var pem = PEM.decode(file) else { throw .form }
        defer { wipe(&pem.bytes) }
        switch pem.label {
        case Self.label where Self.isPKCS8(pem.bytes):
            self = .plain(SecretBytes(copying: pem.bytes))
        case Self.pkcs1Label where Self.isPKCS1(pem.bytes):
            self = .plain(Self.pkcs8(of: pem.bytes))
        case Self.encryptedLabel: self = .encrypted(try PBES2(der: pem.bytes))
        default: throw .form
        }
    }

    private static func read(der: [UInt8]) throws(RSAKeyError) -> RSAKeyFile {
        if isPKCS8(der) { return .plain(SecretBytes(copying: der)) }
        if isPKCS1(der) { return .plain(pkcs8(of: der)) }
        return .encrypted(try PBES2(der: der))
    }

    /// Returns whether the label or the structure of a file marks it as a key under a password.
    package static func isEncrypted(_ file: [UInt8]) -> Bool {
        guard file.first != sequenceTag else {
            return !isPKCS8(file) && !isPKCS1(file) && (try? PBES2(der: file)) != nil
        }
        return PEM.decode(file)?.label == encryptedLabel
    }

    /// Returns the plain DER of PKCS #8. Throws ``RSAKeyError/encrypted`` for a key under a password.
    package consuming func withoutPassword() throws(RSAKeyError) -> SecretBytes {
        switch consume self {
        case .plain(let der): return der
        case .encrypted: throw .encrypted
        }
    }

    /// Decrypts a key under a password and returns the plain DER of PKCS #8. Throws ``RSAKeyError/notEncrypted``, and
    /// ``RSAKeyError/password`` for a wrong password or a damaged key.
    package consuming func opened(
        with password: borrowing SecretBytes
    ) throws(RSAKeyError) -> SecretBytes {
        switch consume self {
        case .plain: throw .notEncrypted
        case .encrypted(let sealed):
            guard var der = sealed.open(password: password) else { throw .password }
            defer { wipe(&der) }
            // One in 256 wrong passwords gives padding that looks valid.
            guard Self.isPKCS8(der) else { throw .password }
            return SecretBytes(copying: der)
        }
    }

    /// Whether the DER is an RSA key in PKCS #8, with nothing after it.
    private static func isPKCS8(_ der: [UInt8]) -> Bool {
        let key = try? DER.sequence(in: der) { info in
            try info.require(0)
            try info.sequence { algorithm in
                try algorithm.require(ASN1ObjectIdentifier.AlgorithmIdentifier.rsaEncryption)
                try algorithm.require(ASN1Null())
            }
            return try ASN1OctetString(derEncoded: &info)
        }
        return key != nil
    }

    /// Whether the DER is a PKCS #1 key of two primes (the version and eight integers), with nothing after it.
    private static func isPKCS1(_ der: [UInt8]) -> Bool {
        let integers: Void? = try? DER.sequence(in: der) { key in
            try key.require(0)
            for _ in 0..<8 { _ = try ArraySlice<UInt8>(derEncoded: &key) }
        }
        return integers != nil
    }

    /// Returns the PKCS #8 form (RFC 5958 §2) of a PKCS #1 key.
    private static func pkcs8(of pkcs1: [UInt8]) -> SecretBytes {
        var der = DER.sequence { info in
            try info.serialize(0)
            try info.sequence { algorithm in
                try algorithm.serialize(ASN1ObjectIdentifier.AlgorithmIdentifier.rsaEncryption)
                try algorithm.serialize(ASN1Null())
            }
            try info.octets(pkcs1)
        }
        defer { wipe(&der) }
        return SecretBytes(copying: der)
    }
}
