import Crypto
import CryptoExtras
import Sotto
import SwiftASN1

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A reason to refuse a Mercurio RSA key.
public enum MercurioKeyError: Error, Sendable, Equatable {
    /// The form is unknown or malformed.
    case encoding
    /// The length of the modulus is not one of ``MercurioPublicKey/sizes``.
    case size(bits: Int)
    /// The public exponent is not 65537.
    case exponent
}

/// An RSA public key that wraps the AES keys of Mercurio messages.
///
/// The key does not name its owner: the server of the directory can exchange it. ``MercurioKeyBundle`` binds it to a
/// Session ID.
public struct MercurioPublicKey: Sendable, Hashable {
    /// The supported key lengths, in bits. The apps make 2048.
    public static let sizes = [2048, 3072]

    /// The modulus without leading zeros: 256 or 384 bytes.
    public let modulus: [UInt8]

    private static let exponent: [UInt8] = [1, 0, 1]

    /// The form in which the apps write a key's modulus and exponent.
    public enum Form: String, Sendable, CaseIterable {
        /// Base64 of the content of a DER INTEGER, which begins with a zero.
        case ios
        /// Unpadded base64url, as in a JSON Web Key.
        case web
        /// Decimal digits.
        case flutter
    }

    /// Creates a key from a modulus and an exponent, both without leading zeros.
    init(modulus: [UInt8], exponent: [UInt8]) throws(MercurioKeyError) {
        let bits = modulus.count * 8 - (modulus.first?.leadingZeroBitCount ?? 0)
        guard Self.sizes.contains(bits) else { throw .size(bits: bits) }
        guard exponent == Self.exponent else { throw .exponent }
        // An even modulus is refused here, so that later uses of the key cannot fail.
        guard (try? _RSA.Encryption.PublicKey(n: modulus, e: exponent)) != nil else {
            throw .encoding
        }
        self.modulus = modulus
    }

    /// Reads a modulus and an exponent in one of the apps' three forms.
    public init(modulus: String, exponent: String) throws(MercurioKeyError) {
        // Decimal digits are also valid base64, but base64 of a modulus is shorter.
        let isDecimal = modulus.utf8.count > 600 && DecimalInteger.isDecimal(modulus)
        let decode: (String) -> [UInt8]? =
            if isDecimal { DecimalInteger.bytes } else { Self.decodeBase64 }
        guard let n = decode(modulus), let e = decode(exponent) else { throw .encoding }
        try self.init(modulus: n, exponent: e)
    }

    /// Decodes base64 of either alphabet, padded for the standard one and unpadded for the other. Allows one leading
    /// zero.
    private static func decodeBase64(_ text: String) -> [UInt8]? {
        guard text.utf8.count <= 1024,
            var bytes = Base64.standard.decode(text) ?? Base64.url.decode(text)
        else { return nil }
        if bytes.first == 0 { bytes.removeFirst() }
        return bytes.first == 0 ? nil : bytes
    }

    /// Reads the PEM of a SubjectPublicKeyInfo (RFC 5280 §4.1.2.7) or of a PKCS #1 key (RFC 8017 §A.1.1).
    public init(pem: String) throws(MercurioKeyError) {
        guard pem.utf8.count <= 4096 else { throw .encoding }
        if pem.hasPrefix("-----BEGIN RSA PUBLIC KEY-----") {
            guard let pkcs1 = PEM.decode(Array(pem.utf8)) else { throw .encoding }
            self = try Self(pkcs1: pkcs1.bytes)
            return
        }
        guard pem.hasPrefix("-----BEGIN PUBLIC KEY-----"),
            let key = try? _RSA.Encryption.PublicKey(pemRepresentation: pem),
            let parts = try? key.getKeyPrimitives()
        else { throw .encoding }
        try self.init(modulus: Array(parts.modulus), exponent: Array(parts.publicExponent))
    }

    /// Reads the DER of a PKCS #1 key: a sequence of modulus and exponent.
    private init(pkcs1 der: [UInt8]) throws(MercurioKeyError) {
        let key = try? DER.sequence(in: der) { key in
            (
                modulus: try ArraySlice<UInt8>(derEncoded: &key),
                exponent: try ArraySlice<UInt8>(derEncoded: &key)
            )
        }
        guard let key else { throw .encoding }
        try self.init(modulus: Array(key.modulus), exponent: Array(key.exponent))
    }

    /// The PEM of the key's SubjectPublicKeyInfo.
    public var pem: String { key.pemRepresentation }

    /// The DER of the SubjectPublicKeyInfo.
    public var der: [UInt8] { Array(key.derRepresentation) }

    /// Returns the modulus and the exponent in one of the apps' forms.
    public func text(_ form: Form) -> (modulus: String, exponent: String) {
        switch form {
        case .ios:
            // The first bit is set, so a DER INTEGER begins with a zero (X.690 §8.3).
            (Base64.standard.encode([0] + modulus), Base64.standard.encode(Self.exponent))
        case .web: (Base64.url.encode(modulus), Base64.url.encode(Self.exponent))
        case .flutter: (DecimalInteger.text(modulus), DecimalInteger.text(Self.exponent))
        }
    }

    private var key: _RSA.Encryption.PublicKey {
        do {
            return try _RSA.Encryption.PublicKey(n: modulus, e: Self.exponent)
        } catch {
            preconditionFailure("a modulus of \(modulus.count) bytes was checked")
        }
    }

    /// Wraps a key with RSAES-OAEP (RFC 8017 §7.1), SHA-256, MGF1-SHA-256 and an empty label. The result is as long as
    /// the modulus. Returns `nil` for a secret that is longer than the modulus minus 66 bytes.
    func wrap(_ secret: borrowing SecretBytes) -> [UInt8]? {
        secret.withBytes { bytes in
            (try? key.encrypt(bytes, padding: .PKCS1_OAEP_SHA256)).map { Array($0) }
        }
    }
}
