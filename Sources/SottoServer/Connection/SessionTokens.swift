import Sotto

/// Tokens that reopen a mailbox for a while without another signature. HTTP needs them, because its requests may come
/// on any connection.
///
/// A token contains its session and its time of expiry, authenticated with a keyed BLAKE2b. The key is made at the
/// start of the process. The relay stores no token, and no token is valid after a restart.
struct SessionTokens: Sendable {
    /// Seconds for which a token is valid.
    static let seconds = 900.0
    /// Seconds from the login to the end of the session, even if its tokens were renewed.
    static let sessionSeconds = 86_400.0

    /// The contents of a token.
    struct Session: Sendable, Equatable {
        let mailbox: KeyID
        /// The time of the login.
        let begun: Double
        /// The member to whom the mailbox belongs as a further address, or `nil` for the member's own mailbox.
        let voucher: KeyID?
    }

    private let key = TokenKey()

    /// Creates a token for a session; it is valid from `now`.
    func issue(_ session: Session, at now: Double) -> String {
        let body =
            session.mailbox.publicKey + UInt64(now + Self.seconds).bigEndianBytes
            + UInt64(session.begun).bigEndianBytes
            + (session.voucher ?? session.mailbox).publicKey
        return Base64.url.encode(body + mac(body))
    }

    /// Returns the session of a token, or `nil` if the token is forged or expired.
    func session(_ token: String, at now: Double) -> Session? {
        let size = 80
        guard let bytes = Base64.url.decode(token), bytes.count > size,
            constantTimeEqual(mac(Array(bytes[..<size])), Array(bytes[size...])),
            Self.seconds(bytes[32..<40]) > now
        else { return nil }
        let mailbox = KeyID(publicKey: Array(bytes[..<32]))
        let voucher = KeyID(publicKey: Array(bytes[48..<80]))
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

/// The key of the tokens, made at the start of the process.
private final class TokenKey: Sendable {
    let bytes = SecretBytes(randomCount: 32)
}
