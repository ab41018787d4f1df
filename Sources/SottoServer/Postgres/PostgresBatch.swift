import Sotto
import SottoWire

/// The changes of a commit as a few function calls, whatever the number of changes.
///
/// Order matters only within a mailbox, or within an owner's prekeys. Each change goes into the first round in which
/// its kind comes after all earlier changes of the same mailbox; most commits have one round.
struct PostgresBatch {
    private enum Kind: Int, CaseIterable {
        case store, fail, acknowledge, publish, claim, account, room, meeting
    }

    /// The kind of rows that a statement returns.
    private enum Answer {
        case none, stored, acknowledged, published(Int), redeemed(Int), invited(Int), room(Int)
        case meeting(Int)
        /// Each row has the index of a claim: of a change, and in a batch its place there.
        case claimed([(place: Int, part: Int)])
    }

    private let changes: [Change]
    private let minute: Int64
    private let retention: Retention
    private var answers: [Answer] = []
    private(set) var queries: [PostgresQuery] = []

    /// Creates the calls for `changes`.
    init(_ changes: [Change], at minute: Int64, _ retention: Retention) {
        (self.changes, self.minute, self.retention) = (changes, minute, retention)
        var rounds: [[[Int]]] = []
        var last: [KeyID: (round: Int, kind: Kind)] = [:]
        for (place, change) in changes.enumerated() {
            let (kind, keys) = Self.kind(of: change)
            var round = 0
            for key in keys {
                guard let last = last[key] else { continue }
                round = max(
                    round, last.kind.rawValue <= kind.rawValue ? last.round : last.round + 1)
            }
            for key in keys { last[key] = (round, kind) }
            while rounds.count <= round {
                rounds.append(Kind.allCases.map { _ in [] })
            }
            rounds[round][kind.rawValue].append(place)
        }
        for round in rounds {
            for kind in Kind.allCases where !round[kind.rawValue].isEmpty {
                add(kind, round[kind.rawValue])
            }
        }
        let mailboxes = Set(changes.compactMap(\.mailbox))
        let isForMembers = retention.strangerMinutes != nil
        if queries.count > 1 || isForMembers, !mailboxes.isEmpty {
            var lock = PostgresQuery(
                isForMembers ? "SELECT sotto.meet($1, $2)" : "SELECT sotto.lock($1)")
            if isForMembers { lock.add(minute) }
            lock.add(mailboxes.map(\.publicKey))
            queries.insert(lock, at: 0)
            answers.insert(.none, at: 0)
        }
    }

    private static func kind(of change: Change) -> (Kind, [KeyID]) {
        switch change {
        case .store(let envelope, _): (.store, [envelope.to])
        case .acknowledge(let mailbox, _, .delivered): (.acknowledge, [mailbox])
        case .acknowledge(let mailbox, _, .failed): (.fail, [mailbox])
        case .publish(let publication, _): (.publish, [publication.owner])
        case .claim(let owner, _, _): (.claim, [owner])
        case .claims(let claims): (.claim, claims.map(\.owner))
        case .update(let id, _), .redeem(_, let id): (.account, [id])
        case .invite(let invitation, _):
            (.account, [KeyID(publicKey: invitation.key)] + [invitation.inviter].compactMap(\.self))
        case .revoke: (.account, [])
        case .registerWake(let wake): (.account, [wake.mailbox])
        case .unregisterWake(let mailbox, _): (.account, [mailbox])
        case .noteInstance(let instance): (.account, [instance.owner])
        case .publishRoom(let room): (.room, [room.door])
        // The changes of meetings are made one by one, in their order.
        case .meeting: (.meeting, [])
        }
    }

    private mutating func add(_ kind: Kind, _ places: [Int]) {
        switch kind {
        case .store: addStore(places)
        case .fail, .acknowledge: addAcknowledgement(kind, places)
        case .publish: for place in places { addPublication(place) }
        case .claim: addClaims(places)
        case .account: for place in places { addAccount(place) }
        case .room: for place in places { addRoom(place) }
        case .meeting: for place in places { addMeeting(place) }
        }
    }

    private mutating func add(_ query: PostgresQuery, _ answer: Answer) {
        queries.append(query)
        answers.append(answer)
    }

    private mutating func addStore(_ places: [Int]) {
        let stored = places.compactMap { place in
            if case .store(let envelope, let until) = changes[place] {
                (envelope: envelope, until: until)
            } else {
                nil
            }
        }
        let envelopes = stored.map(\.envelope)
        var query = PostgresQuery("SELECT * FROM sotto.store($1, $2, $3, $4, $5, $6, $7, $8, $9)")
        query.add(minute)
        query.add(retention.mailboxMessages)
        query.add(retention.mailboxBytes)
        query.add(places.map(Int64.init))
        query.add(envelopes.map(\.to.publicKey))
        query.add(envelopes.map { Envelope.idBytes($0.id) })
        query.add(envelopes.map { Array(sha256($0.bytes)[..<16]) })
        query.add(envelopes.map(\.bytes))
        query.add(stored.map(\.until))
        add(query, .stored)
    }

