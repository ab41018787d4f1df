import Sotto

/// Tokens that open a mailbox again without another signature, for a while: what HTTP needs, whose requests come on
/// any connection.
///
/// A token is the mailbox and the end of its time, with a keyed BLAKE2b over both under a key that lives as long as the relay's
/// process. The relay keeps none, and none survives it.
struct SessionTokens: Sendable {
    /// Seconds for which a token serves.
    static let seconds = 900.0

    private let key = TokenKey()

    /// A token for a mailbox, from `now` on.
    func issue(_ mailbox: SessionID, at now: Double) -> String {
        let body = mailbox.publicKey + UInt64(now + Self.seconds).bigEndianBytes
        return Base64.url.encode(body + mac(body))
    }

    /// Whose token it is; `nil` for one that is not ours or whose time is over.
    func mailbox(_ token: String, at now: Double) -> SessionID? {
        guard let bytes = Base64.url.decode(token), bytes.count > 40,
            constantTimeEqual(mac(Array(bytes[..<40])), Array(bytes[40...]))
        else { return nil }
        let end = bytes[32..<40].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Double(end) > now ? SessionID(publicKey: Array(bytes[..<32])) : nil
    }

    private func mac(_ body: [UInt8]) -> [UInt8] {
        keyedHash(Array("sotto/token/v1\0".utf8) + body, key: key.bytes)
    }
}

/// The key of the tokens.
private final class TokenKey: Sendable {
    let bytes = SecretBytes(randomCount: 32)
}
