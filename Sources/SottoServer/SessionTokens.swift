import Sotto

/// Tokens that open a mailbox again without another signature, for a while: what HTTP needs, whose requests come on
/// any connection.
///
/// A token is what it opens and the end of its time, with a keyed BLAKE2b over both under a key that lives as long as the relay's
/// process. The relay keeps none, and none survives it.
struct SessionTokens: Sendable {
    /// Seconds for which a token serves.
    static let seconds = 900.0
    /// Seconds after its login until a session ends, however often its token was exchanged for a new one.
    static let sessionSeconds = 86_400.0

    /// What a token opens.
    struct Session: Sendable, Equatable {
        let mailbox: SessionID
        /// When its owner logged in.
        let begun: Double
        /// The member for whose sake it was opened, as an address of theirs; `nil` for one in their own right.
        let voucher: SessionID?
    }

    private let key = TokenKey()

    /// A token for a session, from `now` on.
    func issue(_ session: Session, at now: Double) -> String {
        let body =
            session.mailbox.publicKey + UInt64(now + Self.seconds).bigEndianBytes
            + UInt64(session.begun).bigEndianBytes
            + (session.voucher ?? session.mailbox).publicKey
        return Base64.url.encode(body + mac(body))
    }

    /// What a token opens; `nil` for one that is not ours or whose time is over.
    func session(_ token: String, at now: Double) -> Session? {
        let size = 80
        guard let bytes = Base64.url.decode(token), bytes.count > size,
            constantTimeEqual(mac(Array(bytes[..<size])), Array(bytes[size...])),
            Self.seconds(bytes[32..<40]) > now
        else { return nil }
        let mailbox = SessionID(publicKey: Array(bytes[..<32]))
        let voucher = SessionID(publicKey: Array(bytes[48..<80]))
        let session = Session(
            mailbox: mailbox, begun: Self.seconds(bytes[40..<48]),
            voucher: voucher == mailbox ? nil : voucher)
        return session.begun + Self.sessionSeconds > now ? session : nil
    }

    private static func seconds(_ bytes: ArraySlice<UInt8>) -> Double {
        Double(bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }

    private func mac(_ body: [UInt8]) -> [UInt8] {
        keyedHash(Array("sotto/token/v1\0".utf8) + body, key: key.bytes)
    }
}

/// The key of the tokens.
private final class TokenKey: Sendable {
    let bytes = SecretBytes(randomCount: 32)
}
