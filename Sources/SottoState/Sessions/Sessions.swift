public import Sotto
import SottoDatabase

/// A stored session.
struct SessionSlot {
    /// The row; `nil` for a session that is not written yet.
    var number: Int64?
    var session: PeerSession
    /// Increases with each session that begins and each received message.
    var used: Int64
    /// Whether no message is sent in the session any more, because one side lost its state.
    var isRetired = false
    var isChanged = false

    /// The session in the choice of the one that sends. A session that is not written yet is the last that began.
    var candidate: PeerSession.Candidate {
        PeerSession.Candidate(session, began: number ?? .max, used: used)
    }
}

/// An error of a session operation.
public enum SessionError: Error, Sendable, Equatable {
    /// No session with the peer exists, and no bundle to begin one.
    case nothingToSendWith(KeyID)
    /// The message belongs to an unknown session. It claims to be from this peer.
    case unknownSession(KeyID)
    /// The message begins a session with prekeys that do not exist here, or no longer. It claims to be from this peer.
    case preKeyGone(KeyID)
    /// The message begins a session that began before and was deleted.
    case begunBefore
    /// The envelope does not name its sender.
    case noSender
    /// The bundle has no post-quantum prekey, and the caller did not accept that.
    case notPostQuantum
    /// The messenger's sessions are classical, and the caller did not accept that.
    case onlyClassical
    /// The bundle has no signature over both prekeys, and an earlier bundle of the peer had one.
    case notPairSigned(KeyID)
    /// The bundle has no one-time prekey, and the caller requires one.
    case noOneTimePreKey
    /// The bundle belongs to a different peer.
    case otherOwner
    /// The bundle's one-time prekey began a session before.
    case bundleUsed
}

/// Sessions: stores the ratchet's state and prevents the reuse of keys.
extension StateTransaction {
    /// The maximum number of sessions with one peer. Above it, the least recently used are deleted.
    private static let sessionsPerPeer: Int64 = 200
    /// The number of sessions with one peer that are read for each message. If they do not open it, the older ones are
    /// read too.
    private static let recentSessions = 8

    // MARK: Sending

    /// Returns whether a session with a peer exists that can be read, or a classical one.
    public func hasSession(
        with peer: KeyID, isClassical: Bool = false
    ) throws(StateError) -> Bool {
        try allSlots(peer).contains {
            !$0.isRetired && (!isClassical || !$0.session.origin.isPostQuantum)
        }
    }

    /// Begins a session from a bundle and deletes the stored bundle, so that it begins no second session.
    ///
    /// Throws ``SessionError/bundleUsed`` if its one-time prekey has begun a session before: its owner has deleted the
    /// secret. Throws ``SessionError/notPairSigned(_:)``.
    public func begin(with bundle: PreKeyBundle) throws -> PeerSession.Origin {
        // Without a post-quantum prekey it has no pair, and the caller has accepted that.
        guard try bundle.pqSignedPreKey == nil || admits(bundle) else {
            throw SessionError.notPairSigned(bundle.owner)
        }
        let session = try session(with: bundle)
        if let oneTime = bundle.oneTimePreKey {
            try connection.run(
                "INSERT INTO spent (mark) VALUES (?) ON CONFLICT DO NOTHING",
                store.mark(envelope: bundle.owner.description + hex(oneTime.key)))
            guard connection.changes == 1 else { throw SessionError.bundleUsed }
        }
        try add(session)
        try forgetBundle(of: bundle.owner)
        return session.origin
    }

    /// Encrypts a message to a peer with whom a session exists, or a classical session. The caller must not release the
    /// envelope before the transaction is committed.
    public func seal(
        _ draft: Draft, to peer: KeyID, isClassical: Bool = false
    ) throws -> Envelope {
        try prepare(draft, to: peer, isClassical: isClassical).envelope()
    }

