import Sotto
import SottoState
import SottoTool

/// The work on a line that needs no order: the threads decrypt the message, check its body, and encrypt the row of a message of
/// a session for the history. The result is used only if the session and the decision about the sender are as expected. It is a
/// class because copies of it are made often.
final class AheadLine: Sendable {
    let opened: OpenedAhead
    /// Whether the body is well-formed, is not about a group, and has no messages that are sent again.
    let isPlain: Bool
    /// The message with the expected name and trust of its sender, and its row; `nil` if it is not expected to be stored.
    private let stored: (message: Message, row: HistoryRow)?

    /// Returns the row of a message if its sender has the expected name and trust.
    func row(of message: Message) -> HistoryRow? {
        guard let stored, stored.message.name == message.name,
            stored.message.trust == message.trust
        else { return nil }
        return stored.row
    }

    /// Does the work. Returns `nil` if the message is not authentic.
    fileprivate init?(
        _ plan: AheadPlan, _ keys: SuiteKeys, _ policy: SenderPolicy, _ store: IdentityStore
    ) {
        guard let opened = plan.opened(with: keys) else { return nil }
        self.opened = opened
        isPlain =
            ![GroupBody.type, RepeatedMessages.type].contains(opened.message.body["type"]?.string)
            && opened.message.malformedBody == nil
        guard case .session(let place) = plan, isPlain, opened.message.original == nil else {
            stored = nil
            return
        }
        var message = opened.message
        let decision = try? policy.decide(
            &message, contact: place.contact, hasContacts: place.hasContacts)
        guard decision == .accepted,
            let row = store.row(
                ofOpened: message, id: place.place.arrival.envelope.repeatID, digest: place.digest,
                in: place.conversation, at: place.time)
        else {
            stored = nil
            return
        }
        stored = (message, row)
    }
}

/// A line before the work on it.
private enum AheadPlan: Sendable {
    /// A message of a suite without sessions.
    case suite(any MessageSuite.Type, Envelope)
    case session(SessionPlace)

    /// A message of a session, with the values of the state that the work needs.
    struct SessionPlace: Sendable {
        let place: AheadPlace
        let digest: [UInt8]
        let contact: Contact?
        let hasContacts: Bool
        let conversation: ConversationPlace?
        let time: Timestamp
    }

    /// Returns the plan for the message of a line, or `nil` if its suite needs a session or its envelope is a signal.
    init?(_ parsed: ParsedEnvelope) {
        guard let suite = parsed.envelope.suite.messageSuite, parsed.envelope.ttl != 0 else {
            return nil
        }
        self = .suite(suite, parsed.envelope)
    }

    /// Decrypts the message. Returns `nil` if it is not authentic.
    func opened(with keys: SuiteKeys) -> OpenedAhead? {
        switch self {
        case .suite(let suite, let envelope):
            (try? suite.open(envelope, with: keys)).map { OpenedAhead(message: $0) }
        case .session(let place): place.place.open()
        }
    }
}

extension MessageOpening {
    /// The number of lines in a slice of a batch.
    private static var slice: Int { 128 }

    /// Opens the lines of a batch in their order, and once more those that wait for later ones of the batch. The threads of
    /// `pool` do the work that needs no order.
    func open(
        _ batch: [ReadLine<Input.Content>], _ pool: ThreadPool, _ transaction: StateTransaction,
        _ printed: inout [String]
    ) throws -> [OpenedLine] {
        var results: [OpenedLine] = []
        var waiting: [Int] = []
        results.reserveCapacity(batch.count)
        let store = transaction.store
        try pool.inOrder(
            batch.count, slice: Self.slice,
            begin: { slice in
                let time = Timestamp.now()
                return try batch[slice].map { try plan($0, time, transaction) }
            },
            make: { [keys, senderPolicy] plans in
                plans.map { $0.flatMap { AheadLine($0, keys, senderPolicy, store) } }
            },
            end: { slice in
                for ahead in slice {
                    let line = batch[results.count]
                    results.append(try open(line, ahead: ahead, transaction, &printed))
                    if lastWaits { waiting.append(results.count - 1) }
                }
            })
        if waiting.count < batch.count {
            for place in waiting { results[place] = try open(batch[place], transaction, &printed) }
        }
        return results
    }

    /// Opens the lines of a batch without a state. The threads of `pool` decrypt the messages.
    func open(_ batch: [ReadLine<Input.Content>], _ pool: ThreadPool) throws -> [OpenedLine] {
        var results: [OpenedLine] = []
        results.reserveCapacity(batch.count)
        try pool.inOrder(
            batch.count, slice: Self.slice,
            begin: { slice in
                batch[slice].map { line in
                    (try? line.content.get()).flatMap(input.envelope(of:)).flatMap(AheadPlan.init)
                }
            },
            make: { [keys] plans in plans.map { $0?.opened(with: keys)?.message } },
            end: { slice in
                for message in slice { results.append(try open(batch[results.count], message)) }
            })
        return results
    }

    /// Returns the plan for a line, or `nil` if all work on it has to wait for its turn.
    private func plan(
        _ line: ReadLine<Input.Content>, _ time: Timestamp, _ transaction: StateTransaction
    ) throws(StateError) -> AheadPlan? {
        guard case .success(let content) = line.content,
            let parsed = input.envelope(of: content)
        else { return nil }
        let arrived = try arrived(parsed, transaction)
        if let plan = AheadPlan(arrived) {
            return try transaction.hasOpened(arrived.envelope.repeatID) ? nil : plan
        }
        let contact: Contact?
        do throws(StateError) {
            contact = try arrived.arrival.flatMap { arrival throws(StateError) in
                try transaction.contact(id: arrival.peer)
            }
        } catch .unsealable {
            // The line fails in its turn.
            return nil
        } catch {
            throw error
        }
        // The person of a device is known in the turn of the line.
        guard let arrival = arrived.arrival, transaction.owner.owner == nil,
            try transaction.person(ofDevice: arrival.peer) == nil,
            let place = try transaction.ahead(arrival)
        else { return nil }
        return .session(
            AheadPlan.SessionPlace(
                place: place, digest: arrived.digest, contact: contact,
                hasContacts: try transaction.hasContacts(),
                conversation: try transaction.place(of: .peer(arrival.peer)), time: time))
    }
}
