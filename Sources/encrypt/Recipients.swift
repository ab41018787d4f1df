import Sotto
import SottoContacts
import SottoState
import SottoTool

/// Whom messages are for, and how each of them is reached.
struct Recipients {
    /// How messages to one recipient are encrypted.
    private enum Route {
        case sealed(Card)
        case session(SessionID)
    }

    private let identity: Identity
    private let store: IdentityStore?
    private let routes: [Route]
    private let classic: Bool

    init(tool: EncryptTool) throws {
        let book = AddressBook(tool.identity.load, lockTimeout: tool.lock.timeout)
        identity = try book.identity()
        classic = tool.classic
        let bundles = try tool.bundle.map { try BundleFile.read($0) }
        let needsState = tool.suite == .ratchet || !bundles.isEmpty
        if tool.stateless {
            guard !needsState else {
                throw Failure(.usage, "a session needs the state", hint: "leave out --stateless")
            }
            store = nil
        } else if needsState {
            store = try IdentityStore(
                directory: .standard(), identity: identity, lockTimeout: tool.lock.timeout)
        } else {
            store = try book.store()
        }
        let people = try tool.to.map { argument in
            guard tool.stateless else { return try book.find(argument) }
            let card = try Addressee.card(argument)
            return Correspondent(id: card.id, card: card, contact: nil)
        }
        let plan = RoutePlan(tool: tool, own: identity.id, bundles: bundles)
        try plan.check(people)
        for person in people where !tool.stateless { try book.check(person, tool.trust) }
        // Without anything to begin, this only looks, and waits for nobody.
        var routes: [Route] = []
        for person in people {
            switch try plan.suite(for: person, store) {
            case .sealed:
                guard let card = person.card else {
                    throw Failure(
                        .noKey, "there is no card of \(person.name) to encrypt to",
                        hint: "add it: contact add CARD")
                }
                routes.append(.sealed(card))
            case .ratchet: routes.append(.session(person.id))
            }
        }
        self.routes = routes
        let cards = routes.compactMap { if case .sealed(let card) = $0 { card } else { nil } }
        if !classic, !tool.quiet, cards.contains(where: { $0.hybrid == nil }) {
            Terminal.say(
                "encrypt: note: a sotto: URI has no post-quantum key; the whole card has one")
        }
        guard let store else { return }
        for (person, route) in zip(people, routes) {
            guard case .session = route else { continue }
            try plan.prepare(person, store)
        }
    }

    /// The envelopes of each message, one for each recipient, or why there are none. What throws ends the
    /// whole work: nothing was encrypted.
    func seal(_ messages: [MessageText]) throws -> [Result<[Envelope], Failure>] {
        guard !messages.isEmpty else { return [] }
        let hasSession = routes.contains { if case .session = $0 { true } else { false } }
        guard hasSession, let store else { return try messages.map { try seal($0, nil) } }
        return try store.transaction { transaction in
            try messages.map { try seal($0, transaction) }
        }
    }

    private func seal(
        _ message: MessageText, _ transaction: StateTransaction?
    ) throws -> Result<[Envelope], Failure> {
        let time = Timestamp.now()
        do {
            return .success(
                try routes.map { route in
                    switch route {
                    case .sealed(let card):
                        return try Sealed.seal(
                            body: message.body, extra: message.extra, from: identity, to: card,
                            classic: classic, time: time)
                    case .session(let peer):
                        guard let transaction else { throw SessionError.nothingToSendWith(peer) }
                        return try transaction.seal(
                            body: message.body, extra: message.extra, to: peer, time: time)
                    }
                })
        } catch let error as StateError {
            throw error
        } catch {
            guard let failure = (error as? Failure) ?? Failure(core: error) else { throw error }
            return .failure(failure)
        }
    }
}
