package import Sotto
import SottoDatabase

/// Receiving from groups.
extension StateTransaction {
    /// The most chains of a member in a group. The oldest are deleted.
    static let chainsPerMember: Int64 = 64
    /// The most skipped messages of a chain whose keys are kept.
    static let skippedPerChain = 1_000
    /// The most skipped messages of a group whose keys are kept.
    static let skippedPerGroup = 20_000
    /// The length of a stored chain without skipped keys.
    static let emptyChainBytes = Int64(
        IdentityStore.overhead(.groupChain(tag: [UInt8](repeating: 0, count: 16)))
            + ReceivedGroupChain.fixedBytes)
    /// The most messages that wait for a chain, and the most of one author that wait for changes.
    static let mostHeldForChains: Int64 = 1_000
    static let mostHeldOfAuthor: Int64 = 100
    /// The most messages that wait for changes, of all authors.
    static let mostHeldForChanges: Int64 = 2_000
    /// The source of messages that wait for a chain.
    static let chainSource = Array("chain".utf8)
    /// Days for which a message waits for a chain or for changes.
    static let heldDays: Int64 = 7

    /// The place of a message in a chain, before it is opened.
    package struct GroupPlace {
        /// The id of the message.
        package let id: String
        /// SHA-256 of the message, which all its copies share.
        package let digest: [UInt8]
        package let group: StoredGroup
        package let author: KeyID
        /// The device that wrote the message.
        package var device: KeyID { chain.device }
        fileprivate let message: GroupMessage
        fileprivate let chain: ReceivedGroupChain
        fileprivate let tag: [UInt8]
    }

    /// An opened message of a group, and the step of its chain.
    package struct GroupStep {
        /// The message. The trust of its sender is set from the contacts.
        package var message: Message
        fileprivate let chain: ReceivedGroupChain
        fileprivate let number: [UInt8]
        /// Whether the author has the same changes but another state.
        package let isStateDifferent: Bool
        /// Whether the rules of the group refuse the message. Its key is used up.
        package let isRefused: Bool
        fileprivate let hasSkipped: Bool
        /// The changes that the message names and that are missing, or `nil`.
        package let wait: GroupWait?
        /// The changes that the message names.
        fileprivate let heads: [GroupID]
    }

    /// A reason to keep a message of a group until more arrives.
    package enum GroupWait: Error {
        case chain
        case changes(GroupID, author: KeyID, missing: [GroupID])
    }

    /// Stores the distribution of a chain that came from `device`. A second distribution of a known chain is ignored, also
    /// with another wrap secret: the chain is known by its group, device and id.
    package func receive(_ distribution: GroupChainDistribution) throws(StateError) {
        guard let group = try group(distribution.group),
            group.log.names(group.log.member(of: distribution.device))
        else { return }
        let chain = ReceivedGroupChain(distribution)
        let tag = store.mark(tag: chain.tag(for: owner.device))
        let known = try chains(of: distribution.device, in: group)
        guard !known.contains(where: { $0.chain.id == chain.id }) else { return }
        try noteGaps(distribution, known, in: group)
        let device = store.mark(distribution.device)
        var bytes = chain.encoded()
        defer { wipe(&bytes) }
        try connection.run(
            "INSERT INTO group_chain (group_id, device, tag, sealed) VALUES (?, ?, ?, ?)",
            group.number,
            device, tag, store.seal(bytes, .groupChain(tag: tag)))
        try connection.run(
            """
            DELETE FROM group_chain WHERE group_id = ?1 AND device = ?2 AND number <= (
                SELECT number FROM group_chain WHERE group_id = ?1 AND device = ?2
                ORDER BY number DESC LIMIT 1 OFFSET ?3)
            """, group.number, device, Self.chainsPerMember)
        hasGroupNews = true
    }

    /// Finds the chain of an envelope and removes the envelope's outer encryption. No key is used up.
    ///
    /// Throws ``GroupWait/chain`` for an unknown chain, and ``GroupChainError``.
    package func place(of envelope: Envelope) throws -> GroupPlace {
        guard envelope.to == owner.device else { throw SealedError.notForUs }
        let copy = try GroupCopy(payload: envelope.payload)
        let tag = store.mark(tag: copy.tag)
        let found = try connection.first(
            "SELECT sealed FROM group_chain WHERE tag = ?", tag
        ) { $0.bytes(0) }
        guard let found, let chain = try readableChain(found, tag: tag),
            let group = try group(chain.group)
        else { throw GroupWait.chain }
        let address = GroupCopy.Address(id: envelope.id, to: owner.device, time: envelope.time)
        let message = try chain.message(in: copy, for: address)
        return GroupPlace(
            id: GroupContent.messageID(chain: chain.id, iteration: message.iteration),
            digest: sha256(message.bytes), group: group,
            author: group.log.member(of: chain.device), message: message,
            chain: chain, tag: tag)
    }