    /// Takes the place and the key of a message from the session with a peer. The message is encrypted later, on any
    /// thread. The caller must not release its envelope before the transaction is committed.
    public func prepare(
        _ draft: Draft, to peer: KeyID, isClassical: Bool = false
    ) throws -> PeerSession.Prepared {
        let place = try sendingPlace(to: peer, isClassical: isClassical)
        // The sessions are changed in their place: each message would copy all of them.
        let prepared = try sessions[peer, default: []][place].session.prepare(
            body: draft.body, extra: draft.extra, from: owner, time: draft.time, ttl: draft.ttl,
            id: draft.id)
        sessions[peer, default: []][place].isChanged = true
        return prepared
    }

    /// Returns the place of the session that sends among ``allSlots(_:)``.
    private func sendingPlace(to peer: KeyID, isClassical: Bool) throws -> Int {
        // Only the responder's session before its first message cannot send, and it is never stored.
        let all = try allSlots(peer)
        let usable = all.indices.filter {
            !all[$0].isRetired && (!isClassical || !all[$0].session.origin.isPostQuantum)
        }
        guard let choice = PeerSession.sending(among: usable.map { all[$0].candidate }) else {
            throw SessionError.nothingToSendWith(peer)
        }
        return usable[choice]
    }

    // MARK: Receiving

    /// An opened message and the changes that opening it makes.
    public struct Step {
        /// The message. The trust of its sender is set from the contacts.
        public let message: Message
        /// Whether the message was decrypted before its turn.
        public private(set) var isOpenedAhead = false
        fileprivate var slot: SessionSlot?
        /// The pre-key message that begins a new session.
        var begun: PreKeyHeader?
        /// The position of a message that was opened with the key of a skipped message.
        fileprivate var skipped: ChainPosition?
    }

    /// Takes the place of a message from the chain that its session will have after the messages before it. Returns `nil`
    /// if that is not known: the message is then opened in its turn. The state is unchanged.
    public func ahead(_ arrival: SessionArrival) throws(StateError) -> AheadPlace? {
        guard arrival.envelope.to == owner.device else { return nil }
        for slot in try slots(arrival.peer) {
            let tag = slot.session.tag
            let known = aheadChains[tag].flatMap { $0.continues(slot.session) ? $0 : nil }
            guard var chain = known ?? AheadChain(slot.session) else { continue }
            if let place = chain.place(of: arrival) {
                aheadChains[tag] = chain
                return place
            }
        }
        return nil
    }

    /// Opens an envelope without changing the state; ``keep(_:)`` stores the changes. `keys` are for the suites without
    /// a session. `ahead` is the message of this envelope if it was decrypted before its turn.
    public func open(
        _ envelope: Envelope, with keys: SuiteKeys, ahead: OpenedAhead? = nil
    ) throws -> Step {
        if let ahead {
            guard let step = ahead.step else {
                return Step(message: ahead.message, isOpenedAhead: true)
            }
            if var slot = try slots(step.peer).first(where: { $0.session.tag == step.tag }),
                slot.session.take(step)
            {
                slot.isChanged = true
                return Step(message: ahead.message, isOpenedAhead: true, slot: slot)
            }
        }
        if let suite = envelope.suite.messageSuite {
            return Step(message: try suite.open(envelope, with: keys))
        }
        guard envelope.to == owner.device else { throw SealedError.notForUs }
        guard let peer = envelope.from else { throw SessionError.noSender }
        let header = try PeerSession.preKeyHeader(in: envelope)
        do {
            guard let header else { return try openInAny(from: peer, envelope) }
            guard header.identityKey == peer.publicKey else { throw RatchetError.authentication }
            if let slot = try slot(of: peer, tag: header.tag) { return try step(slot, envelope) }
            return try accept(header, envelope)
        } catch {
            guard error is RatchetError || error is SessionError,
                let skipped = try skippedMessage(of: envelope, from: peer)
            else { throw error }
            return Step(message: try skipped.open(envelope), skipped: skipped.position)
        }
    }