    private mutating func addAcknowledgement(_ kind: Kind, _ places: [Int]) {
        var rows: [(place: Int64, mailbox: [UInt8], id: [UInt8])] = []
        for place in places {
            guard case .acknowledge(let mailbox, let ids, _) = changes[place] else { continue }
            for id in ids { rows.append((Int64(place), mailbox.publicKey, Envelope.idBytes(id))) }
        }
        guard !rows.isEmpty else { return }
        if kind == .fail {
            var query = PostgresQuery("SELECT sotto.fail($1, $2, $3, $4)")
            query.add(retention.deadMessages)
            query.add(retention.deadBytes)
            query.add(rows.map(\.mailbox))
            query.add(rows.map(\.id))
            add(query, .none)
        } else {
            var query = PostgresQuery("SELECT * FROM sotto.ack($1, $2, $3)")
            query.add(rows.map(\.place))
            query.add(rows.map(\.mailbox))
            query.add(rows.map(\.id))
            add(query, .acknowledged)
        }
    }

    private mutating func addPublication(_ place: Int) {
        guard case .publish(let publication, let head) = changes[place] else { return }
        addKeys(
            place, publication.owner, Int64(publication.signedPreKey.id), head,
            from: Int64(publication.oneTimeFrom), publication.oneTimePreKeys)
    }

    /// Adds the call for the prekeys of an owner, or for the revocation in their place.
    private mutating func addKeys(
        _ place: Int, _ owner: KeyID, _ signedID: Int64, _ head: [UInt8], from oneTimeFrom: Int64,
        _ oneTimePreKeys: [PreKeyBundle.PreKey]
    ) {
        var query = PostgresQuery("SELECT sotto.publish($1, $2, $3, $4, $5, $6, $7, $8)")
        query.add(minute)
        query.add(owner.publicKey)
        query.add(signedID)
        query.add(head)
        query.add(oneTimeFrom)
        query.add(Int64(WireLimits.oneTimePreKeys))
        query.add(oneTimePreKeys.map { Int64($0.id) })
        query.add(oneTimePreKeys.map(\.key))
        add(query, .published(place))
    }

    private mutating func addClaims(_ places: [Int]) {
        var claims: [Request.Claim] = []
        var reserves: [Int64] = []
        var rows: [(place: Int, part: Int)] = []
        for place in places {
            switch changes[place] {
            case .claim(let owner, let id, let reserve):
                claims.append(Request.Claim(owner: owner, id: id))
                reserves.append(reserve)
                rows.append((place, 0))
            case .claims(let batch):
                claims += batch
                reserves += batch.map { _ in Retention.reservedOneTime }
                rows += batch.indices.map { (place, $0) }
            default: break
            }
        }
        var query = PostgresQuery("SELECT * FROM sotto.claim($1, $2, $3, $4, $5)")
        query.add(minute)
        query.add(rows.indices.map(Int64.init))
        query.add(claims.map(\.owner.publicKey))
        query.add(claims.map { Envelope.idBytes($0.id) })
        query.add(reserves)
        add(query, .claimed(rows))
    }

    private mutating func addRoom(_ place: Int) {
        guard case .publishRoom(let room) = changes[place] else { return }
        var query = PostgresQuery("SELECT sotto.publish_room($1, $2, $3, $4, $5)")
        query.add(minute)
        query.add(room.door.publicKey)
        query.add(room.publisher)
        query.add(room.seq)
        query.add(room.bytes)
        add(query, .room(place))
    }

    private mutating func addMeeting(_ place: Int) {
        guard case .meeting(let change) = changes[place] else { return }
        add(PostgresQuery(change), .meeting(place))
    }

