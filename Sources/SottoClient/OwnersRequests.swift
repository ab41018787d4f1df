import NIOCore
import NIOPosix
public import Sotto
public import SottoState
public import SottoWire

/// Requests of an owner about the own mailboxes and as a member of a relay.
public struct OwnersRequests {
    private let identity: Identity
    private let relay: RelayURL

    /// Creates requests of an identity to a relay.
    public init(of identity: Identity, to relay: RelayURL) {
        (self.identity, self.relay) = (identity, relay)
    }

    /// Stores a registration for wake-ups in the state, so that each reception renews it, and makes it for all mailboxes.
    ///
    /// Throws ``ClientError/wakeForbidden(relay:)`` if the relay does not allow the address, and then stores none; or the error
    /// of the connection. Then the next reception makes the registration.
    public func register(_ registration: WakeRegistration, in store: IdentityStore) throws {
        let wake = OwnWake(
            relay: relay.name, kind: registration.kind.rawValue, url: registration.url,
            token: registration.token)
        try store.transaction { try $0.keep(wake) }
        do throws(ClientError) {
            try with(store) { session, requests throws(ClientError) in
                try session.register(wake, in: store, &requests)
            }
        } catch {
            if case .wakeForbidden = error {
                try store.transaction { try $0.forgetWake(wake.kind, at: wake.relay) }
            }
            throw error
        }
    }

    /// Deletes the registrations of a kind, or of all kinds, in the state and at the relay.
    ///
    /// Throws the error of the connection. The registration then expires at the relay, because nothing renews it.
    public func unregister(_ kind: WakeRegistration.Kind?, in store: IdentityStore) throws {
        let kinds = kind.map { [$0] } ?? WakeRegistration.Kind.allCases
        try store.transaction { transaction in
            for kind in kinds { try transaction.forgetWake(kind.rawValue, at: relay.name) }
        }
        try with(store) { session, requests throws(ClientError) in
            for mailbox in session.mailboxes {
                let response = try session.ask(
                    .unregisterWake(kind, of: mailbox), of: mailbox, &requests)
                guard case .stored = response else { throw ClientError(response, relay) }
            }
        }
    }

    /// Makes an invitation to the relay, and returns its code, which the relay does not learn. `label` is a name for the
    /// invited person that the operator sees, or an empty text.
    ///
    /// Throws ``ClientError/noInvitations(relay:)``, or the error of the connection.
    public func invite(label: String) throws(ClientError) -> InvitationCode {
        let code = InvitationCode()
        try with(nil) { session, requests throws(ClientError) in
            let response = try session.ask(
                .invite(tag: code.tag, key: code.publicKey, label: label), of: identity.device,
                &requests)
            guard case .stored = response else { throw ClientError(response, relay) }
        }
        return code
    }

    /// Logs in to the identity's mailbox, and with a state to those of its addresses.
    private func with(
        _ store: IdentityStore?,
        _ body: (inout MailboxSession, inout Int) throws(ClientError) -> Void
    ) throws(ClientError) {
        let addresses: [SendAddress]
        do throws(StateError) { addresses = try store?.addresses() ?? [] } catch {
            throw .state(error)
        }
        let group = RelayLink.makeGroup()
        defer { group.shutdownGracefully { _ in } }
        var requests = 0
        var session = try MailboxSession.open(
            relay, owner: .identity(identity), addresses: addresses, group: group,
            requests: &requests)
        defer { session.close() }
        try body(&session, &requests)
    }
}

extension MailboxSession {
    /// Renews the registrations for wake-ups at this relay that are due.
    mutating func renewWakes(
        in store: IdentityStore, _ requests: inout Int
    ) throws(ClientError) {
        let wakes: [OwnWake]
        do throws(StateError) { wakes = try store.wakes(at: relay.name) } catch {
            throw .state(error)
        }
        for wake in wakes where wake.isDue(mailboxes: mailboxes.count) {
            try register(wake, in: store, &requests)
        }
    }

    /// Makes a registration for all open mailboxes, and notes it in the state.
    mutating func register(
        _ wake: OwnWake, in store: IdentityStore, _ requests: inout Int
    ) throws(ClientError) {
        // A registration of a later version is left alone.
        guard let kind = WakeRegistration.Kind(rawValue: wake.kind),
            let registration = try? WakeRegistration(url: wake.url, kind: kind, token: wake.token)
        else { return }
        for mailbox in mailboxes {
            let response = try askWithWork(
                .registerWake(registration, of: mailbox), of: mailbox, &requests)
            guard case .stored = response else { throw ClientError(response, relay) }
        }
        let count = mailboxes.count
        // Without the note the registration is only renewed earlier.
        try? store.transaction { try $0.noteRenewed(wake, mailboxes: count) }
    }
}
