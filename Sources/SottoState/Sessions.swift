public import Sotto

/// A session as it is kept.
struct SessionSlot {
    /// The row; `nil` for one that is not written yet.
    var number: Int64?
    var session: PeerSession
    /// Grows with each message received: the session with the highest sends.
    var used: Int64
    var isChanged = false
}

/// Why there is no session to work with.
public enum SessionError: Error, Sendable, Equatable {
    /// We have no session with the peer, nor a bundle to begin one.
    case nothingToSendWith(SessionID)
    /// A message of a session that is not known here.
    case unknownSession
    /// A message that begins a session with prekeys that are not here, or no longer.
    case preKeyGone
    /// A message that begins a session which began before, and is forgotten.
    case begunBefore
    /// The envelope does not say who sent it.
    case noSender
    /// The bundle has no post-quantum prekey, and nobody said that this will do.
    case notPostQuantum
    /// The bundle has no one-time prekey, and one was asked for.
    case noOneTimePreKey
    /// The bundle is not of the one it was given for.
    case otherOwner
    /// The bundle's one-time prekey began a session before.
    case bundleUsed
}

/// Sessions: what the ratchet needs to be kept, and nothing used twice.
extension StateTransaction {
    /// The number of sessions with one peer; the least recently used beyond are deleted.
    private static let sessionsPerPeer: Int64 = 200
    /// The number of sessions with one peer that are read for each message. A message that none of them opens has the
    /// older ones read too.
    private static let recentSessions = 8

    // MARK: Sending

    /// Whether there is a session with a peer.
    public func hasSession(with peer: SessionID) throws(StateError) -> Bool {
        try !slots(peer).isEmpty
    }

    /// Begins a session from a bundle and lets go of the bundle that was kept, so that it begins no second one.
    ///
    /// Throws ``SessionError/bundleUsed`` for a one-time prekey that began one: its owner has deleted the secret.
    public func begin(with bundle: PreKeyBundle) throws -> PeerSession.Origin {
        if let oneTime = bundle.oneTimePreKey {
            let spend = try connection.statement(
                "INSERT INTO spent (mark) VALUES (?) ON CONFLICT DO NOTHING")
            spend.bind(1, store.mark(envelope: bundle.owner.description + hex(oneTime.key)))
            try spend.run()
            guard connection.changes == 1 else { throw SessionError.bundleUsed }
        }
        let session = try PeerSession(by: owner, with: bundle)
        try add(session)
        try forgetBundle(of: bundle.owner)
        return session.origin
    }

    /// Encrypts a message to a peer with whom there is a session. Nobody sees the envelope before the
    /// transaction has ended.
    public func seal(
        body: JSONObject, extra: [(name: String, value: JSON)], to peer: SessionID,
        time: Timestamp
    ) throws -> Envelope {
        var slots = try slots(peer)
        // One that cannot send yet is only the responder's before its first message; it is never kept.
        guard let place = slots.indices.first else {
            throw SessionError.nothingToSendWith(peer)
        }
        let envelope = try slots[place].session.seal(
            body: body, extra: extra, from: owner, time: time)
        slots[place].isChanged = true
        sessions[peer] = slots
        return envelope
    }

    // MARK: Receiving

    /// A message that was opened, and what its opening changes.
    public struct Step {
        /// The message. The contacts tell the trust of its sender.
        public let message: Message
        fileprivate var slot: SessionSlot?
        /// The beginning of a new session.
        var begun: PreKeyHeader?
        /// The place of a message that the key of a skipped message opened.
        fileprivate var skipped: ChainPosition?
    }