    private func step(_ slot: SessionSlot, _ envelope: Envelope) throws -> Step {
        var slot = slot
        let message = try slot.session.open(envelope)
        slot.isChanged = true
        return Step(message: message, slot: slot)
    }

    private func openInAny(from peer: KeyID, _ envelope: Envelope) throws -> Step {
        var failure: RatchetError?
        func attempt(_ slots: some Collection<SessionSlot>) throws -> Step? {
            for slot in slots {
                do {
                    return try step(slot, envelope)
                } catch let error as RatchetError {
                    // It waits if it waits in any session. A used key is reported by the session that it belonged to.
                    if failure == nil || error.isEarly
                        || failure?.isEarly == false && error != .authentication
                    {
                        failure = error
                    }
                }
            }
            return nil
        }
        let recent = try slots(peer)
        if let step = try attempt(recent) { return step }
        if let step = try attempt(try olderSlots(of: peer)) { return step }
        if let failure { throw failure }
        throw SessionError.unknownSession(peer)
    }

    private func accept(_ header: PreKeyHeader, _ envelope: Envelope) throws -> Step {
        guard try !hasBegun(header.tag) else {
            // The mail of a session that cannot be read waits.
            guard try !connection.exists("SELECT 1 FROM session WHERE tag = ?", header.tag) else {
                throw StateError.unsealable(path: store.database.path)
            }
            throw SessionError.begunBefore
        }
        let secrets = try secrets(for: header)
        // It waits in any case, so the key agreement is saved.
        guard try header.kem == nil || RatchetMessage(payload: envelope.payload).kem != nil else {
            throw RatchetError.missingKEM
        }
        let session = try PeerSession(by: owner, accepting: header, with: secrets)
        var step = try step(SessionSlot(session: session, used: 0), envelope)
        step.begun = header
        return step
    }

    private func secrets(for header: PreKeyHeader) throws -> PeerSession.PreKeys {
        let gone = SessionError.preKeyGone(KeyID(publicKey: header.identityKey))
        func find(_ kind: SecretPreKey.Kind, _ id: UInt32?) throws -> SecretPreKey? {
            guard let id else { return nil }
            guard let key = try secretPreKey(kind, id) else { throw gone }
            return key
        }
        guard let signed = try find(.signed, header.signedPreKeyID) else { throw gone }
        return PeerSession.PreKeys(
            signed: signed, postQuantum: try find(.postQuantum, header.kem?.preKeyID),
            oneTime: try find(.oneTime, header.oneTimePreKeyID))
    }

    /// Stores the changes of an opened message: the session's step, and for the first message of a session the deletion
    /// of its one-time prekey.
    public func keep(_ step: Step) throws(StateError) {
        if let position = step.skipped, let peer = step.message.from {
            try forgetSkipped(from: peer, at: position)
        }
        guard var slot = step.slot else { return }
        let peer = slot.session.peer
        let all = try slots(peer)
        slot.used = (all.map(\.used).max() ?? 0) + 1
        if let header = step.begun {
            try markBegun(header)
            if let id = header.oneTimePreKeyID { try forgetPreKey(.oneTime, id) }
        }
        putFirst(slot, in: all)
        try keepSkipped(slot.session.displaced)
    }

    /// Makes the step of an opened message in memory and writes nothing: in a preview later messages of the chain open
    /// after it.
    public func preview(_ step: Step) throws(StateError) {
        guard let slot = step.slot else { return }
        putFirst(slot, in: try slots(slot.session.peer))
    }

    /// Continues with the sessions of an earlier preview.
    public func continuePreview(_ earlier: StateTransaction) {
        sessions = earlier.sessions
        readWhole = earlier.readWhole
    }

    private func putFirst(_ slot: SessionSlot, in all: [SessionSlot]) {
        let others = all.filter { $0.session.tag != slot.session.tag }
        sessions[slot.session.peer] = [slot] + others
    }

    // MARK: Storage

