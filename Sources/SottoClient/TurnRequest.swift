import NIOCore
import Sotto
package import SottoWire

/// A request of the owner of a mailbox for credentials for the relay's TURN servers.
package struct TurnRequest {
    /// The owner, who logs in.
    let owner: MailboxOwner

    /// Creates a request.
    package init(_ owner: MailboxOwner) { self.owner = owner }

    /// Logs in to a relay and sends the request.
    ///
    /// Throws ``ClientError/noTurn(relay:)``, or the error of the connection or the login.
    package func run(at relay: RelayURL) throws(ClientError) -> TurnCredentials {
        let group = RelayLink.makeGroup()
        defer { group.shutdownGracefully { _ in } }
        var requests = 0
        var session = try MailboxSession.open(
            relay, owner: owner, group: group, requests: &requests)
        defer { session.close() }
        let response = try session.ask(.turn, of: owner.id, &requests)
        guard case .turn(let credentials) = response else { throw ClientError(response, relay) }
        return credentials
    }
}
