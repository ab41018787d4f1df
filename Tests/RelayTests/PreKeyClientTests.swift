import Dispatch
import Glibc
import Sotto
import SottoProgram
import SottoState
import SottoWire
import TestSupport
import Testing

@testable import SottoClient
@testable import SottoServer

/// A relay with prepared answers, one for each connection; `nil` hangs up after the request.
private final class FakeRelay: @unchecked Sendable {
    let url: RelayURL
    private let listener: Int32
    private let done = DispatchSemaphore(value: 0)
    private var lines: [[UInt8]] = []

    init(_ answers: [Response?]) throws {
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        let listener = listener
        _ = InternetSocket.bind(listener, "127.0.0.1", 0)
        _ = listen(listener, 8)
        url = RelayURL(host: "127.0.0.1", port: InternetSocket.port(of: listener))
        DispatchQueue(label: "fake relay").async {
            for answer in answers {
                let connection = accept(listener, nil, nil)
                var line: [UInt8] = []
                var byte: UInt8 = 0
                while read(connection, &byte, 1) == 1, byte != 0x0A { line.append(byte) }
                self.lines.append(line)
                if let answer {
                    let reply = answer.line(requestID: "question")
                    _ = write(connection, reply, reply.count)
                }
                close(connection)
            }
            self.done.signal()
        }
    }

    deinit { close(listener) }

    /// Returns the requests, once all answers are sent.
    func requests() throws -> [Request] {
        done.wait()
        return try lines.map { try Request(Frame(parsing: $0)) }
    }
}

@Suite struct PreKeyClientTests {
    let bob = Sample.identity()

    func url(_ running: RunningRelay) throws -> RelayURL {
        try RelayURL(name: running.relay.address)
    }

    @Test func aBundleIsClaimed() throws {
        let running = try RunningRelay()
        let relay = try url(running)
        let claim = PreKeyClaim(owner: bob.id, id: Envelope.newID())
        #expect(throws: ClientError.noBundle(relay: relay.description)) {
            try claim.run(at: relay)
        }
        let publication = Sample.preKeys(of: bob, oneTime: 1..<2, isPostQuantum: true)
        #expect(running.client().publish(publication) == .stored)
        let bundle = try publication.bundle(oneTime: publication.oneTimePreKeys[0])
        #expect(try claim.run(at: relay) == bundle)
        #expect(try claim.run(at: relay) == bundle)
        let other = PreKeyClaim(owner: Sample.identity().id, id: claim.id)
        #expect(throws: ClientError.refused(relay: relay.description, reason: .conflict)) {
            try other.run(at: relay)
        }
    }

    /// Strangers cannot use up the last prekeys for nothing, and the answers do not tell how many are left.
    @Test(arguments: StoreKind.available)
    func theLastPrekeysNeedAProofOfWork(_ kind: StoreKind) throws {
        let fixture = StoreFixture()
        let location = try fixture.location(kind)
        let running = try RunningRelay { $0.store = location }
        let publication = Sample.preKeys(of: bob, oneTime: 1..<13)
        let owner = bob.id
        #expect(running.client().publish(publication) == .stored)
        let stranger = running.client()
        for key in publication.oneTimePreKeys[..<2] {
            #expect(stranger.claimWithoutWork(owner) == (try publication.bundle(oneTime: key)))
        }
        let empty = try publication.bundle(oneTime: nil)
        for _ in 0..<20 { #expect(stranger.claimWithoutWork(owner) == empty) }
        // The same claim succeeds after the proof, which counts once.
        let id = Envelope.newID()
        #expect(stranger.claimWithoutWork(owner, id) == empty)
        #expect(stranger.doWork())
        let third = try publication.bundle(oneTime: publication.oneTimePreKeys[2])
        #expect(stranger.claimWithoutWork(owner, id) == third)
        #expect(stranger.claimWithoutWork(owner) == empty)
        #expect(running.client().claimWithoutWork(owner, id) == third)
        // The client does it, until none is left; then the answer is the same.
        let relay = try url(running)
        for key in publication.oneTimePreKeys[3...] {
            #expect(
                try PreKeyClaim(owner: owner, id: Envelope.newID()).run(at: relay)
                    == publication.bundle(oneTime: key))
        }
        #expect(try PreKeyClaim(owner: owner, id: Envelope.newID()).run(at: relay) == empty)
        #expect(stranger.claimWithoutWork(owner) == empty)
    }

    /// The relay learns the addresses of an owner from the logins on one connection.
    @Test func anAddressGetsTheLastPrekeys() throws {
        let running = try RunningRelay { $0.surgeBits = 30 }
        let relay = try url(running)
        let (address, other) = (Sample.identity(), Sample.identity())
        let publication = Sample.preKeys(of: bob, oneTime: 1..<3)
        #expect(running.client().publish(publication) == .stored)
        func claim(_ address: Identity?) throws -> UInt32? {
            try PreKeyClaim(owner: bob.id, id: Envelope.newID(), address: address?.id)
                .run(at: relay).oneTimePreKey?.id
        }
        #expect(try claim(address) == nil)
        let owner = running.client()
        guard case .session = owner.login(bob), case .session = owner.login(address) else {
            Issue.record("no login")
            return
        }
        for foreign in [nil, other, bob] { #expect(try claim(foreign) == nil) }
        #expect(try claim(address) == 1)
        // It is no address of another owner.
        let third = Sample.preKeys(of: other, oneTime: 1..<3)
        #expect(running.client().publish(third) == .stored)
        #expect(
            try PreKeyClaim(owner: other.id, id: Envelope.newID(), address: address.id)
                .run(at: relay).oneTimePreKey == nil)
    }

    @Test func aLostClaimIsRetriedWithTheSameID() throws {
        let publication = Sample.preKeys(of: bob, oneTime: 1..<2)
        let bundle = try publication.bundle(oneTime: publication.oneTimePreKeys[0])
        let relay = try FakeRelay([
            nil, .error(Refusal(.busy)), .bundle(bundle.record.serialized()),
        ])
        let claim = PreKeyClaim(owner: bob.id, id: Envelope.newID())
        #expect(try claim.run(at: relay.url) == bundle)
        let request = Request.claim(owner: bob.id, id: claim.id)
        #expect(try relay.requests() == [request, request, request])
    }

    @Test func aForgedBundleIsRefused() throws {
        let other = Sample.preKeys(of: Sample.identity(), oneTime: 1..<1)
        var forged = try Sample.preKeys(of: bob, oneTime: 1..<1).bundle(oneTime: nil).record
        forged["signedPreKey"] = other.record["signedPreKey"]
        for record in [try other.bundle(oneTime: nil).record, forged] {
            let relay = try FakeRelay([.bundle(record.serialized())])
            #expect(throws: ClientError.forgedBundle(relay: relay.url.description)) {
                try PreKeyClaim(owner: bob.id, id: Envelope.newID()).run(at: relay.url)
            }
        }
    }

    @Test func anUnreachableRelayTimesOut() throws {
        let relay = try FakeRelay([nil])
        do throws(ClientError) {
            _ = try PreKeyClaim(owner: bob.id, id: Envelope.newID()).run(at: relay.url, timeout: 0)
            Issue.record("a bundle from nowhere")
        } catch {
            #expect(error.isTransient && error.failure.status == .unavailable)
        }
    }

    @Test func aLinkPublishes() throws {
        let running = try RunningRelay()
        let relay = try url(running)
        let events = EventQueue<RelayLink.Event>()
        let group = RelayLink.makeGroup()
        let link = try RelayLink.open(to: relay, group: group, events: events, timeout: 10)
        var others: [RelayLink.Event] = []
        let publication = Sample.preKeys(of: bob, oneTime: 1..<3)
        for number in 0..<2 {
            try link.publish(
                publication, requestID: "\(number)", at: relay, events: events, others: &others)
        }
        #expect(others.isEmpty)
        #expect(running.client().claim(bob.id)?.oneTimePreKey == publication.oneTimePreKeys[0])
        link.close()
    }
}

