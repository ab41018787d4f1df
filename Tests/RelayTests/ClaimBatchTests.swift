import Dispatch
import Sotto
import SottoWire
import Synchronization
import TestSupport
import Testing

@testable import SottoServer

extension Request.Claim {
    /// A claim with a new id.
    fileprivate static func of(_ owner: Identity) -> Request.Claim {
        Request.Claim(owner: owner.id, id: Envelope.newID())
    }
}

/// Batches of claims at a relay.
@Suite struct ClaimBatchTests {
    let reserve = UInt32(Retention.reservedOneTime)

    /// Returns the bundles in an answer, `nil` for a claim without one.
    static func bundles(_ response: Response?) throws -> [PreKeyBundle?] {
        guard case .bundles(let lines)? = response else {
            Issue.record("\(String(describing: response))")
            return []
        }
        return try lines.map { line in
            try line.map { try PreKeyBundle(record: JSON.object(parsing: $0)) }
        }
    }

    @Test func aBatchIsAnsweredInItsOrder() throws {
        let running = try RunningRelay()
        let client = running.client()
        let people = (0..<5).map { _ in Sample.identity() }
        let publications = people.map { Sample.preKeys(of: $0, oneTime: 1..<100) }
        for publication in publications { #expect(client.publish(publication) == .stored) }
        // The first unknown owner has a mailbox.
        let unknown = [Sample.identity(), Sample.identity()]
        #expect(client.ask(.send(Sample.envelope(to: unknown[0].id))) == .stored)
        let claims = (people + unknown).shuffled().map { Request.Claim.of($0) }
        let bundles = try Self.bundles(client.ask(.claims(claims)))
        let expected = try claims.map { claim -> PreKeyBundle? in
            guard let owner = people.firstIndex(where: { $0.id == claim.owner }) else { return nil }
            return try publications[owner].bundle(oneTime: publications[owner].oneTimePreKeys[0])
        }
        #expect(bundles == expected)
        // A repetition gets the same, also one claim of it, and takes nothing.
        #expect(try Self.bundles(running.client().ask(.claims(claims))) == expected)
        for (claim, bundle) in zip(claims, expected) {
            #expect(client.claim(claim.owner, claim.id) == bundle)
        }
        let next = try Self.bundles(
            client.ask(
                .claims(claims.map { Request.Claim(owner: $0.owner, id: Envelope.newID()) })))
        #expect(Set(next.map { $0?.oneTimePreKey?.id }) == [2, nil])
    }

    @Test func aFullBatchFitsIntoALine() throws {
        let people = (0..<WireLimits.claimCount).map { _ in Sample.identity() }
        let request = Request.claims(people.map { .of($0) })
        let frame = IncomingFrame(request.line(requestID: String(repeating: "r", count: 64)))
        #expect(frame.refusal(hasMailbox: false) == nil)
        let key = SecretPreKey(.postQuantum, id: .max).signed(by: people[0], at: .now())
        let publication = PreKeyPublication(
            by: people[0],
            signedPreKey: SecretPreKey(.signed, id: .max).signed(by: people[0], at: .now()),
            pqSignedPreKey: key, oneTimePreKeys: [.init(id: .max, key: randomBytes(32))])
        let bundle = try publication.bundle(oneTime: publication.oneTimePreKeys[0])
        let line = bundle.record.serialized()
        let answer = Response.bundles(people.map { _ in line }).line(requestID: "r")
        #expect(answer.count < WireLimits.responseBytes / 2)
    }

    @Test(arguments: RelayURL.Scheme.allCases)
    func eachTransportTakesBatches(_ scheme: RelayURL.Scheme) throws {
        let running = try BadFrameTests.relay()
        let client = TransportClient(scheme, running.relay.address)
        let line = Request.claims([.of(Sample.identity()), .of(Sample.identity())])
            .line(requestID: "b").dropLast()
        #expect(
            client.ask(String(decoding: line, as: UTF8.self))
                == .frame(
                    #"{"type":"bundles","request_id":"b","payload":{"bundles":[null,null]}}"#,
                    status: client.isHTTP ? 200 : nil))
    }

