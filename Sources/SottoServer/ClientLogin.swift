import NIOCore
import Sotto
import SottoState
import SottoWire

/// How a mailbox is opened on a connection, and who may bring something to keep.
extension ClientConnection {
    /// Whose proof holds is in, if they may have a mailbox here. Every failure reads the same.
    func logIn(_ login: Login, _ requestID: String?) throws(Reason) {
        guard isKnown(login.nonce), names.contains(login.relay.lowercased()), !isLockedOut(login.id)
        else { throw .loginFailed }
        if case .signature = login.proof {
            guard login.isSigned else {
                noteFalseProof(of: login.id)
                throw .loginFailed
            }
            if services.admission.isOpen { return try enter(login.id, requestID) }
        }
        consider { store, minute throws(StateError) in
            let invitation = try login.invitation.flatMap { proof throws(StateError) in
                try store.invitation(proof.tag)
            }
            return (try store.account(of: login.id), invitation, minute)
        } then: { account, invitation, minute in
            self.settle(requestID) { () throws(Reason) in
                try self.decide(login, account, invitation, minute, requestID)
            }
        }
    }

    /// What is known of the id has been read.
    private func decide(
        _ login: Login, _ account: Account?, _ invitation: StoredInvitation?, _ minute: Int64,
        _ requestID: String?
    ) throws(Reason) {
        if case .rsa = login.proof {
            guard let key = account?.loginKey.flatMap({ RSALoginPublicKey(der: $0) }),
                login.isProven(by: key)
            else {
                noteFalseProof(of: login.id)
                throw .loginFailed
            }
        }
        if services.admission.admits(login.id, account) {
            noteSeen(login.id, account, minute)
            return try enter(login.id, requestID)
        }
        if hasMember {
            // An address of a member's, whose name the relay does not keep.
            noteSeen(login.id, account, minute)
            return try enter(login.id, requestID, isAddress: true)
        }
        guard services.admission.isByInvitation, let invitation, invitation.until > minute,
            invitation.owner == nil || invitation.owner == login.id,
            login.provesInvitation(withKey: invitation.key)
        else { throw .notAdmitted }
        commit(.redeem(invitation.tag, by: login.id), requestID) {
            self.commit(.update(login.id, .membership(true)), requestID) {
                self.settle(requestID) { () throws(Reason) in
                    try self.enter(login.id, requestID)
                }
            }
        }
    }

    /// Opens a mailbox again with the token of an earlier login.
    func resume(_ token: String, _ requestID: String?) throws(Reason) {
        guard let session = services.tokens.session(token, at: Monotonic.seconds()) else {
            throw .loginFailed
        }
        let id = session.mailbox
        if services.admission.isOpen || session.isAddress {
            return try enter(id, requestID, isAddress: session.isAddress, begun: session.begun)
        }
        consider { store, _ throws(StateError) in
            try store.account(of: id)
        } then: { account in
            self.settle(requestID) { () throws(Reason) in
                guard self.services.admission.admits(id, account) else { throw .notAdmitted }
                try self.enter(id, requestID, begun: session.begun)
            }
        }
    }

    private func enter(
        _ id: SessionID, _ requestID: String?, isAddress: Bool = false, begun: Double? = nil
    ) throws(Reason) {
        guard mailboxes.open(id) else { throw .loginFailed }
        if !isAddress { hasMember = true }
        if let network { services.lockout.noteSuccess(of: id, from: network) }
        let now = Monotonic.seconds()
        welcome(
            id, requestID,
            token: services.tokens.issue(
                .init(mailbox: id, begun: begun ?? now, isAddress: isAddress), at: now))
    }

    // MARK: Bringing something

    /// Submits what an owner publishes, if the owner may.
    func bring(_ change: Change, of owner: SessionID, _ requestID: String?) {
        let admission = services.admission
        let bits = services.surge.note(at: Monotonic.seconds())
        guard !admission.isOpen || bits != nil else { return submit(change, requestID) }
        consider { store, _ throws(StateError) in
            let account = try store.account(of: owner)
            let isKnown =
                if account == nil { try store.preKeys(of: owner) != nil } else { true }
            return (account, isKnown)
        } then: { account, isKnown in
            self.settle(requestID) { () throws(Reason) in
                guard admission.admits(owner, account) else { throw .notAdmitted }
                if admission.isOpen, !isKnown {
                    guard self.workDone > 0 else { throw .workRequired }
                    self.workDone -= 1
                }
                self.submit(change, requestID)
            }
        }
    }

    /// A puzzle to solve before a new id is brought in a surge.
    func givePuzzle() -> Response {
        let nonce = randomBytes(WireLimits.nonceBytes)
        let bits = services.surge.bits
        puzzle = (nonce, bits)
        return .puzzle(nonce: nonce, bits: bits)
    }

    /// Whether a counter solves a puzzle that was given; each counts once.
    func takeSolution(_ nonce: [UInt8], _ counter: UInt64) throws(Reason) {
        guard let given = puzzle, given.nonce == nonce,
            ProofOfWork.isSolved(nonce, by: counter, bits: given.bits)
        else { throw .workRequired }
        puzzle = nil
        workDone = min(workDone + 1, 100)
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

    /// Notes, once a day, that an id's owner was here: what nobody comes for is let go one day.
    private func noteSeen(_ id: SessionID, _ account: Account?, _ minute: Int64) {
        guard account.map({ $0.minute + Account.signMinutes <= minute }) ?? true else { return }
        services.writer.note([.update(id, .seen)])
    }
}
