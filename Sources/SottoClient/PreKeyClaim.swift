public import Sotto
public import SottoWire

/// A claim of a prekey bundle, to begin a session with its owner.
///
/// A relay gives out a one-time prekey once, and recognizes a repeated claim by its id. A process that stores the id
/// and claims again gets the same bundle and uses no other key.
public struct PreKeyClaim: Sendable, Equatable {
    /// The owner of the prekeys.
    public let owner: KeyID
    /// The claim's id: a random UUID in lower case.
    public let id: String
    /// The address that the owner gave us, or `nil`.
    public let address: KeyID?

    /// Creates a claim; `id` has the form of `Envelope.newID()`.
    public init(owner: KeyID, id: String, address: KeyID? = nil) {
        precondition(Envelope.isID(id), "a claim's id is a lower-case UUID")
        self.owner = owner
        self.id = id
        self.address = address
    }

    /// Claims the bundle from a relay. Reconnects with the same id after a lost connection, within `timeout` seconds.
    ///
    /// A relay keeps an owner's last one-time prekeys for claims with an address of the owner or a proof of work. After a
    /// bundle without a one-time prekey the claim is repeated with them; a proof of work takes about a second.
    ///
    /// Returns a bundle signed by the owner. Its `oneTimePreKey` is `nil` if the owner has none left. Throws
    /// ``ClientError/noBundle(relay:)``, ``ClientError/revoked(_:)``, ``ClientError/forgedBundle(relay:)``, ``ClientError/refused(relay:reason:)``,
    /// with ``Reason/conflict`` for an id that claimed another owner's bundle, or the error of the connection.
    public func run(at relay: RelayURL, timeout: Double = 30) throws(ClientError) -> PreKeyBundle {
        let request = AnonymousRequest(
            request: .claim(owner: owner, id: id), relay: relay,
            better: address.map { .claim(owner: owner, id: id, address: $0) }
        ) {
            guard case .bundle(let line) = $0, let bundle = bundle(in: line) else { return false }
            return bundle.oneTimePreKey == nil
        }
        let response = try request.ask(timeout: timeout)
        guard case .bundle(let line) = response else { throw ClientError(response, relay) }
        guard let bundle = bundle(in: line) else {
            if case .revocation(let revocation)? = Response.card(line).news(of: owner).first {
                throw .revoked(revocation)
            }
            throw .forgedBundle(relay: relay.description)
        }
        return bundle
    }
}
