import Sotto

/// An owner's wish to be told of mail in a mailbox: where a relay posts its wake-ups.
public struct WakeRegistration: Sendable, Equatable {
    /// The mail that a wake-up tells of.
    public enum Kind: String, Sendable, CaseIterable {
        /// Messages; calls too, if there is no registration of the kind ``voip``.
        case message
        /// Calls: envelopes with a time to live of 1 to ``WireLimits/callSeconds`` seconds.
        case voip
    }

    /// The reason why a registration cannot be made.
    public enum Invalid: Error, Sendable, Equatable {
        /// The text is not an address as ``WakeAddress`` parses it, or has more than ``WireLimits/wakeURLBytes`` bytes.
        case url
        /// The token does not have 1 to ``WireLimits/wakeTokenBytes`` of `A`–`Z`, `a`–`z`, `0`–`9`, `.`, `_`, `:` and `-`.
        case token
    }

    /// The address as it was given.
    public let url: String
    /// The parsed address.
    public let address: WakeAddress
    /// The mail that the wake-ups tell of.
    public let kind: Kind
    /// A text of the owner's choice, which each wake-up contains, or `nil`. It says nothing about the mailbox.
    public let token: String?

    /// Creates a registration. Throws ``Invalid``.
    public init(url: String, kind: Kind, token: String?) throws(Invalid) {
        guard url.utf8.count <= WireLimits.wakeURLBytes, let address = try? WakeAddress(url) else {
            throw .url
        }
        guard token.map(Frame.isRequestID) ?? true else { throw .token }
        (self.url, self.address, self.kind, self.token) = (url, address, kind, token)
    }

    var payload: JSONObject {
        JSONObject([
            ("url", .string(url)), ("kind", .string(kind.rawValue)),
            ("token", token.map { .string($0) }),
        ])
    }

    init(_ payload: Fields<Reason>) throws(Reason) {
        let kind = try payload["kind"].text { Kind(rawValue: $0) }
        let (url, token) = (try payload["url"].text(), try payload["token"].optional?.text())
        do throws(Invalid) {
            try self.init(url: url, kind: kind, token: token)
        } catch {
            throw .badFields
        }
    }
}
