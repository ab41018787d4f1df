import Crypto

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Post-quantum stanzas (C2SP age, "The mlkem768x25519 recipient type"): HPKE (RFC 9180) in base mode with
/// X-Wing, HKDF-SHA256 and ChaCha20-Poly1305.
enum AgeHybrid {
    static let type = "mlkem768x25519"
    private static let info = Data("age-encryption.org/mlkem768x25519".utf8)
    private static let suite = HPKE.Ciphersuite(
        kem: .XWingMLKEM768X25519, kdf: .HKDF_SHA256, aead: .chaChaPoly)
    private static let encapsulatedSize = 1120

    static func wrap(_ fileKey: borrowing SecretBytes, to recipient: AgeHybridRecipient)
        -> AgeStanza?
    {
        do {
            let key = try XWingMLKEM768X25519.PublicKey(rawRepresentation: recipient.publicKey)
            var sender = try HPKE.Sender(recipientKey: key, ciphersuite: suite, info: info)
            let body = try fileKey.withData { try sender.seal($0) }
            return AgeStanza(
                type: type, arguments: [Base64.raw.encode(Array(sender.encapsulatedKey))],
                body: Array(body))
        } catch {
            return nil
        }
    }

    /// Returns the file key, or `nil` if the stanza is for another recipient.
    static func unwrap(
        _ stanza: AgeStanza, with identity: AgeHybridIdentity
    ) throws(AgeError) -> SecretBytes? {
        guard stanza.arguments.count == 1, let share = Base64.raw.decode(stanza.arguments[0]),
            share.count == encapsulatedSize, stanza.body.count == 32
        else { throw .header("mlkem768x25519 stanza") }
        // The last 32 bytes are an X25519 share. libcrypto reports a low-order share as a decryption failure, but the
        // format defines it as malformed.
        guard !X25519.isLowOrder(Array(share.suffix(32))) else {
            throw .header("mlkem768x25519 share")
        }
        do {
            var receiver = try HPKE.Recipient(
                privateKey: identity.key, ciphersuite: suite, info: info,
                encapsulatedKey: Data(share))
            var fileKey = try receiver.open(stanza.body)
            defer { fileKey.resetBytes(in: fileKey.startIndex..<fileKey.endIndex) }
            return SecretBytes(copying: fileKey)
        } catch {
            return nil
        }
    }
}
