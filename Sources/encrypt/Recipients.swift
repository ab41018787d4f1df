import Sotto
import SottoContacts
import SottoState
import SottoTool

/// The mailboxes that get each message, and the keys for it.
struct Mailboxes {
    /// The protection of the messages.
    enum Method {
        /// A session if one exists or can begin, else `sealed`.
        case best
        case sealed
        case ratchet
        /// `phrase`, for the chat in this file.
        case phrase(chat: String)
    }

    /// Cards, ids and names of contacts.
    let to: [String]
    /// The time to live at the relay, in seconds, or `nil`.
    let ttl: Int64?
    let method: Method
    let session: SessionOptions
    /// Whether classic keys are used in place of post-quantum ones.
    let isClassic: Bool
    let trust: TrustPolicy?
    let identity: IdentityOptions
    /// Seconds to wait for another process that uses the state; `nil` if no state is used.
    let lockTimeout: Double?
    let quiet: Bool

    /// Whether the messages need the state, also without a history.
    var needsState: Bool {
        if case .ratchet = method { return true }
        return !session.bundle.isEmpty
    }
}

/// A chat that gets each message without an address, and the history that records it.
struct ChatTarget {
    /// The chat's file.
    let path: String
    let identity: IdentityOptions
    /// Seconds to wait for another process that uses the state; `nil` if no state is used.
    let lockTimeout: Double?
}

/// The recipients of messages, and the route to each of them.
struct Recipients {
    /// The encryption of messages to one recipient.
    private enum Route {
        case suite(any MessageSuite.Type, Recipient)
        case session(SessionID)
    }

    private let keys: SuiteKeys
    private let ttl: Int64?
    private let store: IdentityStore?
    private let routes: [Route]
    /// The recipients; empty for a chat alone.
    private let people: [SessionID]
    /// The recipients' cards, which may name a mailbox other than the id's.
    private let cards: [Card?]
    /// The relay of each recipient, for `send`: the one on the signed card. A `sotto:` URI does not authenticate a
    /// relay.
    let relays: [String?]

    /// A chat needs no identity, so a user without one can write to it. The history has the messages if an identity can
    /// be read without a prompt.
    init(_ chat: ChatTarget) throws {
        keys = SuiteKeys(identity: nil, chats: [try ChatFile.read(chat.path)])
        ttl = nil
        let book = AddressBook(chat.identity.load, lockTimeout: chat.lockTimeout)
        store = chat.lockTimeout == nil ? nil : try book.storeWithoutPrompt(chat.identity)
        routes = [.suite(PhraseSuite.self, .chat)]
        people = []
        cards = [nil]
        relays = [nil]
    }

    init(_ mailboxes: Mailboxes) throws {
        let book = AddressBook(mailboxes.identity.load, lockTimeout: mailboxes.lockTimeout)
        let identity = try book.identity()
        var chats: [Chat] = []
        if case .phrase(let path) = mailboxes.method { chats = [try ChatFile.read(path)] }
        keys = SuiteKeys(identity: identity, chats: chats, classic: mailboxes.isClassic)
        let sessions = try SessionPlan(
            tool: EncryptTool.toolName, mailboxes.session, classic: mailboxes.isClassic,
            quiet: mailboxes.quiet)
        ttl = mailboxes.ttl
        let usesState = mailboxes.lockTimeout != nil || mailboxes.needsState
        store = usesState ? try book.writableStore() : nil
        let people = try mailboxes.to.map { try book.find($0) }
        let plan = RoutePlan(
            method: mailboxes.method, own: identity.id, sessions: sessions,
            quiet: mailboxes.quiet)
        try sessions.check(people)
        // If no session has to begin, this only reads the state and does not wait for other processes.
        var suites: Set<Suite> = []
        var routes: [Route] = []
        for person in people {
            let suite = try plan.suite(for: person, store)
            try book.check(person, suite: suite, mailboxes.trust)
            suites.insert(suite)
            routes.append(try Self.route(person, suite))
        }
        self.routes = routes
        self.people = people.map(\.id)
        cards = people.map(\.card)
        relays = people.map(\.notedRelay)
        if !mailboxes.quiet, !mailboxes.isClassic, suites.contains(.sealed),
            people.contains(where: { $0.card?.hybrid == nil })
        {
            Terminal.say(
                "encrypt: note: a sotto: URI has no post-quantum key; use the signed card instead")
        }
        // The suite of a message with a short time to live says nothing about the next message.
        guard let store, ttl.map({ $0 >= Envelope.minimumSessionTTL }) ?? true else { return }
        for (person, route) in zip(people, routes) {
            var hasBegun = false
            let suite: Suite
            switch route {
            case .session:
                hasBegun = try sessions.prepare(person, store)
                suite = .ratchet
            case .suite(let type, _):
                guard type == Sealed.self else { continue }
                suite = .sealed
            }
            plan.noteSuite(suite, of: person, store, isReported: hasBegun)
        }
    }

