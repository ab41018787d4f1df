import NIOCore
import Sotto
import SottoDatabase
import SottoWire

/// Opens mailboxes on a connection, and decides who may publish.
extension ClientConnection {
    /// Verifies a login and opens the mailbox if the id is admitted. All failures give the same answer.
    func logIn(_ login: Login, _ requestID: String?) throws(Reason) {
        guard isKnown(login.nonce), names.contains(login.relay.lowercased()), !isLockedOut(login.id)
        else { throw .loginFailed }
        guard case .signature = login.proof else { return readLoginContext(login, requestID) }
        verify {
            login.isSigned
        } then: { isSigned in
            self.settle(requestID) { () throws(Reason) in
                guard isSigned else {
                    self.noteFalseProof(of: login.id)
                    throw .loginFailed
                }
                guard self.services.admission.isOpen else {
                    return self.readLoginContext(login, requestID)
                }
                try self.enter(login.id, requestID)
            }
        }
    }

    /// Reads the data that the store has for a login, and decides. An RSA proof is verified with the stored key.
    private func readLoginContext(_ login: Login, _ requestID: String?) {
        let member = member
        readWhilePaused { store, minute throws(StoreError) in
            let invitation = try login.invitation.flatMap { proof throws(StoreError) in
                try store.invitation(proof.tag)
            }
            return LoginContext(
                account: try store.account(of: login.id), invitation: invitation,
                provesInvitation: invitation.map { login.provesInvitation(withKey: $0.key) }
                    ?? false,
                voucher: try member.flatMap { id throws(StoreError) in try store.account(of: id) },
                minute: minute)
        } then: { loginContext in
            guard case .rsa = login.proof else {
                return self.settle(requestID) { () throws(Reason) in
                    try self.decide(login, loginContext, member, requestID)
                }
            }
            self.verify {
                loginContext.account?.loginKey.flatMap { RSALoginPublicKey(der: $0) }
                    .map { login.isProven(by: $0) } ?? false
            } then: { isProven in
                self.settle(requestID) { () throws(Reason) in
                    guard isProven else {
                        self.noteFalseProof(of: login.id)
                        throw .loginFailed
                    }
                    try self.decide(login, loginContext, member, requestID)
                }
            }
        }
    }

    /// The stored data that a login needs.
    private struct LoginContext {
        let account: Account?
        let invitation: StoredInvitation?
        /// Whether the login proves that it has the code of that invitation.
        let provesInvitation: Bool
        /// The account of the member who logged in on this connection.
        let voucher: Account?
        let minute: Int64
    }

    private func decide(
        _ login: Login, _ loginContext: LoginContext, _ member: SessionID?, _ requestID: String?
    ) throws(Reason) {
        let admission = services.admission
        if admission.admits(login.id, loginContext.account) {
            return try enter(login.id, requestID)
        }
        if let tag = redeemable(login, loginContext) {
            commit(.redeem(tag, by: login.id), requestID) {
                self.commit(.update(login.id, .membership(true)), requestID) {
                    self.settle(requestID) { () throws(Reason) in
                        try self.enter(login.id, requestID)
                    }
                }
            }
            return
        }
        // A further address of a member; the relay does not store to whom it belongs.
        guard let member, member != login.id, admission.admits(member, loginContext.voucher) else {
            throw .notAdmitted
        }
        try enter(login.id, requestID, voucher: member)
    }

    /// Returns the tag of the invitation that a login redeems, or `nil`. The owner may redeem it again until they are
    /// removed: the connection may have failed before the membership was stored.
    private func redeemable(_ login: Login, _ loginContext: LoginContext) -> [UInt8]? {
        guard services.admission.isByInvitation, let invitation = loginContext.invitation,
            invitation.until > loginContext.minute,
            invitation.owner == nil
                || invitation.owner == login.id && loginContext.account?.wasRemoved != true,
            loginContext.provesInvitation
        else { return nil }
        return invitation.tag
    }