/// `send` with prekeys.
@Suite struct PreKeyProgramTests {
    let store = TemporaryDirectory()

    @Test func sendTakesPrekeysAndEnvelopes() throws {
        let relay = try #require(RelayProcess(store))
        let world = World(address: relay.address)
        let ids = world.envelopes("envelopes", 2)
        let publication = Sample.preKeys(of: world.bob, oneTime: 1..<14)
        let envelopes = TemporaryDirectory.contents(world.scratch("envelopes"))
        world.scratch.write(
            "in", publication.record.serialized() + [0x0A] + envelopes)
        #expect(world.run("send", input: "in", output: "results") == 0)
        #expect(world.ids("results") == [world.bob.id.description] + ids)
        #expect(world.statuses("results") == ["stored", "stored", "stored"])
        let record = try JSON.object(parsing: Array(world.scratch.lines("results")[0].utf8))
        #expect(record["to"] == nil)
        #expect(
            RawClient(relay.address).claim(world.bob.id)?.oneTimePreKey
                == publication.oneTimePreKeys[0])
        relay.command.kill(SIGTERM)
        #expect(relay.command.wait() == 0)
        // Without a relay they are queued like envelopes, and the next send delivers them.
        let newer = Sample.preKeys(of: world.bob, signed: 2, oneTime: 14..<15)
        world.scratch.write("newer", newer.record.serialized() + [0x0A])
        #expect(world.run("send", input: "newer", output: "queued") == 75)
        #expect(world.statuses("queued") == ["queued"])
        let again = try #require(RelayProcess(store, listen: relay.address))
        #expect(world.run("send", output: "later") == 0)
        #expect(world.statuses("later") == ["stored"])
        #expect(
            RawClient(again.address).claim(world.bob.id)
                == (try newer.bundle(oneTime: publication.oneTimePreKeys[1])))
        again.command.kill(SIGTERM)
        #expect(again.command.wait() == 0)
    }

    @Test func badPrekeysAreErrorRecords() throws {
        let relay = try #require(RelayProcess(store))
        let world = World(address: relay.address)
        var record = Sample.preKeys(of: world.bob, oneTime: 1..<4).record
        let good = record.serialized()
        record["more"] = .integer(1)
        world.scratch.write("forged", record.serialized() + [0x0A])
        #expect(world.run("send", input: "forged", output: "a") == 11)
        #expect(world.scratch.lines("a").count == 1)
        record["signedPreKey"] = nil
        world.scratch.write("half", Array("{\"v\":1,\"type\":\"prekeys\"}\n".utf8))
        #expect(world.run("send", input: "half") == 65)
        world.scratch.write(
            "mixed",
            Array("{\"v\":1,\"type\":\"prekeys\"}\n".utf8) + good + [0x0A])
        #expect(world.run("send", input: "mixed") == 15)
        relay.command.kill(SIGTERM)
        #expect(relay.command.wait() == 0)
    }
}