    private static func route(_ person: Correspondent, _ suite: Suite) throws -> Route {
        guard let type = suite.messageSuite else { return .session(person.id) }
        guard person.card != nil || suite != .sealed else {
            throw Failure(
                .noKey, "no card of \(person.name) is known",
                hint: "get the card: \(cardLookupCommand(person.id))")
        }
        return .suite(type, Recipient(id: person.id, card: person.card))
    }

    /// Returns the envelopes of each message, one for each recipient, or its failure. The messages are in the history
    /// when this returns, except those with a time to live of 0. A thrown error ends the whole run: nothing was encrypted.
    func seal(_ messages: [MessageText]) throws -> [Result<[Envelope], Failure>] {
        guard let store, ttl != 0 else { return try messages.map { try seal($0, nil) } }
        return try store.transaction { transaction in
            try messages.map { try seal($0, transaction) }
        }
    }

    private func seal(
        _ message: MessageText, _ transaction: StateTransaction?
    ) throws -> Result<[Envelope], Failure> {
        try result {
            let milliseconds = Timestamp.milliseconds()
            let envelopes = try routes.map { route in
                let draft = Draft(
                    body: message.body, extra: message.extra, milliseconds: milliseconds,
                    ttl: ttl)
                return try seal(draft, route, transaction)
            }
            if let transaction { try record(message, envelopes, transaction) }
            return zip(envelopes, cards).map { envelope, card in
                card.map { envelope.addressed(to: $0) } ?? envelope
            }
        }
    }

    /// Records a message in the history: once for each recipient, but once for a chat.
    private func record(
        _ message: MessageText, _ envelopes: [Envelope], _ transaction: StateTransaction
    ) throws(StateError) {
        let chat = keys.chats.first.map { JSON.object($0.details) }
        for (index, envelope) in envelopes.enumerated() {
            let isOfChat = envelope.suite.traits.isOfChat
            if isOfChat, index > 0 { continue }
            let sent = Message(
                id: envelope.id, from: transaction.owner.id,
                to: index < people.count ? people[index] : nil, time: envelope.time,
                suite: SuiteName(envelope.suite), authenticated: true, trust: .verified,
                details: isOfChat ? chat.map { ["chat": $0] } : nil, body: message.body,
                members: JSONObject(message.extra.map { ($0.name, $0.value) }))
            try transaction.recordSent(id: envelope.id, record: sent.record)
        }
    }

    private func seal(
        _ draft: Draft, _ route: Route, _ transaction: StateTransaction?
    ) throws -> Envelope {
        switch route {
        case .suite(let suite, let recipient):
            return try suite.seal(draft, to: recipient, with: keys)
        case .session(let peer):
            guard let transaction else { throw SessionError.nothingToSendWith(peer) }
            return try transaction.seal(
                body: draft.body, extra: draft.extra, to: peer, time: draft.time,
                ttl: draft.ttl)
        }
    }
}

extension Correspondent {
    /// The maximum length of a relay address on an envelope's line.
    private static let relayLimit = 512

    /// The relay on the card, if the card is signed by its owner.
    fileprivate var notedRelay: String? {
        guard let card, card.record != nil, let relay = card.relay,
            (1...Self.relayLimit).contains(relay.utf8.count)
        else { return nil }
        return relay
    }
}