    /// Opens a message without changing the state; ``keep(_:)`` stores the step of the chain.
    ///
    /// If changes that the message names are missing, the present rank of its author counts: the author could have named
    /// the heads that are here. Throws ``GroupWait/changes(_:author:missing:)`` if that rank does not permit the message, and
    /// ``GroupChainError``.
    package func open(_ place: GroupPlace, of envelope: Envelope) throws -> GroupStep {
        var chain = place.chain
        let content = try GroupContent(try chain.open(place.message))
        chain.keepSkipped(Self.skippedPerChain)
        let group = place.group
        guard content.group == group.id, content.time == envelope.time else {
            throw GroupChainError.authentication
        }
        let missing = content.heads.filter { !group.log.contains($0) }
        let wait =
            missing.isEmpty
            ? nil : GroupWait.changes(group.id, author: place.author, missing: missing)
        let (rank, isLate) =
            wait == nil
            ? group.log.rank(
                of: place.author, device: chain.device, at: content.heads, chain: chain.id,
                iteration: place.message.iteration, in: group.state)
            : (group.present(place.author, chain.device), false)
        let body = try? MessageBody(content.body)
        let isPermitted =
            rank > .nobody && rank >= group.state.policy.post
            && body.map { group.permits($0, by: place.author, rank: rank) } ?? true
        if let wait, !isPermitted { throw wait }
        var members = content.members
        for name in ["heads", "state"] { members[name] = nil }
        var message = try group.message(
            id: place.id, from: place.author, called: memberName(of: place.author, in: group),
            rank: rank, time: content.time, body: content.body, members: members)
        if chain.device != place.author { message.device = chain.device }
        if isLate { message.markLate() }
        // With the most heads of a message, the author's log can have more.
        let isSame =
            content.heads.count < GroupContent.mostHeads
            && Set(content.heads) == Set(group.log.heads)
        return GroupStep(
            message: message, chain: chain, number: place.tag,
            isStateDifferent: isSame && content.state != group.state.digest,
            isRefused: !isPermitted,
            hasSkipped: chain.skipped.count > place.chain.skipped.count, wait: wait,
            heads: content.heads)
    }

    /// Passes a message of a group on to the owner's other devices, if its author did not know all of them as full devices of a
    /// member. Only the first device does so. `number` is that of the message.
    package func passOn(_ step: GroupStep, number: Int64) throws(StateError) {
        guard owner.owner == nil, try hasOtherDevices(),
            let shown = try shownDevices(), let group = try group(step.chain.group)
        else { return }
        let isKnown = shown.devices.allSatisfy { device in
            device.id == step.chain.device
                || group.log.names(device.id, of: owner.id, at: step.heads, in: group.state)
        }
        guard !isKnown else { return }
        switch MessageBody(local: step.message.body)?.kind {
        case .system, .other, .history, .typing, .presence, .call, nil: return
        default: try tellDevices(message: number, isForNew: false)
        }
    }

    /// Stores the step of a chain. The author is asked for the changes that are missing.
    package func keep(_ step: GroupStep, at time: Timestamp = .now()) throws(StateError) {
        try write(step.chain, tag: step.number)
        if let wait = step.wait { try note(wait, at: time) }
        if step.hasSkipped { try limitSkipped(in: step.chain.group) }
    }

    /// Deletes the oldest keys of skipped messages, so that a group keeps at most ``skippedPerGroup``. The member with the
    /// most keys loses them.
    func limitSkipped(in id: GroupID) throws(StateError) {
        guard let group = try group(id) else { return }
        var counts = try skippedCounts(in: group)
        var excess = counts.values.reduce(0, +) - Self.skippedPerGroup
        while excess > 0, let (device, count) = counts.max(by: { $0.value < $1.value }) {
            let second = counts.filter { $0.key != device }.values.max() ?? 0
            // The next one loses keys too when both have the same number.
            let cut = min(excess, max(count - second, 1))
            try deleteSkipped(cut, ofDevice: device, in: group)
            counts[device] = count - cut
            excess -= cut
        }
    }

