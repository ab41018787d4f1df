import Crypto
public import Sotto
import SottoBytes
import SottoWire

/// The TURN servers of a relay, and the secret that they share with it.
public final class TurnServers: Sendable {
    private let secret: SecretBytes
    private let uris: [String]

    /// Seconds for which credentials are valid: a day, as the convention recommends.
    public static let lifetime: Int64 = 86_400
    /// The lengths of a secret, in bytes.
    public static let secretBytes = 16...1_024

    /// Creates the servers. `secret` is coturn's `static-auth-secret`.
    public init(secret: consuming SecretBytes, uris: [String]) {
        self.secret = secret
        self.uris = uris
    }

    /// Returns credentials for the owner of a mailbox. `now` is in seconds since 1970.
    ///
    /// The servers learn a keyed hash of the owner's id and the day in place of the id. It is the same for all credentials of a
    /// day, so that a server's limit for each user works.
    func credentials(for owner: KeyID, at now: Int64) -> TurnCredentials {
        let expiry = now + Self.lifetime
        let user = code("sotto owner \(owner) \(now / Self.lifetime)").prefix(8)
        return credentials(user: hex(Array(user)), expiry: expiry)
    }

    /// Returns credentials for a user name: `expiry:user` and base64(HMAC-SHA1(secret, `expiry:user`)).
    func credentials(user: String, expiry: Int64) -> TurnCredentials {
        let username = "\(expiry):\(user)"
        return TurnCredentials(
            uris: uris, username: username, password: Base64.standard.encode(code(username)),
            ttl: Self.lifetime)
    }

    /// Returns HMAC-SHA1 (RFC 2104, RFC 2202) of a text under the secret: 20 bytes. A text that is no user name begins with no
    /// digit.
    private func code(_ text: String) -> [UInt8] {
        secret.withBytes { bytes in
            Array(
                HMAC<Insecure.SHA1>.authenticationCode(
                    for: Array(text.utf8), using: SymmetricKey(data: bytes)))
        }
    }
}
