import Sotto
import SottoWire
import TestSupport
import Testing

@testable import SottoServer

/// A treatment of the messages of a meeting by a relay.
enum MeetingAttack: String, Sendable, CaseIterable {
    /// Reads all messages, and changes none.
    case reads
    /// Makes an offer itself, and gives it to the joining side.
    case ownOffer
    /// Gives it the offer of an earlier meeting of the two.
    case repeatedOffer
    /// Answers the offer with guessed words.
    case guess
    /// Answers it as the joining side did in an earlier meeting.
    case repeatedAnswer
    /// Sends the offer back.
    case offerAsAnswer
    /// Gives the joining side the card of an earlier meeting.
    case repeatedCard
    /// Sends the answer back.
    case answerAsCard
    /// Gives the side that began the card of an earlier meeting.
    case repeatedLastCard
    /// Sends that side its own card back.
    case cardSentBack

    /// The exit status of the side that began.
    var begun: Int32 {
        switch self {
        case .reads: 0
        // A message of another step: recv reports it.
        case .offerAsAnswer: 65
        default: 14
        }
    }

    /// The exit status of the side that joined.
    var joined: Int32 {
        switch self {
        // The true card of the other side has arrived.
        case .reads, .repeatedLastCard, .cardSentBack: 0
        case .answerAsCard: 65
        default: 14
        }
    }

    /// Returns what the relay keeps instead of a message. `earlier` makes the messages of an earlier meeting at a relay.
    func kept(
        _ put: AttackingStore.Put, _ earlier: (_ relay: String) throws -> EarlierMeeting
    ) throws -> [UInt8] {
        switch (self, put.step) {
        case (.ownOffer, 1):
            return MeetingInitiator(MeetingCode(randomFor: 417), relay: put.relay).offer.stored
        case (.repeatedOffer, 1): return try earlier(put.relay).offer.stored
        case (.guess, 2):
            let offer = try MeetingMessage(stored: put.seen[1] ?? [])
            let keys = try MeetingKeys(
                joining: offer, MeetingCode(randomFor: 417), relay: put.relay)
            return keys.answer.stored
        case (.repeatedAnswer, 2): return try earlier(put.relay).answer.stored
        case (.offerAsAnswer, 2): return put.seen[1] ?? []
        case (.repeatedCard, 3): return try earlier(put.relay).first.stored
        case (.answerAsCard, 3): return put.seen[2] ?? []
        case (.repeatedLastCard, 4): return try earlier(put.relay).second.stored
        case (.cardSentBack, 4):
            let card = String(decoding: put.seen[3] ?? [], as: UTF8.self)
            return Array(card.replacing("first-card", with: "second-card").utf8)
        default: return put.message
        }
    }
}

/// The messages of a meeting of two people with another code.
struct EarlierMeeting {
    let offer: MeetingMessage
    let answer: MeetingMessage
    let first: MeetingMessage
    let second: MeetingMessage

    init(_ one: Identity, _ other: Identity, relay: String) throws {
        let code = MeetingCode(randomFor: 417)
        let initiator = MeetingInitiator(code, relay: relay)
        let joining = try MeetingKeys(joining: initiator.offer, code, relay: relay)
        let begun = try initiator.keys(joining.answer)
        offer = initiator.offer
        answer = joining.answer
        first = try begun.seal(one.card(issued: .now()))
        second = try joining.seal(other.card(issued: .now()))
    }
}

/// `sotto meet` at a relay that attacks: only the two sides become contacts, and the relay learns no card.
@Suite(.timeLimit(.minutes(60))) struct MeetingAttackTests {
    @Test(arguments: ["tcp", "tls", "http"], MeetingAttack.allCases)
    func aRelayThatAttacksMakesNoContact(_ scheme: String, _ attack: MeetingAttack) throws {
        try meet(attack, scheme, store: nil)
    }

    @Test(.needs(.postgres), arguments: MeetingAttack.allCases)
    func aRelayThatAttacksMakesNoContactInPostgreSQL(_ attack: MeetingAttack) throws {
        let cluster = try #require(PostgresCluster.shared)
        try meet(attack, "tcp", store: cluster.url(cluster.database()))
    }

    private func meet(_ attack: MeetingAttack, _ scheme: String, store: String?) throws {
        let scratch = TemporaryDirectory()
        let people = try Meeters()
        let alice = try Self.identity("alice", people.alice)
        let bob = try Self.identity("bob", people.bob)
        var configuration = RelayConfiguration(
            listen: RelayURL(host: "127.0.0.1", port: 0), store: store ?? scratch("relay.db"))
        if scheme == "tls" { configuration.tls = TestCertificate.files }
        let opened = try StoreLocation(configuration.store).open(Retention())
        let attacking = AttackingStore(opened) { put in
            do {
                return try attack.kept(put) { try EarlierMeeting(alice, bob, relay: $0) }
            } catch {
                Issue.record("\(error)")
                return put.message
            }
        }
        let relay = try Relay(configuration, store: attacking) {
            Issue.record("the store failed: \($0)")
        }
        defer { try? relay.stop() }

        let url = "\(scheme)://\(relay.address)"
        let (meeting, codes) = try people.begin(at: url)
        let joined = try people.join(try #require(codes.first), at: url)
        let begun = try #require(try meeting.finish().first)
        #expect(begun.status == attack.begun, "\(begun.stderr)")
        #expect(joined.status == attack.joined, "\(joined.stderr)")
        // A side that ended without the other's card says how to go on.
        for run in [begun, joined] where run.status != 0 {
            #expect(run.stderr.contains("begin again with a new code"), "\(run.stderr)")
        }
        #expect(
            try people.trusts() == [
                attack.begun == 0 ? "verified" : nil, attack.joined == 0 ? "verified" : nil,
            ])
        // The relay has seen neither a card nor an id.
        #expect(attacking.seen.keys.contains(1))
        for message in attacking.seen.values {
            let text = String(decoding: message, as: UTF8.self)
            for id in [alice.id, bob.id] { #expect(!text.contains(id.description)) }
            #expect(!text.contains("\"name\""))
        }
        // No further side can try.
        if attack.begun != 0 {
            #expect(try people.join(try #require(codes.first), at: url).status == 14)
        }
    }

    private static func identity(_ name: String, _ home: Home) throws -> Identity {
        try Identity(record: JSON.object(parsing: home.files.read("\(name).key")))
    }
}