    private func add(_ session: PeerSession) throws(StateError) {
        var all = try slots(session.peer)
        let used = (all.map(\.used).max() ?? 0) + 1
        all.insert(SessionSlot(session: session, used: used, isChanged: true), at: 0)
        sessions[session.peer] = all
    }

    /// Returns the recent sessions with a peer, the last used first, and the older ones after ``allSlots(_:)``.
    private func slots(_ peer: KeyID) throws(StateError) -> [SessionSlot] {
        if let known = sessions[peer] { return known }
        let found = try readSlots(of: peer, "ORDER BY used DESC LIMIT ?", Self.recentSessions)
        sessions[peer] = found
        return found
    }

    /// Returns all sessions with a peer, and keeps them for the transaction.
    func allSlots(_ peer: KeyID) throws(StateError) -> [SessionSlot] {
        let recent = try slots(peer)
        guard !readWhole.contains(peer) else { return recent }
        let all = try recent + olderSlots(of: peer)
        sessions[peer] = all
        readWhole.insert(peer)
        return all
    }

    /// Returns the sessions with a peer that are not among ``slots(_:)``, the last used first.
    private func olderSlots(of peer: KeyID) throws(StateError) -> [SessionSlot] {
        let known = Set(try slots(peer).compactMap(\.number))
        guard known.count >= Self.recentSessions, !readWhole.contains(peer) else { return [] }
        return try readSlots(of: peer, "ORDER BY used DESC").filter {
            !known.contains($0.number ?? 0)
        }
    }

    /// Returns the session with a peer that has this tag.
    private func slot(of peer: KeyID, tag: [UInt8]) throws(StateError) -> SessionSlot? {
        if let slot = try slots(peer).first(where: { $0.session.tag == tag }) { return slot }
        return try readSlots(of: peer, "AND tag = ?", tag).first
    }

    private func readSlots<each Value: DatabaseValue>(
        of peer: KeyID, _ condition: String, _ values: repeat each Value
    ) throws(StateError) -> [SessionSlot] {
        try connection.rows(
            "SELECT number, tag, used, sealed, retired FROM session WHERE peer = ? " + condition,
            store.mark(peer), repeat each values
        ) { row throws(StateError) -> SessionSlot? in
            let session = try store.session(row.bytes(3), tag: row.bytes(1), of: peer)
            return session.map {
                SessionSlot(
                    number: row.integer(0), session: $0, used: row.integer(2),
                    isRetired: row.integer(4) != 0)
            }
        }.compactMap(\.self)
    }

    /// Ends all sessions with a peer for sending: the next message begins another one. Messages that are on their way are still
    /// opened in them. A bundle of the peer that was claimed before is deleted, and a new one can be claimed at once.
    func retireSessions(with peer: KeyID) throws(StateError) {
        var all = try allSlots(peer)
        for place in all.indices { all[place].isRetired = true }
        sessions[peer] = all
        try connection.run("UPDATE session SET retired = 1 WHERE peer = ?", store.mark(peer))
        try forgetBundle(of: peer)
        try removeNote(.bundleTried, mark: store.mark(peer))
    }

    /// Does the same for the sessions with all peers.
    func retireAllSessions() throws(StateError) {
        for peer in sessions.keys {
            for place in (sessions[peer] ?? []).indices { sessions[peer]?[place].isRetired = true }
        }
        try Self.retireAllSessions(connection)
    }

    /// Does the same for sessions that were not read.
    static func retireAllSessions(_ connection: StateConnection) throws(StateError) {
        try connection.run("UPDATE session SET retired = 1")
        try connection.run("DELETE FROM bundle")
        for note in [PeerNote.bundleKept, .bundleTried] {
            try connection.run(
                "DELETE FROM number WHERE name >= ?1 AND name < ?2", note.rawValue + " ",
                note.rawValue + "!")
        }
    }