    @Test func batchesOfANetworkAreLimited() {
        let line = ConnectionStateTests.Line()
        let other = ConnectionStateTests.Line()
        let elsewhere = ConnectionStateTests.Line()
        let policy = line.state.policy
        for (next, network) in [(other, [127, 0, 0]), (elsewhere, [127, 0, 1])] as [(_, [UInt8])] {
            next.state = ConnectionState(policy, network: network, at: next.now, names: { [] })
        }
        // Claims of one bundle have their own limit.
        #expect(line.ask(.claim(owner: Sample.identity().id, id: Envelope.newID())) == nil)
        for _ in 0..<20 { #expect(claim(line) == done) }
        #expect(claim(line) == busy)
        #expect(claim(other) == busy)
        #expect(claim(elsewhere) == done)
        line.now += 59
        other.now += 59
        #expect(claim(line) == done)
        #expect(claim(line) == busy && claim(other) == busy)
    }

    @Test func batchesOfAConnectionWithoutANetworkAreLimited() {
        let line = ConnectionStateTests.Line()
        line.state = ConnectionState(
            line.state.policy, network: nil, at: line.now, names: { [] })
        for _ in 0..<20 { #expect(claim(line) == done) }
        #expect(claim(line) == busy)
    }

    private let done = Response.bundles([])
    private let busy = Response.error(Refusal(.busy))

    /// Sends the largest batch, and returns the response after its commit.
    private func claim(_ line: ConnectionStateTests.Line) -> Response? {
        line.changes = []
        let batch = (0..<WireLimits.claimCount).map { _ in Request.Claim.of(Sample.identity()) }
        let response = line.ask(.claims(batch))
        guard let change = line.changes.first else { return response }
        line.state.take(
            .bundles([]), "1", weight: change.weight, then: nil, at: line.now, to: line)
        return line.responses.last
    }

    /// Two clients claim of the same owners at the same time.
    @Test func concurrentBatchesGetDifferentKeys() throws {
        let running = try RunningRelay()
        let people = (0..<20).map { _ in Sample.identity() }
        let publisher = running.client()
        for person in people {
            let publication = Sample.preKeys(of: person, oneTime: 1..<51)
            #expect(publisher.publish(publication) == .stored)
        }
        let claimed = Mutex<[KeyID: [UInt32]]>([:])
        DispatchQueue.concurrentPerform(iterations: 2) { _ in
            let client = running.client()
            for _ in 0..<20 {
                let answer = client.ask(.claims(people.shuffled().map { .of($0) }))
                for case let bundle? in (try? Self.bundles(answer)) ?? [] {
                    claimed.withLock {
                        $0[bundle.owner, default: []] += [bundle.oneTimePreKey?.id ?? 0]
                    }
                }
            }
        }
        let ids = claimed.withLock { $0 }
        #expect(ids.count == 20)
        for ids in ids.values { #expect(ids.sorted() == Array(1...40)) }
    }

    // MARK: Stores

    private func publication(of owner: Identity, _ count: UInt32) -> (Change, PreKeyPublication) {
        let publication = Sample.preKeys(of: owner, oneTime: 1..<count + 1)
        return (.publish(publication, head: publication.bundleHead ?? []), publication)
    }

    /// Returns the numbers of the one-time prekeys of batches; 0 for a bundle without one, and `nil` for no bundle.
    private func oneTime(_ outcomes: [Outcome]) throws -> [[UInt32?]] {
        try outcomes.map { outcome in
            try Self.bundles(outcome.response).map { $0.map { $0.oneTimePreKey?.id ?? 0 } }
        }
    }

    @Test(arguments: StoreKind.available)
    func aBatchLeavesTheLastKeys(_ kind: StoreKind) throws {
        let store = try StoreFixture().open(kind)
        let (bob, carol, nobody) = (Sample.identity(), Sample.identity(), Sample.identity())
        let (bobs, keys) = publication(of: bob, reserve + 2)
        let (carols, _) = publication(of: carol, reserve)
        #expect(try store.commit([bobs, carols], at: 1) == [.published, .published])
        let batches = (0..<3).map { _ in
            Change.claims([.of(nobody), .of(bob), .of(carol)])
        }
        #expect(
            try oneTime(store.commit(batches, at: 1)) == [[nil, 1, 0], [nil, 2, 0], [nil, 0, 0]])
        #expect(try store.preKeys(of: bob.id)?.oneTime == Int(reserve))
        // The first two can be repeated; a claim without a one-time prekey is not recorded.
        #expect(
            try oneTime(store.commit(Array(batches[..<2]), at: 1)) == [[nil, 1, 0], [nil, 2, 0]])
        // A claim of one bundle takes the reserve too, and its order in a commit counts.
        let single = Change.claim(owner: bob.id, id: Envelope.newID())
        let outcomes = try store.commit(
            [single, .claims([.of(bob)]), .claim(owner: bob.id, id: Envelope.newID())], at: 1)
        let lines = try [2, 3].map { number in
            try keys.bundle(oneTime: keys.oneTimePreKeys[number]).record.serialized()
        }
        #expect(outcomes[0] == .bundle(lines[0]) && outcomes[2] == .bundle(lines[1]))
        #expect(try oneTime([outcomes[1]]) == [[0]])
        try store.close()
    }

    /// Partitions know only the claims of their own owners.
    @Test(arguments: StoreKind.available.filter { $0 != .partitions })
    func anIDOfAnotherOwnersClaimGetsNoBundle(_ kind: StoreKind) throws {
        let store = try StoreFixture().open(kind)
        let (bob, carol) = (Sample.identity(), Sample.identity())
        let both = [bob, carol].map { publication(of: $0, reserve + 5).0 }
        #expect(try store.commit(both, at: 1) == [.published, .published])
        let id = Envelope.newID()
        let claims = [bob, carol].map { Request.Claim(owner: $0.id, id: id) }
        #expect(try oneTime(store.commit([.claims(claims)], at: 1)) == [[1, nil]])
        #expect(try store.commit([.claim(owner: carol.id, id: id)], at: 1) == [.claimReused])
        try store.close()
    }

    /// A publication between two batches of one commit is used by the second.
    @Test(arguments: StoreKind.available)
    func theOrderOfACommitIsKept(_ kind: StoreKind) throws {
        let store = try StoreFixture().open(kind)
        let (bob, carol) = (Sample.identity(), Sample.identity())
        let batch = Change.claims([.of(bob), .of(carol)])
        let outcomes = try store.commit(
            [
                publication(of: bob, reserve + 5).0, batch, publication(of: carol, reserve + 5).0,
                .claims([.of(carol), .of(bob)]),
            ], at: 1)
        #expect(try oneTime([outcomes[1], outcomes[3]]) == [[1, nil], [1, 2]])
        try store.close()
    }

    /// Batches at two relays of a database, or on two threads of one store.
    @Test(arguments: StoreKind.available)
    func eachKeyIsHandedOutOnce(_ kind: StoreKind) throws {
        let place = StoreFixture()
        let first = try place.open(kind)
        let stores = [first, kind == .sqlite ? first : try place.open(kind)]
        let people = (0..<20).map { _ in Sample.identity() }
        #expect(
            try first.commit(people.map { publication(of: $0, 60).0 }, at: 1)
                == people.map { _ in .published })
        let answers = Mutex<[Outcome]>([])
        DispatchQueue.concurrentPerform(iterations: 2) { number in
            for _ in 0..<20 {
                let batch = Change.claims(people.shuffled().map { .of($0) })
                let outcomes = (try? stores[number].commit([batch], at: 1)) ?? []
                answers.withLock { $0 += outcomes }
            }
        }
        let bundles = try answers.withLock { $0 }.flatMap { try Self.bundles($0.response) }
        let keys = Dictionary(grouping: bundles.compactMap(\.self), by: \.owner)
        #expect(keys.count == people.count)
        for bundles in keys.values {
            #expect(bundles.compactMap(\.oneTimePreKey?.id).sorted() == Array(1...40))
        }
        for store in kind == .sqlite ? [first] : stores { try store.close() }
    }
}