    /// Reopens a mailbox with the token of an earlier login.
    func resume(_ token: String, _ requestID: String?) throws(Reason) {
        guard let session = services.tokens.session(token, at: Monotonic.seconds()) else {
            throw .loginFailed
        }
        let id = session.mailbox
        if services.admission.isOpen {
            return try enter(id, requestID, voucher: session.voucher, begun: session.begun)
        }
        let responsible = session.voucher ?? id
        readWhilePaused { store, _ throws(StoreError) in
            try store.account(of: responsible)
        } then: { account in
            self.settle(requestID) { () throws(Reason) in
                guard self.services.admission.admits(responsible, account) else {
                    throw .notAdmitted
                }
                try self.enter(id, requestID, voucher: session.voucher, begun: session.begun)
            }
        }
    }

    private func enter(
        _ id: SessionID, _ requestID: String?, voucher: SessionID? = nil, begun: Double? = nil
    ) throws(Reason) {
        guard mailboxes.open(id) else { throw .loginFailed }
        if voucher == nil { member = id }
        if let network { services.lockout.noteSuccess(of: id, from: network) }
        let now = Monotonic.seconds()
        sendSession(
            id, requestID,
            token: services.tokens.issue(
                .init(mailbox: id, begun: begun ?? now, voucher: voucher), at: now))
    }

    // MARK: Publishing

    /// Submits a publication if its owner is admitted.
    func publishIfAdmitted(_ change: Change, of owner: SessionID, _ requestID: String?) {
        let admission = services.admission
        let bits = services.surgeLimit.note(at: Monotonic.seconds())
        guard !admission.isOpen || bits != nil else { return submit(change, requestID) }
        readWhilePaused { store, _ throws(StoreError) in
            let account = try store.account(of: owner)
            let isKnown =
                if account == nil { try store.preKeys(of: owner) != nil } else { true }
            return (account, isKnown)
        } then: { account, isKnown in
            self.settle(requestID) { () throws(Reason) in
                guard admission.admits(owner, account) else { throw .notAdmitted }
                if admission.isOpen, !isKnown {
                    guard self.solvedPuzzles > 0 else { throw .workRequired }
                    self.solvedPuzzles -= 1
                }
                self.submit(change, requestID)
            }
        }
    }

    /// Creates the puzzle that a client must solve before it publishes a new id in a surge.
    func givePuzzle() -> Response {
        let nonce = randomBytes(WireLimits.nonceBytes)
        let bits = services.surgeLimit.bits
        puzzle = (nonce, bits)
        return .puzzle(nonce: nonce, bits: bits)
    }

    /// Verifies the solution of the last puzzle; each puzzle counts once.
    func takeSolution(_ nonce: [UInt8], _ counter: UInt64) throws(Reason) {
        guard let given = puzzle, given.nonce == nonce,
            ProofOfWork.isSolved(nonce, by: counter, bits: given.bits)
        else { throw .workRequired }
        puzzle = nil
        solvedPuzzles = min(solvedPuzzles + 1, 100)
    }

    // MARK: Lockout

    private var network: [UInt8]? { remoteAddress?.network }

    private func isLockedOut(_ id: SessionID) -> Bool {
        guard let network else { return false }
        return services.lockout.holds(id, from: network, at: Monotonic.seconds())
    }

    private func noteFalseProof(of id: SessionID) {
        guard let network else { return }
        services.lockout.noteFailure(of: id, from: network, at: Monotonic.seconds())
    }

    /// Notes, once a day, that an id's owner logged in: accounts without activity are deleted in the end. A relay that
    /// is open to all creates no account for an id that has published nothing.
    func noteSeen(_ id: SessionID, _ account: Account?, _ minute: Int64) {
        let isDue =
            account.map { $0.minute + Account.signMinutes <= minute } ?? !services.admission.isOpen
        if isDue { services.writer.note([.update(id, .seen)]) }
    }
}
