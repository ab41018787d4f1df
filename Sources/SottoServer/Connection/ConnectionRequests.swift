import Sotto
import SottoWire

/// The requests of a client.
extension ConnectionState {
    /// Serves a request, or throws the reason for refusing it.
    mutating func serve(
        _ asked: IncomingFrame.Asked, _ requestID: String?, at now: Double,
        to sink: some ConnectionEffects
    ) throws(Reason) {
        func respond(_ response: Response) { sink.perform(.respond(response, to: requestID)) }
        switch asked.request {
        case .ping: respond(.pong)
        case .challenge:
            let bytes = policy.nonces.make(at: now)
            if !isHTTP { nonce = (bytes, now + WireLimits.nonceSeconds) }
            respond(.challenge(nonce: bytes, names: names()))
        case .login(let login): try logIn(login, requestID, at: now, to: sink)
        case .resume(let token): try resume(token, requestID, at: now, to: sink)
        case .send(let envelope):
            let isWithinRate = policy.rates.admits(envelope.to, at: now)
            if envelope.ttl == 0 {
                // The answer is the same in every case, so that it tells nothing about the recipient.
                respond(.accepted)
                policy.counters.add(.signals)
                if isWithinRate { sink.perform(.pass(envelope)) }
                return
            }
            guard isWithinRate else { throw .tooMany }
            let until = envelope.ttl.map { policy.clock.holding + $0 }
            commit(.store(envelope, until: until), requestID, to: sink)
        case .fetch(let max, let after, let dead, let mailbox):
            let mailbox = try owned(mailbox)
            guard form == .own || !isHTTP else {
                return read(.poll(FlowPoll(of: mailbox, to: requestID)), to: sink)
            }
            read(.messages(mailbox, max: max, after: after, dead: dead, to: requestID), to: sink)
        case .subscribe(let mailbox):
            // HTTP could not deliver the pushes: they answer no request.
            guard !isHTTP else { throw .unknownType }
            let mailbox = try owned(mailbox)
            sink.perform(.subscribe(to: mailbox))
            mailboxes[mailbox] = Subscription()
            respond(.subscribed)
            pump(mailbox, to: sink)
        case .ack(let ids, let handled, let mailbox):
            let mailbox = try owned(mailbox)
            commit(.acknowledge(mailbox, ids: ids, handled), requestID, to: sink)
            mailboxes[mailbox]?.noteAcknowledged(ids)
            pump(mailbox, to: sink)
        case .publish(let published):
            guard let head = asked.head else { throw .badSignature }
            let publication = published.publication
            publish(
                .publish(publication, head: head), of: publication.owner, requestID, at: now,
                to: sink)
        case .claim(let owner, let id, let address):
            guard claims.admits(at: now) else { throw .busy }
            // The answer has the same form whether the prekeys or only those for this claim are used up.
            var reserve = Retention.reservedOneTime
            if let address, policy.addresses.belongs(address, to: owner, at: now) {
                reserve = 0
            } else if solvedPuzzles > 0 {
                solvedPuzzles -= 1
                reserve = 0
            }
            commit(.claim(owner: owner, id: id, reserve: reserve), requestID, to: sink)
        case .claims(let requested):
            let count = requested.count
            guard batches.take(Double(count), at: now),
                policy.batches.admit(count, from: network, at: now)
            else { throw .busy }
            commit(.claims(requested), requestID, to: sink)
        case .record(let record):
            // A revocation is made long before, and its time decides nothing.
            guard record.kind == .revocation || policy.clock.isCurrent(record.issued) else {
                throw .badFields
            }
            let change = Change(record)
            if case .room(_, let seq) = record.kind {
                // A number is limited by the time, so that a client cannot use up all higher numbers.
                guard policy.clock.isReached(record.issued, within: WireLimits.roomSeconds),
                    policy.clock.isReached(seq, within: WireLimits.roomSeconds)
                else { throw .badFields }
                guard policy.rates.admits(record.id, at: now) else { throw .tooMany }
            }
            if case .succession = record.kind {
                guard policy.rates.admits(record.id, at: now) else { throw .tooMany }
            }
            publish(change, of: record.id, requestID, at: now, to: sink)
        case .lookup(let id):
            guard claims.admits(at: now) else { throw .busy }
            read(.card(id, to: requestID), to: sink)
        case .cards(let account):
            guard claims.admits(at: now) else { throw .busy }
            read(.cards(CardName(account), to: requestID), to: sink)
        case .successions(let id):
            guard claims.admits(at: now) else { throw .busy }
            read(.cards(CardName(successionsOf: id), to: requestID), to: sink)
        case .room(let door):
            guard claims.admits(at: now) else { throw .busy }
            read(.room(door, to: requestID), to: sink)
        case .turn:
            let owner = try owned(nil)
            guard let turn = policy.turn else { throw .noTurn }
            respond(.turn(turn.credentials(for: owner, at: policy.clock.minute * 60)))
        case .puzzle: respond(givePuzzle())
        case .solution(let nonce, let counter):
            try takeSolution(nonce, counter)
            respond(.accepted)
        case .registerWake(let registration, let mailbox):
            let mailbox = try owned(mailbox)
            guard policy.ownersWake?.admits(registration.address) == true else {
                throw .wakeForbidden
            }
            read(.wake(mailbox, registration, to: requestID), to: sink)
        case .unregisterWake(let kind, let mailbox):
            commit(.unregisterWake(try owned(mailbox), kind), requestID, to: sink)
        case .invite(let tag, let key, let label):
            guard let member else { throw .loginRequired }
            guard label.isEmpty || StoredInvitation.isLabel(label) else { throw .badFields }
            guard policy.admission.isByInvitation else { throw .noInvitations }
            let invitation = StoredInvitation(
                tag: tag, key: key, until: WireLimits.invitationDays * 24 * 60, label: label,
                inviter: member)
            read(.invitations(invitation, of: member, to: requestID), to: sink)
        case .announcements:
            guard let uri = policy.announcements else { throw .noRoom }
            respond(.announcements(uri: uri))
        case .openMeeting(let relay): try openMeeting(relay, requestID, at: now, to: sink)
        case .meeting(let request): try useMeeting(request, requestID, at: now, to: sink)
        case .putBlob(let piece):
            let space = BlobLimits.space(of: piece.bytes.count, at: piece.offset)
            guard policy.uploads.admit(Int(space), from: network, at: now) else {
                throw .tooMany
            }
            work(.put(piece), requestID, to: sink)
        case .blob(let id): work(.state(id: id), requestID, to: sink)
        case .getBlob(let id, let offset, let count):
            work(.read(id: id, offset: offset, count: count), requestID, to: sink)
        case .deleteBlob(let id, let key): work(.delete(id: id, key: key), requestID, to: sink)
        }
    }

    /// Returns the mailbox that a request names, if it is open on this connection.
    private func owned(_ mailbox: KeyID?) throws(Reason) -> KeyID {
        guard let found = mailboxes.find(mailbox) else { throw .loginRequired }
        return found
    }

    /// Creates the puzzle that a client must solve before it publishes a new id in a surge, claims one of the last
    /// one-time prekeys of an owner, or uses many meetings.
    private mutating func givePuzzle() -> Response {
        let nonce = randomBytes(WireLimits.nonceBytes)
        let bits = policy.newIDLimit.bits
        puzzle = (nonce, bits)
        return .puzzle(nonce: nonce, bits: bits)
    }

    /// Verifies the solution of the last puzzle; each puzzle counts once.
    private mutating func takeSolution(_ nonce: [UInt8], _ counter: UInt64) throws(Reason) {
        guard let given = puzzle, given.nonce == nonce,
            ProofOfWork.isSolved(nonce, by: counter, bits: given.bits)
        else { throw .workRequired }
        puzzle = nil
        solvedPuzzles = min(solvedPuzzles + 1, 100)
    }
}