    private mutating func addAccount(_ place: Int) {
        switch changes[place] {
        case .update(let id, let update):
            let row = update.row
            var query = PostgresQuery("SELECT sotto.update_account($1, $2, $3, $4, $5, $6, $7, $8)")
            query.add(minute)
            query.add(id.publicKey)
            query.add(row.member)
            query.add(row.card)
            query.add(row.cardIssued)
            query.add(row.loginKey)
            query.add(row.loginKeyIssued)
            query.add(row.names.map(\.bytes))
            add(query, .published(place))
            if case .revocation(let line) = update {
                addKeys(place, id, AccountUpdate.revokedKey, line, from: .max, [])
            }
        case .invite(let invitation, let most):
            var query = PostgresQuery("SELECT sotto.invite($1, $2, $3, $4, $5, $6, $7)")
            query.add(minute)
            query.add(invitation.tag)
            query.add(invitation.key)
            query.add(invitation.until)
            query.add(Array(invitation.label.utf8))
            query.add(invitation.inviter?.publicKey ?? [])
            query.add(most)
            add(query, .invited(place))
        case .revoke(let tag):
            var query = PostgresQuery("SELECT sotto.revoke($1)")
            query.add(tag)
            add(query, .redeemed(place))
        case .registerWake(let wake):
            var query = PostgresQuery("SELECT sotto.register_wake($1, $2, $3, $4, $5)")
            query.add(wake.mailbox.publicKey)
            query.add(StoredWake.number(of: wake.registration.kind))
            query.add(Array(wake.registration.url.utf8))
            query.add(Array((wake.registration.token ?? "").utf8))
            query.add(wake.until)
            add(query, .published(place))
        case .unregisterWake(let mailbox, let kind):
            var query = PostgresQuery("SELECT sotto.unregister_wake($1, $2)")
            query.add(mailbox.publicKey)
            query.add(kind.map { StoredWake.number(of: $0) } ?? -1)
            add(query, .published(place))
        case .noteInstance(let instance):
            var query = PostgresQuery("SELECT sotto.note_instance($1, $2, $3)")
            query.add(instance.owner.publicKey)
            query.add(instance.mark)
            query.add(instance.day)
            add(query, .published(place))
        case .redeem(let tag, let owner):
            var query = PostgresQuery("SELECT sotto.redeem($1, $2, $3)")
            query.add(minute)
            query.add(tag)
            query.add(owner.publicKey)
            add(query, .redeemed(place))
        default: break
        }
    }

    /// Returns the outcome of each change from the rows of ``queries``, or `nil` if one is missing.
    func outcomes(_ rows: [PostgresRows]) -> [Outcome]? {
        var outcomes: [Outcome?] = changes.map { change in
            switch change {
            case .acknowledge: .acknowledged(removed: 0)
            case .claims(let claims): .bundles(claims.map { _ in nil })
            default: nil
            }
        }
        for (answer, rows) in zip(answers, rows) {
            if case .published(let place) = answer { outcomes[place] = .published }
            if case .redeemed(let place) = answer {
                outcomes[place] = rows.count > 0 ? .published : .noInvitation
            }
            if case .invited(let place) = answer {
                outcomes[place] = rows.count > 0 ? .published : .noMoreInvitations
            }
            if case .room(let place) = answer {
                outcomes[place] = rows.count > 0 ? .published : .conflict
            }
            if case .meeting(let place) = answer, case .meeting(let change) = changes[place],
                rows.count > 0, let outcome = MeetingOutcome(rawValue: rows.integer(0, 0))
            {
                outcomes[place] = .meeting(outcome, change.number)
            }
            for row in 0..<rows.count {
                switch answer {
                case .none, .published, .redeemed, .invited, .room, .meeting: break
                case .stored:
                    outcomes[Int(rows.integer(row, 0))] = Self.stored(rows.integer(row, 1))
                case .acknowledged:
                    outcomes[Int(rows.integer(row, 0))] = .acknowledged(
                        removed: Int(rows.integer(row, 1)))
                case .claimed(let claims):
                    let (place, part) = claims[Int(rows.integer(row, 0))]
                    let outcome = Self.claimed(rows, row)
                    if case .bundles(var bundles) = outcomes[place] {
                        bundles[part] = outcome?.bundle
                        outcomes[place] = .bundles(bundles)
                    } else {
                        outcomes[place] = outcome
                    }
                }
            }
        }
        let known = outcomes.compactMap { $0 }
        return known.count == changes.count ? known : nil
    }

    private static func stored(_ code: Int64) -> Outcome? {
        switch code {
        case 1: .stored
        case 2: .duplicate
        case 3: .conflict
        case 4: .mailboxFull
        default: nil
        }
    }

    private static func claimed(_ rows: PostgresRows, _ row: Int) -> Outcome? {
        switch rows.integer(row, 1) {
        case 1:
            let oneTime =
                rows.isNull(row, 3)
                ? nil
                : PreKeyBundle.PreKey(
                    id: UInt32(truncatingIfNeeded: rows.integer(row, 3)), key: rows.bytes(row, 4))
            return .bundle(PreKeyBundle.line(head: rows.bytes(row, 2), oneTime))
        case 2: return .noBundle
        case 3: return .claimReused
        default: return nil
        }
    }
}
