import Sotto
import SottoState
import SottoWire
import TestSupport
import Testing

@testable import SottoClient

/// Random deliveries to a simple relay: nothing is lost, nothing is reported before its outcome was recorded, and the mail of a
/// mailbox keeps its order.
@Suite struct DeliveryPropertyTests {
    /// A relay that answers in order, defers the mail of full mailboxes and sometimes requires a proof of work.
    private struct Relay {
        var stored: [(id: String, to: String)] = []
        var known: Set<String> = []
        var fullMailboxes: Set<String> = []
        /// The ids that need a proof of work, and those that the proofs allow.
        var costly: Set<String> = []
        var allowed = 0

        mutating func answer(_ request: Request) -> Response {
            switch request {
            case .puzzle:
                return .puzzle(nonce: randomBytes(WireLimits.nonceBytes), bits: 1)
            case .solution:
                allowed += 1
                return .accepted
            case .send(let envelope):
                if known.contains(envelope.id) { return .duplicate }
                if fullMailboxes.contains(envelope.to.description) {
                    return .deferred(Refusal(.mailboxFull))
                }
                if costly.contains(envelope.id) {
                    guard allowed > 0 else { return .error(Refusal(.workRequired)) }
                    allowed -= 1
                }
                known.insert(envelope.id)
                stored.append((envelope.id, envelope.to.description))
                return .stored
            default: return .error(Refusal(.unknownType))
            }
        }
    }

    @Test func nothingIsLostAndTheOrderStays() throws {
        for _ in 0..<60 { try withGenerator { generator in try run(&generator) } }
    }

    private func run(_ generator: inout Generator) throws {
        let line = DeliveryLine(lockTimeout: 1e9)
        var relay = Relay()
        let mailboxes = (0..<4).map { _ in Sample.identityID() }
        var given: [Outbox.Item] = []
        func makeItems(_ generator: inout Generator) -> [Outbox.Item] {
            (0..<generator.int(1..<6)).map { _ in
                let id = Envelope.newID()
                let isCostly = generator.int(0..<10) == 0
                let to = isCostly ? Sample.identityID() : mailboxes[generator.int(0..<4)]
                if isCostly { relay.costly.insert(id) }
                return Outbox.Item(
                    id: id, to: to.description, envelope: Sample.record(id, to: to).serialized())
            }
        }
        for _ in 0..<300 {
            line.now += Double(generator.int(0..<300)) / 100
            switch generator.int(0..<20) {
            case 0...3:
                let items = makeItems(&generator)
                given += items
                line.turn(.given(items))
            case 4: for item in makeItems(&generator) { line.add(item) }
            case 5: line.lose()
            case 6: line.isLockedElsewhere = !line.hasLock && !line.isLockedElsewhere
            case 7 where line.requests.isEmpty:
                relay.fullMailboxes = generator.int(0..<2) == 0 ? [] : [mailboxes[0].description]
            case 8 where !line.isConnected && !line.connections.isEmpty:
                line.turn(
                    .failed(
                        .unreachable(relay: "r", cause: "gone"),
                        generation: line.connections.last ?? 0))
            case 9...12 where !line.isConnected: line.connect()
            case 13: line.turn()
            default:
                for _ in 0..<generator.int(1..<9) {
                    guard let (id, request) = line.requests.first else { break }
                    line.answer(relay.answer(request), to: id)
                }
            }
        }
        // From here on everything works. A mailbox has room again only between requests, as above: otherwise an item in flight would
        // overtake the one that was deferred before it.
        while let (id, request) = line.requests.first {
            line.answer(relay.answer(request), to: id)
        }
        relay.fullMailboxes = []
        line.isLockedElsewhere = false
        for turn in 1...2_000 where !line.rows.isEmpty {
            line.now += 3
            // Each connection solves two puzzles.
            if turn % 20 == 0 { line.lose() } else { line.turn() }
            line.connect()
            while let (id, request) = line.requests.first {
                line.answer(relay.answer(request), to: id)
            }
        }
        line.turn(.end)
        #expect(line.ending?.left == 0 && line.rows.isEmpty, generator.comment)
        let ids = Set(line.results.filter { $0.status != .deferred }.map(\.id))
        #expect(ids.isSuperset(of: given.map(\.id)), generator.comment)
        for item in given {
            let statuses = line.statuses(of: item.id).filter { $0 != .deferred }
            #expect(statuses == [.stored] || statuses == [.duplicate], generator.comment)
        }
        #expect(relay.stored.count == line.recorded.count, generator.comment)
        for mailbox in mailboxes {
            let expected = given.filter { $0.to == mailbox.description }.map(\.id)
            let known = Set(expected)
            let stored = relay.stored.filter { known.contains($0.id) }.map(\.id)
            #expect(stored == expected, generator.comment)
        }
    }
}
