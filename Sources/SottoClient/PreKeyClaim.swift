public import Sotto
public import SottoWire

/// A claim of a prekey bundle, to begin a session with its owner.
///
/// A relay gives out a one-time prekey once, and recognizes a repeated claim by its id. A process that stores the id
/// and claims again gets the same bundle and uses no other key.
public struct PreKeyClaim: Sendable, Equatable {
    /// The owner of the prekeys.
    public let owner: SessionID
    /// The claim's id: a random UUID in lower case.
    public let id: String

    /// Creates a claim; `id` has the form of `Envelope.newID()`.
    public init(owner: SessionID, id: String) {
        precondition(Envelope.isID(id), "a claim's id is a lower-case UUID")
        self.owner = owner
        self.id = id
    }

    /// Claims the bundle from a relay. Reconnects with the same id after a lost connection, within `timeout` seconds.
    ///
    /// Returns a bundle signed by the owner. Its `oneTimePreKey` is `nil` if the owner has none left. Throws
    /// ``ClientError/noBundle(relay:)``, ``ClientError/forgedBundle(relay:)``, ``ClientError/refused(relay:reason:)``,
    /// with ``Reason/conflict`` for an id that claimed another owner's bundle, or the error of the connection.
    public func run(at relay: RelayURL, timeout: Double = 30) throws(ClientError) -> PreKeyBundle {
        let response = try AnonymousRequest(request: .claim(owner: owner, id: id), relay: relay)
            .ask(timeout: timeout)
        guard case .bundle(let line) = response else { throw ClientError(response, relay) }
        guard let record = try? JSON.object(parsing: line),
            let bundle = try? PreKeyBundle(record: record), bundle.owner == owner
        else { throw .forgedBundle(relay: relay.description) }
        return bundle
    }
}
