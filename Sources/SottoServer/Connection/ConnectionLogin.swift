import Sotto
import SottoWire

/// Opens mailboxes on a connection, and decides who may publish.
extension ConnectionState {
    /// Begins a login: the proof is verified, and the mailbox is opened if the id is admitted. All failures give the
    /// same answer.
    mutating func logIn(
        _ login: Login, _ requestID: String?, at now: Double, to sink: some ConnectionEffects
    ) throws(Reason) {
        guard isKnown(login.nonce, at: now), names().contains(login.relay.lowercased()),
            !isLockedOut(login.id, at: now)
        else { throw .loginFailed }
        if case .signature = login.proof {
            verify(.signature(login, to: requestID), to: sink)
        } else {
            read(.login(login, member: member, to: requestID), to: sink)
        }
    }

    /// Returns whether a nonce was issued on this connection, or for HTTP on any, and uses it up.
    private mutating func isKnown(_ bytes: [UInt8], at now: Double) -> Bool {
        if isHTTP { return policy.nonces.take(bytes, at: now) }
        let nonce = nonce
        self.nonce = nil
        guard let nonce, nonce.until > now else { return false }
        return constantTimeEqual(nonce.bytes, bytes)
    }

    /// Continues a login whose signature was verified.
    mutating func noteSignature(
        _ login: Login, _ isSigned: Bool, _ requestID: String?, at now: Double,
        to sink: some ConnectionEffects
    ) {
        guard isSigned else { return refuseProof(of: login.id, requestID, at: now, to: sink) }
        if policy.admission.isOpen {
            enter(login.id, login, requestID, at: now, to: sink)
        } else {
            read(.login(login, member: member, to: requestID), to: sink)
        }
    }

    /// Continues a login whose RSA answer was verified.
    mutating func noteAnswer(
        _ login: Login, _ context: LoginContext, _ isProven: Bool, _ requestID: String?,
        at now: Double, to sink: some ConnectionEffects
    ) {
        guard isProven else { return refuseProof(of: login.id, requestID, at: now, to: sink) }
        decide(login, context, requestID, at: now, to: sink)
    }

    /// Continues after a read from the store.
    mutating func continueLogin(
        _ result: StoreQuery.Result, at now: Double, to sink: some ConnectionEffects
    ) {
        let admission = policy.admission
        switch result {
        case .login(let login, let context, let requestID):
            // An RSA proof is verified with the stored key.
            if case .rsa = login.proof {
                verify(.answer(login, context, to: requestID), to: sink)
            } else {
                decide(login, context, requestID, at: now, to: sink)
            }
        case .resume(let session, let account, let requestID):
            guard admission.admits(session.voucher ?? session.mailbox, account) else {
                return refuse(.notAdmitted, requestID, to: sink)
            }
            reopen(session, requestID, at: now, to: sink)
        case .publish(let change, let owner, let account, let isKnown, let space, let requestID):
            guard change.isRoom || admission.admits(owner, account) else {
                return refuse(.notAdmitted, requestID, to: sink)
            }
            let needsWork = (admission.isOpen || change.isRoom) && !isKnown
            guard !needsWork || solvedPuzzles > 0 else {
                return refuse(.workRequired, requestID, to: sink)
            }
            guard policy.directory.admit(change.directoryBytes - space) else {
                policy.counters.add(.deferred)
                return sink.perform(.respond(Outcome.diskFull.response, to: requestID))
            }
            if needsWork { solvedPuzzles -= 1 }
            commit(change, requestID, to: sink)
        case .session(let id, let login, let token, let requestID):
            sink.perform(
                .respond(
                    .session(login.status, token: token, other: login.other), to: requestID))
            noteSeen(id, login.account, login.minute, to: sink)
            if let instance = login.due { sink.perform(.note(.noteInstance(instance))) }
        case .response, .poll, .push, .full, .wake, .invitations: break
        }
    }

    /// Continues after a change of the login is on disk.
    mutating func continueLogin(
        _ step: CommitStep, _ requestID: String?, at now: Double, to sink: some ConnectionEffects
    ) {
        switch step {
        case .makeMember(let login):
            commit(.update(login.id, .membership(true)), requestID, then: .enter(login), to: sink)
        case .enter(let login): enter(login.id, login, requestID, at: now, to: sink)
        case .openMeeting: break
        }
    }

