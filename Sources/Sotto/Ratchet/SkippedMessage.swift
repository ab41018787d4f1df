import SottoPadding

/// The key of one skipped message, stored outside the session (Double Ratchet §2.6).
///
/// It decrypts this message only. The caller deletes it when the message was decrypted, or when no relay can still hold
/// the message.
public struct SkippedMessage: Sendable {
    /// The sender of the message.
    public let peer: KeyID
    /// The position of the message.
    public let position: ChainPosition
    private let associatedData: [UInt8]
    private let key: MessageKey

    init(peer: KeyID, position: ChainPosition, associatedData: [UInt8], key: MessageKey) {
        self.peer = peer
        self.position = position
        self.associatedData = associatedData
        self.key = key
    }

    /// Decrypts the message in `envelope`, as ``PeerSession/open(_:)`` does.
    ///
    /// Throws ``RatchetError/payload``, ``RatchetError/noKey`` for a message at another position, or
    /// ``RatchetError/authentication``.
    public func open(_ envelope: Envelope) throws(RatchetError) -> Message {
        let message = try RatchetMessage(payload: envelope.payload)
        guard message.position == position else { throw .noKey }
        let frame = try message.open(with: key, associatedData)
        return try Message(frame: frame, of: envelope, from: peer)
    }

    // MARK: The stored form

    private static let version: UInt8 = 1

    /// Returns the version (1 byte) ‖ the session's associated data (64) ‖ the message key (32): 97 bytes. The caller
    /// wipes them.
    public func encoded() -> [UInt8] {
        secretArray(count: 97) { out in
            out.append(Self.version)
            out += associatedData
            key.secret.append(to: &out)
        }
    }

    /// Reads the bytes of ``encoded()``, or returns `nil` if they are malformed.
    public init?(encoded bytes: [UInt8], from peer: KeyID, at position: ChainPosition) {
        var reader = ByteReader(bytes[...])
        guard reader.byte() == Self.version, let associatedData = reader.bytes(64),
            let key = reader.bytes(32), reader.isAtEnd
        else { return nil }
        self.init(
            peer: peer, position: position, associatedData: Array(associatedData),
            key: MessageKey(secret: RatchetSecret(key)))
    }
}

extension Message {
    /// Reads the message in the padded frame of a session's envelope. Throws ``RatchetError/authentication``.
    init(frame: [UInt8], of envelope: Envelope, from peer: KeyID) throws(RatchetError) {
        guard let bytes = try? Padding.unframe(frame),
            let content = envelope.content(of: bytes)
        else { throw .authentication }
        self.init(
            id: content.id, from: peer, to: envelope.to, time: content.time, suite: .ratchet,
            authenticated: true, trust: .unverified, body: content.body, members: content.members)
    }
}
