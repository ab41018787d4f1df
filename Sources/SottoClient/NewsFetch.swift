import NIOCore
import NIOPosix
public import Sotto
import SottoDatabase
public import SottoState
public import SottoWire
import Synchronization

/// Asks the relays of contacts once a week, without a login, whether an id was revoked or replaced, and stores the answers in the
/// state. The user decides about a new key.
///
/// Each id is asked about at the relay on its card, alone, so that a request tells no other contact. A relay can withhold an answer;
/// the next question is a week later, and a day later if the relay gave none.
public final class NewsFetch: Sendable {
    /// The time limit in seconds for the questions on one connection.
    public static let relaySeconds = 5.0
    /// The most questions on one connection: the relay limits requests of clients without a login.
    static let questionsPerRelay = 20
    /// Seconds between two searches for contacts about whom to ask.
    private static let pause = 3_600.0

    private let store: IdentityStore
    private let authorities: String?
    private let report: @Sendable (NewsOutcome) -> Void
    private let lookAt = Mutex(-Double.infinity)

    /// Creates the questions about the contacts in `store`. `authorities` is as in
    /// ``RelayAddress/find(_:authorities:fallback:)``. `report` is called, on any thread, with what became of each record that a
    /// relay had.
    public init(
        _ store: IdentityStore, authorities: String?,
        report: @escaping @Sendable (NewsOutcome) -> Void
    ) {
        (self.store, self.authorities, self.report) = (store, authorities, report)
    }

    /// Asks about all ids that are due, at several relays at once, within about `seconds`. Ids for which no time was left are
    /// asked about in a later call.
    public func run(within seconds: Double) throws {
        let start = Monotonic.seconds()
        guard lookAt.withLock({ $0 <= start }) else { return }
        let due = Dictionary(
            grouping: try store.preview { try $0.newsQuestions() }, by: \.relay
        ).map { (relay: $0, ids: $1.prefix(Self.questionsPerRelay).map(\.id)) }
        if !due.isEmpty {
            let group = RelayLink.makeGroup()
            defer { group.shutdownGracefully { _ in } }
            try concurrently(due) { question throws in
                let left = start + seconds - Monotonic.seconds()
                guard left > 0 else { return }
                try self.ask(
                    question.ids, at: question.relay, on: group,
                    within: min(left, Self.relaySeconds))
            }
        }
        lookAt.withLock { $0 = Monotonic.seconds() + Self.pause }
    }

    private func ask(
        _ ids: [KeyID], at address: String, on group: MultiThreadedEventLoopGroup,
        within seconds: Double
    ) throws {
        let relay = try? RelayAddress.read(address, authorities: authorities)
        // The question first, so that a relay that does not answer delays only one `recv` a day. An address that cannot be used is no
        // reason to try again tomorrow.
        try note(ids, areAnswered: relay == nil)
        guard let relay else { return }
        let deadline = Monotonic.seconds() + seconds
        let events = EventQueue<RelayLink.Event>()
        guard
            let link = try? RelayLink.open(
                to: relay, group: group, events: events, timeout: seconds)
        else { return }
        defer { link.close() }
        var others: [RelayLink.Event] = []
        for id in ids {
            var found: [IdentityNews] = []
            for request in [Request.lookup(id), .successions(of: id)] {
                let left = deadline - Monotonic.seconds()
                guard left > 0,
                    let response = try? link.ask(
                        request, requestID: "news", of: relay, events: events, others: &others,
                        timeout: left)
                else { return }
                // A relay with too many requests is asked another time.
                if case .error(let refusal) = response, refusal != Refusal(.noCard) { return }
                found += response.news(of: id)
            }
            try note([id], areAnswered: true)
            guard !found.isEmpty else { continue }
            let outcomes = try store.transaction { state in
                try found.map { try state.take($0) }
            }
            outcomes.forEach(report)
        }
    }

    private func note(_ ids: [KeyID], areAnswered: Bool) throws {
        try store.transaction { try $0.noteNewsQuestions(ids, areAnswered: areAnswered) }
    }
}

extension Response {
    /// The revocation and the successions of an id in the answer to `lookup` or `successions`, a revocation first. Records of
    /// other ids, and those with a wrong signature, are left out.
    func news(of id: KeyID) -> [IdentityNews] {
        let lines: [[UInt8]] =
            switch self {
            case .card(let line): [line]
            case .cards(let lines): lines
            default: []
            }
        return lines.compactMap { line in
            guard let record = try? JSON.object(parsing: line),
                let news = try? IdentityNews(record: record), news.id == id
            else { return nil }
            return news
        }
    }
}

/// A request to a relay's directory for the successions of an id.
public struct SuccessionLookup: Sendable {
    /// The old id.
    public let id: KeyID

    /// Creates a request for the successions of an id.
    public init(_ id: KeyID) { self.id = id }

    /// Sends the request to a relay. Returns the records that both keys signed, none if there are none. Throws the error of the
    /// connection.
    public func run(at relay: RelayURL, timeout: Double = 30) throws(ClientError) -> [IdentityNews]
    {
        do throws(ClientError) {
            return try AnonymousRequest(request: .successions(of: id), relay: relay)
                .ask(timeout: timeout).news(of: id)
        } catch {
            if case .noCard = error { return [] }
            throw error
        }
    }
}