    /// Opens an envelope and changes nothing; ``keep(_:)`` does. `keys` serve the suites without a session.
    public func open(_ envelope: Envelope, with keys: SuiteKeys) throws -> Step {
        if let suite = envelope.suite.messageSuite {
            return Step(message: try suite.open(envelope, with: keys))
        }
        guard envelope.to == owner.id else { throw SealedError.notForUs }
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

    private func openInAny(from peer: SessionID, _ envelope: Envelope) throws -> Step {
        var failure: (any Error)?
        func attempt(_ slots: some Collection<SessionSlot>) throws -> Step? {
            for slot in slots {
                do {
                    return try step(slot, envelope)
                } catch RatchetError.authentication {
                    failure = failure ?? RatchetError.authentication
                } catch let error as RatchetError {
                    // A key that was used is told by the session that it was of.
                    failure = error
                }
            }
            return nil
        }
        let recent = try slots(peer)
        if let step = try attempt(recent) { return step }
        if let step = try attempt(try olderSlots(of: peer)) { return step }
        throw failure ?? SessionError.unknownSession
    }

    private func accept(_ header: PreKeyHeader, _ envelope: Envelope) throws -> Step {
        guard try !hasBegun(header.tag) else { throw SessionError.begunBefore }
        let session = try PeerSession(
            by: owner, accepting: header, with: try secrets(for: header))
        var step = try step(SessionSlot(session: session, used: 0), envelope)
        step.begun = header
        return step
    }

    private func secrets(for header: PreKeyHeader) throws -> PeerSession.PreKeys {
        func find(_ kind: SecretPreKey.Kind, _ id: UInt32?) throws -> SecretPreKey? {
            guard let id else { return nil }
            guard let key = try secretPreKey(kind, id) else { throw SessionError.preKeyGone }
            return key
        }
        guard let signed = try find(.signed, header.signedPreKeyID) else {
            throw SessionError.preKeyGone
        }
        return PeerSession.PreKeys(
            signed: signed, postQuantum: try find(.postQuantum, header.kem?.preKeyID),
            oneTime: try find(.oneTime, header.oneTimePreKeyID))
    }

    /// Keeps what opening a message changed: the session's step, and for the first message of a session that its
    /// one-time prekey is gone.
    public func keep(_ step: Step) throws(StateError) {
        if let position = step.skipped, let peer = step.message.from {
            try forgetSkipped(from: peer, at: position)
        }
        guard var slot = step.slot else { return }
        let peer = slot.session.peer
        var all = try slots(peer)
        slot.used = (all.map(\.used).max() ?? 0) + 1
        if let header = step.begun {
            try markBegun(header)
            if let id = header.oneTimePreKeyID { try forgetPreKey(.oneTime, id) }
            all.insert(slot, at: 0)
        } else {
            // An older session is not in the list.
            all.removeAll { $0.session.tag == slot.session.tag }
            all.insert(slot, at: 0)
        }
        sessions[peer] = all
        try keepSkipped(slot.session.displaced)
    }

    // MARK: Storage

    private func add(_ session: PeerSession) throws(StateError) {
        var all = try slots(session.peer)
        let used = (all.map(\.used).max() ?? 0) + 1
        all.insert(SessionSlot(session: session, used: used, isChanged: true), at: 0)
        sessions[session.peer] = all
    }

    /// The recent sessions with a peer, the one last used first.
    private func slots(_ peer: SessionID) throws(StateError) -> [SessionSlot] {
        if let known = sessions[peer] { return known }
        let found = try readSlots(of: peer, "ORDER BY used DESC LIMIT ?") {
            $0.bind(2, Int64(Self.recentSessions))
        }
        sessions[peer] = found
        return found
    }

    /// The sessions with a peer that are not among ``slots(_:)``, the one last used first.
    private func olderSlots(of peer: SessionID) throws(StateError) -> [SessionSlot] {
        let known = Set(try slots(peer).compactMap(\.number))
        guard known.count >= Self.recentSessions else { return [] }
        return try readSlots(of: peer, "ORDER BY used DESC") { _ in }.filter {
            !known.contains($0.number ?? 0)
        }
    }

    /// The session with a peer that a tag names.
    private func slot(of peer: SessionID, tag: [UInt8]) throws(StateError) -> SessionSlot? {
        if let slot = try slots(peer).first(where: { $0.session.tag == tag }) { return slot }
        return try readSlots(of: peer, "AND tag = ?") { $0.bind(2, tag) }.first
    }

    private func readSlots(
        of peer: SessionID, _ condition: String, _ bind: (PreparedStatement) -> Void
    ) throws(StateError) -> [SessionSlot] {
        let select = try connection.statement(
            "SELECT number, tag, used, sealed FROM session WHERE peer = ? " + condition)
        defer { select.reset() }
        select.bind(1, store.mark(peer))
        bind(select)
        var found: [SessionSlot] = []
        while try select.step() {
            var bytes = try store.unseal(select.bytes(3), .session(tag: select.bytes(1)))
            defer { wipe(&bytes) }
            guard let session = PeerSession(encoded: bytes), session.peer == peer else {
                throw .unsealable(path: store.database.path)
            }
            found.append(
                SessionSlot(number: select.integer(0), session: session, used: select.integer(2)))
        }
        return found
    }

    /// Writes the sessions that changed; the transaction's last act.
    func writeSessions() throws(StateError) {
        for (peer, slots) in sessions {
            for slot in slots where slot.isChanged { try write(slot, of: peer) }
            guard slots.contains(where: { $0.number == nil }) else { continue }
            let delete = try connection.statement(
                """
                DELETE FROM session WHERE peer = ?1 AND used < (
                    SELECT used FROM session WHERE peer = ?1 ORDER BY used DESC
                    LIMIT 1 OFFSET ?2)
                """)
            delete.bind(1, store.mark(peer))
            delete.bind(2, Self.sessionsPerPeer - 1)
            try delete.run()
        }
        sessions = [:]
    }

    private func write(_ slot: SessionSlot, of peer: SessionID) throws(StateError) {
        var bytes = slot.session.encoded()
        defer { wipe(&bytes) }
        let write = try connection.statement(
            """
            INSERT INTO session (number, peer, tag, used, sealed) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (number) DO UPDATE SET used = excluded.used, sealed = excluded.sealed
            """)
        if let number = slot.number { write.bind(1, number) } else { write.bindNull(1) }
        write.bind(2, store.mark(peer))
        write.bind(3, slot.session.tag)
        write.bind(4, slot.used)
        write.bind(5, store.seal(bytes, .session(tag: slot.session.tag)))
        try write.run()
    }

    private func hasBegun(_ tag: [UInt8]) throws(StateError) -> Bool {
        let select = try connection.statement("SELECT 1 FROM begun WHERE tag = ?")
        defer { select.reset() }
        select.bind(1, tag)
        return try select.step()
    }

    /// Remembers for as long as the signed prekey lives that a session began, so that its first message, which
    /// without a one-time prekey could be opened again and again, is opened once.
    private func markBegun(_ header: PreKeyHeader) throws(StateError) {
        let insert = try connection.statement("INSERT INTO begun (tag, prekey) VALUES (?, ?)")
        insert.bind(1, header.tag)
        insert.bind(2, Int64(header.signedPreKeyID))
        try insert.run()
    }
}

extension SessionError: ReportableError {
    /// What went wrong.
    public var message: String {
        switch self {
        case .nothingToSendWith: "there is no session with the recipient, and no bundle of theirs"
        case .unknownSession: "a message of a session that is not here"
        case .preKeyGone: "a message that begins a session with a prekey that is not here"
        case .begunBefore: "a message of a session that began before and was let go"
        case .noSender: "the envelope does not say who sent it, as its suite needs"
        case .notPostQuantum: "the bundle has no post-quantum prekey"
        case .noOneTimePreKey: "the bundle has no one-time prekey"
        case .otherOwner: "the bundle is somebody else's"
        case .bundleUsed:
            "a session began with this bundle before, and its one-time prekey is spent"
        }
    }

    /// What to do about it.
    public var hint: String? {
        switch self {
        case .nothingToSendWith(let peer):
            "get one: recv --bundle \(peer)"
        case .unknownSession:
            "this state is new or from a backup; send them something, or ask them for a new session"
        case .preKeyGone:
            "a repeat, or this state is new or from a backup; publish anew: keygen prekeys | send"
        case .begunBefore: nil
        case .noSender: nil
        case .notPostQuantum: "somebody may have taken it out; --classic goes on without"
        case .noOneTimePreKey: "try later, or go on without --require-opk"
        case .otherOwner: nil
        case .bundleUsed: "claim another with recv --bundle"
        }
    }

    /// The number of the exit status.
    public var status: Int32 {
        switch self {
        case .nothingToSendWith, .unknownSession, .preKeyGone, .noOneTimePreKey, .bundleUsed: 10
        case .begunBefore: 13
        case .noSender: 65
        case .notPostQuantum, .otherOwner: 12
        }
    }
}
