import Sotto

/// A reason to refuse bytes as the payload of Kecalek's QR code.
public enum KecalekQRError: Error, Sendable, Equatable {
    /// The version byte is not 1.
    case version
    /// The payload is shorter or longer than its length byte requires.
    case length
    /// The user's id is empty, longer than 255 bytes, or not UTF-8.
    case userID
    /// The key is not a canonical Ed25519 key of the main subgroup.
    case key
}

/// The payload of Kecalek's QR code in byte mode: 34 bytes and the user's id.
///
///     0x01 ‖ u8(length of id) ‖ id, UTF-8, 1 to 255 bytes ‖ Ed25519 identity key(32)
public struct KecalekQR: Sendable, Equatable {
    private static let version: UInt8 = 1
    private static let keySize = 32

    /// The user's id. It is compared as bytes.
    public let userID: String
    /// The Ed25519 identity key, 32 bytes.
    public let identityKey: [UInt8]

    /// Creates a payload. Throws ``KecalekQRError/userID`` or ``KecalekQRError/key``.
    public init(userID: String, identityKey: [UInt8]) throws(KecalekQRError) {
        guard (1...255).contains(userID.utf8.count) else { throw .userID }
        guard identityKey.count == Self.keySize, isEd25519Key(identityKey) else { throw .key }
        self.userID = userID
        self.identityKey = identityKey
    }

    /// Reads a payload. Nothing may follow it.
    public init(payload: [UInt8]) throws(KecalekQRError) {
        guard payload.count >= 2 else { throw .length }
        guard payload[0] == Self.version else { throw .version }
        let end = 2 + Int(payload[1])
        guard payload.count == end + Self.keySize else { throw .length }
        guard let userID = String(validating: payload[2..<end], as: UTF8.self) else {
            throw .userID
        }
        try self.init(userID: userID, identityKey: Array(payload[end...]))
    }

    /// The payload's bytes.
    public var payload: [UInt8] {
        [Self.version, UInt8(userID.utf8.count)] + Array(userID.utf8) + identityKey
    }

    /// Whether both payloads have the same bytes.
    public static func == (a: KecalekQR, b: KecalekQR) -> Bool { a.payload == b.payload }
}