    /// Writes the changed sessions. This is the last operation of a transaction.
    func writeSessions() throws(StateError) {
        for (peer, slots) in sessions {
            for slot in slots where slot.isChanged { try write(slot, of: peer) }
            guard slots.contains(where: { $0.number == nil }) else { continue }
            try connection.run(
                """
                DELETE FROM session WHERE peer = ?1 AND used < (
                    SELECT used FROM session WHERE peer = ?1 ORDER BY used DESC
                    LIMIT 1 OFFSET ?2)
                """, store.mark(peer), Self.sessionsPerPeer - 1)
        }
        sessions = [:]
        readWhole = []
    }

    private func write(_ slot: SessionSlot, of peer: KeyID) throws(StateError) {
        var bytes = slot.session.encoded()
        defer { wipe(&bytes) }
        try connection.run(
            """
            INSERT INTO session (number, peer, tag, used, began, sealed, retired)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (number) DO UPDATE SET used = excluded.used, sealed = excluded.sealed
            """, slot.number, store.mark(peer), slot.session.tag, slot.used,
            Timestamp.now().seconds, store.seal(bytes, .session(tag: slot.session.tag)),
            slot.isRetired ? 1 : 0)
    }

    private func hasBegun(_ tag: [UInt8]) throws(StateError) -> Bool {
        return try connection.exists("SELECT 1 FROM begun WHERE tag = ?", tag)
    }

    /// Records that a session began, until the signed prekey is deleted. Without a one-time prekey its first message
    /// could otherwise be opened again and again.
    private func markBegun(_ header: PreKeyHeader) throws(StateError) {
        try connection.run(
            "INSERT INTO begun (tag, prekey) VALUES (?, ?)", header.tag, header.signedPreKeyID)
    }
}

extension SessionError {
    /// The peer from whom a message of a lost session claims to be, or `nil` for another error. It is not authenticated.
    public var claimedSender: KeyID? {
        switch self {
        case .unknownSession(let peer), .preKeyGone(let peer): peer
        default: nil
        }
    }

    /// Returns the failure of a message of a lost session, with a name for the claimed sender.
    public func failure(claimed name: String) -> Failure {
        let what =
            if case .preKeyGone = self {
                "begins a session with a prekey that is not in this state"
            } else {
                "belongs to a session that is not in this state"
            }
        return Failure(
            .noKey, "the message, which claims to be from \(name), \(what)",
            hint:
                "if this state is new or was restored, tell your contacts: sotto contact repair --send"
        )
    }
}

extension SessionError: FailureError {
    /// The message, the hint and the exit status.
    public var failure: Failure {
        switch self {
        case .nothingToSendWith(let peer):
            Failure(
                .noKey, "no session with the recipient, and no prekey bundle to begin one",
                hint: "claim a bundle: sotto recv --bundle \(peer)")
        case .unknownSession(let peer), .preKeyGone(let peer):
            failure(claimed: peer.description.prefix(16) + "…")
        case .begunBefore:
            Failure(.replay, "the message begins a session that began before and was deleted")
        case .noSender:
            Failure(
                .malformed, "the envelope does not name its sender, which its suite requires")
        case .notPostQuantum:
            Failure(
                .untrusted, "the bundle has no post-quantum prekey",
                hint:
                    "it may have been removed by an attacker; use --classic to continue without it"
            )
        case .onlyClassical:
            Failure(
                .untrusted, "the sessions of this messenger are not post-quantum",
                hint: "use --classic to begin one")
        case .notPairSigned(let peer):
            Failure(
                .untrusted,
                "the bundle has no signature over both prekeys, and an earlier bundle of the recipient had one",
                hint: "an attacker may have changed it; claim another: sotto recv --bundle \(peer)")
        case .noOneTimePreKey:
            Failure(
                .noKey, "the bundle has no one-time prekey",
                hint: "try later, or omit --require-opk")
        case .otherOwner:
            Failure(.untrusted, "the bundle belongs to a different recipient")
        case .bundleUsed:
            Failure(
                .noKey, "the bundle's one-time prekey has begun a session before",
                hint: "claim another bundle with sotto recv --bundle")
        }
    }
}
