public import Sotto
public import SottoWire

/// The claim of a bundle of prekeys, to start a session with their owner.
///
/// A relay hands a one-time prekey out once, and knows the claim again by its id: whoever keeps the id and asks
/// again, even in another process, gets the same bundle and uses up no other key.
public struct PreKeyClaim: Sendable, Equatable {
    /// Whose prekeys are claimed.
    public let owner: SessionID
    /// The claim's id: a random UUID in lower case.
    public let id: String

    /// A claim; `id` has the form of `Envelope.newID()`.
    public init(owner: SessionID, id: String) {
        precondition(Envelope.isID(id), "a claim's id is a lower-case UUID")
        self.owner = owner
        self.id = id
    }

    /// Claims the bundle at a relay. A lost connection is made again, with the same id, within `timeout`
    /// seconds.
    ///
    /// What is returned is signed by the owner. Its `oneTimePreKey` is `nil` when the owner has run out. Throws
    /// ``ClientError/noBundle(relay:)``, ``ClientError/forgedBundle(relay:)``,
    /// ``ClientError/refused(relay:reason:)``, which is ``Reason/conflict`` for an id that claimed another
    /// owner's, or why the relay could not be asked.
    public func run(at relay: RelayURL, timeout: Double = 30) throws(ClientError) -> PreKeyBundle {
        let response = try RelayQuestion(request: .claim(owner: owner, id: id), relay: relay)
            .ask(timeout: timeout)
        guard case .bundle(let line) = response else { throw ClientError(response, relay) }
        guard let record = try? JSON.object(parsing: line),
            let bundle = try? PreKeyBundle(record: record), bundle.owner == owner
        else { throw .forgedBundle(relay: relay.description) }
        return bundle
    }
}
