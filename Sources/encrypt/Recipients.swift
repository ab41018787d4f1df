import Sotto
import SottoContacts
import SottoState
import SottoTool

/// The recipients of messages, and the route to each of them.
struct Recipients {
    /// The encryption of messages to one recipient.
    private enum Route {
        case suite(any MessageSuite.Type, Recipient)
        case session(SessionID)
    }

    private let keys: SuiteKeys
    private let store: IdentityStore?
    private let routes: [Route]
    /// The recipients; empty for a chat alone.
    private let people: [SessionID]
    /// The recipients' cards, which may name a mailbox other than the id's.
    private let cards: [Card?]
    /// The relay of each recipient, for `send`: the one on the signed card. A `sotto:` URI does not authenticate a
    /// relay.
    let relays: [String?]

    init(tool: EncryptTool) throws {
        let book = AddressBook(tool.identity.load, lockTimeout: tool.lock.timeout)
        // A chat needs no identity, so a user without one can write to it.
        let needsIdentity = tool.chosenSuite?.traits.isOfChat != true || !tool.to.isEmpty
        let identity = needsIdentity ? try book.identity() : nil
        keys = SuiteKeys(
            identity: identity, chats: try tool.chat.map { [try ChatFile.read($0)] } ?? [],
            classic: tool.classic)
        let sessions = try SessionPlan(
            tool: EncryptTool.toolName, tool.session, classic: tool.classic, quiet: tool.quiet)
        let needsState = tool.suite == .ratchet || sessions.hasBundles
        if tool.stateless || identity == nil {
            guard !needsState else {
                throw Failure(
                    .usage, "a session requires the state directory", hint: "omit --stateless")
            }
            store = tool.stateless ? nil : try book.storeWithoutPrompt(tool.identity)
        } else {
            store = try book.writableStore()
        }
        let people = try tool.to.map { argument in
            guard tool.stateless else { return try book.find(argument) }
            let card =
                try ContactName.meansOwner(argument)
                ? book.identity().card() : RecipientArgument.card(argument)
            return Correspondent(id: card.id, card: card, contact: nil)
        }
        let plan = RoutePlan(tool: tool, own: identity?.id, sessions: sessions)
        try sessions.check(people)
        // If no session has to begin, this only reads the state and does not wait for other processes.
        var suites: Set<Suite> = []
        var routes: [Route] = []
        for person in people {
            let suite = try plan.suite(for: person, store)
            if !tool.stateless { try book.check(person, suite: suite, tool.trust) }
            suites.insert(suite)
            routes.append(try Self.route(person, suite))
        }
        if people.isEmpty, let suite = tool.chosenSuite, let type = suite.messageSuite {
            suites.insert(suite)
            routes.append(.suite(type, .chat))
        }
        self.routes = routes
        self.people = people.map(\.id)
        cards = people.isEmpty ? routes.map { _ in nil } : people.map(\.card)
        relays = people.isEmpty ? routes.map { _ in nil } : people.map(\.notedRelay)
        if !tool.quiet { Self.note(suites, people, tool) }
        guard let store else { return }
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

    /// Prints the notes before any output.
    private static func note(
        _ suites: Set<Suite>, _ people: [Correspondent], _ tool: EncryptTool
    ) {
        if suites.contains(.sealed), !tool.classic,
            people.contains(where: { $0.card?.hybrid == nil })
        {
            Terminal.say(
                "encrypt: note: a sotto: URI has no post-quantum key; use the signed card instead")
        }
    }

    /// Returns the bare texts of messages to a chat.
    func sealBare(_ messages: [MessageText]) throws -> [Result<String, Failure>] {
        try messages.map { message in
            try result {
                try PhraseSuite.bareText(
                    Draft(body: message.body, extra: message.extra), with: keys)
            }
        }
    }

    /// Returns the envelopes of each message, one for each recipient, or its failure. The messages are in the history
    /// when this returns. A thrown error ends the whole run: nothing was encrypted.
    func seal(_ messages: [MessageText]) throws -> [Result<[Envelope], Failure>] {
        guard let store else { return try messages.map { try seal($0, nil) } }
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
                    body: message.body, extra: message.extra, milliseconds: milliseconds)
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
                body: draft.body, extra: draft.extra, to: peer, time: draft.time)
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