    /// Returns the number of skipped keys by the mark of the device. The length of a stored chain tells it.
    private func skippedCounts(
        in group: StoredGroup
    ) throws(StateError) -> [[UInt8]: Int] {
        let rows = try connection.rows(
            """
            SELECT device, sum(length(sealed) - ?2) FROM group_chain WHERE group_id = ?1
            GROUP BY device
            """, group.number, Self.emptyChainBytes
        ) { ($0.bytes(0), Int($0.integer(1)) / ReceivedGroupChain.skippedBytes) }
        return Dictionary(rows) { first, _ in first }
    }

    /// Deletes the oldest skipped keys of a device, in its oldest chains first.
    private func deleteSkipped(
        _ count: Int, ofDevice device: [UInt8], in group: StoredGroup
    ) throws(StateError) {
        let tags = try connection.rows(
            """
            SELECT tag, sealed FROM group_chain WHERE group_id = ? AND device = ? AND length(sealed) > ?
            ORDER BY number
            """, group.number, device,
            Self.emptyChainBytes
        ) { (tag: $0.bytes(0), sealed: $0.bytes(1)) }
        var left = count
        for (tag, sealed) in tags where left > 0 {
            guard var chain = try readableChain(sealed, tag: tag) else { continue }
            let skipped = chain.skipped.count
            chain.keepSkipped(max(0, skipped - left))
            left -= skipped - chain.skipped.count
            try write(chain, tag: tag)
        }
    }

    /// Returns the chains of a member in a group, the oldest first, with the marks of their tags.
    func chains(
        of device: KeyID, in group: StoredGroup
    ) throws(StateError) -> [(tag: [UInt8], chain: ReceivedGroupChain)] {
        let rows = try connection.rows(
            "SELECT tag, sealed FROM group_chain WHERE group_id = ? AND device = ? ORDER BY number",
            group.number, store.mark(device)
        ) { (tag: $0.bytes(0), sealed: $0.bytes(1)) }
        var chains: [(tag: [UInt8], chain: ReceivedGroupChain)] = []
        for (tag, sealed) in rows {
            if let chain = try readableChain(sealed, tag: tag) { chains.append((tag, chain)) }
        }
        return chains
    }

    func write(_ chain: ReceivedGroupChain, tag: [UInt8]) throws(StateError) {
        var bytes = chain.encoded()
        defer { wipe(&bytes) }
        try connection.run(
            "UPDATE group_chain SET sealed = ? WHERE tag = ?",
            store.seal(bytes, .groupChain(tag: tag)), tag)
    }

    /// Notes that the author of a message is asked for the changes that it names.
    private func note(_ wait: GroupWait, at time: Timestamp) throws(StateError) {
        if case .changes(let id, let author, let missing) = wait, let group = try group(id) {
            try note(missing: missing, of: author, in: group, at: time)
        }
    }

    /// Returns whether a message began to wait for changes since the last call.
    package func takeWaitForChanges() -> Bool {
        defer { waitsForChanges = false }
        return waitsForChanges
    }

    /// Keeps an envelope until a chain or changes arrive.
    package func hold(
        _ envelope: Envelope, _ wait: GroupWait, at time: Timestamp = .now()
    ) throws(StateError) {
        try note(wait, at: time)
        let mark = store.mark(envelope: envelope.id)
        let source =
            switch wait {
            case .chain: Self.chainSource
            case .changes(_, let author, _): store.mark(author)
            }
        guard
            try !connection.exists(
                "SELECT 1 FROM held WHERE mark = ? AND source = ?", mark, source)
        else { return }
        try connection.run(
            """
            INSERT INTO held (mark, source, time, sealed) VALUES (?, ?, ?, ?)
            ON CONFLICT (mark) DO UPDATE SET source = excluded.source
            """, mark, source, time.seconds,
            store.seal(envelope.record.serialized(), .heldMessage(mark: mark)))
        switch wait {
        case .chain: try dropHeldForChains()
        case .changes:
            waitsForChanges = true
            try dropHeldForChanges()
            try connection.run(
                """
                DELETE FROM held WHERE source = ?1 AND number <= (
                    SELECT number FROM held WHERE source = ?1
                    ORDER BY number DESC LIMIT 1 OFFSET ?2)
                """, source, Self.mostHeldOfAuthor)
        }
    }