    private mutating func decide(
        _ login: Login, _ context: LoginContext, _ requestID: String?, at now: Double,
        to sink: some ConnectionEffects
    ) {
        let admission = policy.admission
        if admission.admits(login.id, context.account) {
            return enter(login.id, login, requestID, at: now, to: sink)
        }
        if let tag = redeemable(login, context) {
            return commit(
                .redeem(tag, by: login.id), requestID, then: .makeMember(login), to: sink)
        }
        // A further address of a member; the relay does not store to whom it belongs.
        guard let member = context.member, member != login.id,
            admission.admits(member, context.voucher)
        else { return refuse(.notAdmitted, requestID, to: sink) }
        enter(login.id, login, requestID, voucher: member, at: now, to: sink)
    }

    /// Returns the tag of the invitation that a login redeems, or `nil`. The owner may redeem it again until they are
    /// removed: the connection may have failed before the membership was stored.
    private func redeemable(_ login: Login, _ context: LoginContext) -> [UInt8]? {
        guard policy.admission.isByInvitation, let invitation = context.invitation,
            invitation.until > context.minute,
            invitation.owner == nil
                || invitation.owner == login.id && context.account?.wasRemoved != true,
            context.provesInvitation
        else { return nil }
        return invitation.tag
    }

    /// Reopens a mailbox with the token of an earlier login.
    mutating func resume(
        _ token: String, _ requestID: String?, at now: Double, to sink: some ConnectionEffects
    ) throws(Reason) {
        guard let session = policy.tokens.session(token, at: now) else { throw .loginFailed }
        if policy.admission.isOpen {
            reopen(session, requestID, at: now, to: sink)
        } else {
            read(.resume(session, to: requestID), to: sink)
        }
    }

    private mutating func reopen(
        _ session: SessionTokens.Session, _ requestID: String?, at now: Double,
        to sink: some ConnectionEffects
    ) {
        enter(
            session.mailbox, nil, requestID, voucher: session.voucher, begun: session.begun,
            at: now,
            to: sink)
    }

    /// Opens a mailbox after a login, or without one after a token.
    private mutating func enter(
        _ id: KeyID, _ login: Login?, _ requestID: String?, voucher: KeyID? = nil,
        begun: Double? = nil,
        at now: Double, to sink: some ConnectionEffects
    ) {
        guard mailboxes.open(id) else { return refuse(.loginFailed, requestID, to: sink) }
        if voucher == nil { member = id }
        if let owner = mailboxes.find(nil), owner != id {
            policy.addresses.note(id, of: owner, at: now)
        }
        if let network { policy.lockout.noteSuccess(of: id, from: network) }
        let token = policy.tokens.issue(
            .init(mailbox: id, begun: begun ?? now, voucher: voucher), at: now)
        read(.session(id, instance: login?.instance, token: token, to: requestID), to: sink)
    }

    // MARK: Publishing

    /// Stores a publication if its owner is admitted. A relay for members does not learn which member publishes a room, so
    /// each new room requires a proof of work there.
    mutating func publish(
        _ change: Change, of owner: KeyID, _ requestID: String?, at now: Double,
        to sink: some ConnectionEffects
    ) {
        let bits = policy.newIDLimit.note(change.surgeWeight, at: now)
        if policy.admission.isOpen, bits == nil, !policy.directory.isTight {
            policy.directory.add(change.directoryBytes)
            commit(change, requestID, to: sink)
        } else {
            read(.publish(change, of: owner, to: requestID), to: sink)
        }
    }

    // MARK: Lockout

    private func isLockedOut(_ id: KeyID, at now: Double) -> Bool {
        guard let network else { return false }
        return policy.lockout.holds(id, from: network, at: now)
    }

    private mutating func refuseProof(
        of id: KeyID, _ requestID: String?, at now: Double, to sink: some ConnectionEffects
    ) {
        if let network { policy.lockout.noteFailure(of: id, from: network, at: now) }
        refuse(.loginFailed, requestID, to: sink)
    }

    /// Notes, once a day, that an id's owner logged in: accounts without activity are deleted in the end. A relay that
    /// is open to all creates no account for an id that has published nothing.
    private func noteSeen(
        _ id: KeyID, _ account: RelayAccount?, _ minute: Int64, to sink: some ConnectionEffects
    ) {
        let isDue =
            account.map { $0.minute + RelayAccount.signMinutes <= minute } ?? !policy.admission
            .isOpen
        if isDue { sink.perform(.note(.update(id, .seen))) }
    }
}