    /// Deletes messages above the limit that wait for a chain. Strangers can send some, so chance decides which: the latest
    /// ones displace no message for certain, and the first ones keep none out.
    private func dropHeldForChains() throws(StateError) {
        let count = try connection.integer(
            "SELECT count(*) FROM held WHERE source = ?", Self.chainSource)
        guard count > Self.mostHeldForChains else { return }
        try connection.run(
            """
            DELETE FROM held WHERE number IN (
                SELECT number FROM held WHERE source = ?1 ORDER BY random() LIMIT ?2)
            """, Self.chainSource, count - Self.mostHeldForChains)
    }

    /// Deletes messages above the limit that wait for changes: the author with the most loses the oldest.
    private func dropHeldForChanges() throws(StateError) {
        let count = try connection.integer(
            "SELECT count(*) FROM held WHERE source <> ?", Self.chainSource)
        guard count > Self.mostHeldForChanges else { return }
        try connection.run(
            """
            DELETE FROM held WHERE number IN (
                SELECT number FROM held WHERE source = (
                    SELECT source FROM held WHERE source <> ?1
                    GROUP BY source ORDER BY count(*) DESC LIMIT 1)
                ORDER BY number LIMIT ?2)
            """, Self.chainSource, count - Self.mostHeldForChanges)
    }

    /// Deletes the messages that waited too long. Returns those that waited for changes: their author is a member, or was
    /// one. A message without a chain can be from a stranger.
    package func endHolds(at time: Timestamp = .now()) throws(StateError) -> [Envelope] {
        let end = time.seconds - Self.heldDays * Self.day
        let ended = try held(
            "WHERE time < ? AND source <> ? ORDER BY number", end, Self.chainSource)
        try connection.run("DELETE FROM held WHERE time < ?", end)
        return ended
    }

    /// Stores the changes for which a message waits, if they wait until a member names them, as the message does. Returns
    /// whether it stored any.
    package func store(namedBy wait: GroupWait, at time: Timestamp = .now()) throws -> Bool {
        guard case .changes(let id, let author, let heads) = wait, let group = try group(id),
            group.state.ranks[author] != nil, try canStore(named: heads, in: group)
        else { return false }
        return try !receive([], of: id, from: author, named: heads, at: time).stored.isEmpty
    }

    /// Returns the held envelopes, the oldest first.
    package func held() throws(StateError) -> [Envelope] { try held("ORDER BY number") }

    private func held<each Value: DatabaseValue>(
        _ condition: String, _ values: repeat each Value
    ) throws(StateError) -> [Envelope] {
        let rows = try connection.rows(
            "SELECT mark, sealed FROM held " + condition, repeat each values
        ) { (mark: $0.integer(0), sealed: $0.bytes(1)) }
        var envelopes: [Envelope] = []
        for (mark, sealed) in rows {
            let envelope = try store.readable(.heldMessage, mark) { () throws(StateError) in
                let bytes = try store.unseal(sealed, .heldMessage(mark: mark))
                guard let record = try? JSON.object(parsing: bytes),
                    let envelope = try? Envelope(record: record)
                else { throw StateError.unsealable(path: store.database.path) }
                return envelope
            }
            if let envelope {
                envelopes.append(envelope)
            } else {
                try connection.run("DELETE FROM held WHERE mark = ?", mark)
            }
        }
        return envelopes
    }

    /// Deletes a held envelope.
    package func release(_ envelope: Envelope) throws(StateError) {
        try connection.run("DELETE FROM held WHERE mark = ?", store.mark(envelope: envelope.id))
    }

    /// Reads a stored chain. One that cannot be read is deleted, and `nil` is returned: its messages wait until its author
    /// sends it again.
    func readableChain(
        _ sealed: [UInt8], tag: [UInt8]
    ) throws(StateError) -> ReceivedGroupChain? {
        let chain = try store.readable(.chain, tag) { () throws(StateError) in
            try received(sealed, tag: tag)
        }
        if chain == nil { try connection.run("DELETE FROM group_chain WHERE tag = ?", tag) }
        return chain
    }

    private func received(
        _ sealed: [UInt8], tag: [UInt8]
    ) throws(StateError) -> ReceivedGroupChain {
        var bytes = try store.unseal(sealed, .groupChain(tag: tag))
        defer { wipe(&bytes) }
        guard let chain = ReceivedGroupChain(encoded: bytes) else {
            throw .unsealable(path: store.database.path)
        }
        return chain
    }
}
