import Dispatch
import Glibc
import Sotto
import SottoWire
import Synchronization
import TestSupport
import Testing

@testable import SottoClient
@testable import SottoServer
@testable import SottoState

/// A relay that answers each request with a closure, one connection after another.
private final class AnsweringRelay: Sendable {
    let url: RelayURL
    private let listener: Int32
    private let asked = Mutex<[Request]>([])

    init(_ answer: @escaping @Sendable (Request) -> Response) {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var name = HTTP.loopback(0)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = bind(listener, $0, size)
                _ = listen(listener, 8)
                _ = getsockname(listener, $0, &size)
            }
        }
        self.listener = listener
        url = RelayURL(host: "127.0.0.1", port: InternetSocket.port(of: listener))
        DispatchQueue(label: "answering relay").async { [weak self] in
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { return }
                defer { close(connection) }
                var line: [UInt8] = []
                var byte: UInt8 = 0
                while read(connection, &byte, 1) == 1 {
                    guard byte == 0x0A else {
                        line.append(byte)
                        continue
                    }
                    guard let frame = try? Frame(parsing: line), let request = try? Request(frame)
                    else { break }
                    line = []
                    self?.asked.withLock { $0.append(request) }
                    let reply = answer(request).line(requestID: frame.requestID)
                    _ = send(connection, reply, reply.count, Int32(MSG_NOSIGNAL))
                }
            }
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    var requests: [Request] { asked.withLock { $0 } }
}

/// The claims in advance of `recv`.
@Suite struct BundleStockTests {
    let scratch = TemporaryDirectory()
    let store: IdentityStore

    init() throws {
        store = try IdentityStore(
            directory: StateDirectory(path: scratch.path), identity: Sample.identity(),
            lockTimeout: 5)
    }

    /// Makes contacts with a relay.
    private func contacts(_ count: Int, at relay: RelayURL) throws -> [Identity] {
        let people = (0..<count).map { _ in Sample.identity() }
        try store.transaction { state in
            for (number, person) in people.enumerated() {
                try state.save(
                    Contact(
                        name: "contact \(number)", id: person.id,
                        card: person.card(relay: relay.description)))
            }
        }
        return people
    }

    private func bundles(of people: [Identity]) throws -> [PreKeyBundle] {
        try store.preview { state in
            try people.compactMap { try state.freshBundle(of: $0.id) }
        }
    }

    @Test func manyContactsAreClaimedInBatches() throws {
        let running = try RunningRelay()
        let people = try contacts(150, at: RelayURL(name: running.relay.address))
        let client = running.client()
        for person in people.dropLast() {
            #expect(client.publish(Sample.preKeys(of: person, oneTime: 1..<21)) == .stored)
        }
        try BundleStock(store, authorities: nil).fill(within: 60)
        let bundles = try bundles(of: people)
        #expect(bundles.map(\.owner) == people.dropLast().map(\.id))
        #expect(bundles.allSatisfy { $0.oneTimePreKey?.id == 1 })
        #expect(try store.preview { try $0.bundleWishes() }.isEmpty)
    }

    /// A relay that removes the signature over both prekeys is named, and its bundle is not kept.
    @Test func aStrippedBundleIsReported() throws {
        let line = Mutex<[UInt8]?>(nil)
        let relay = AnsweringRelay { request in
            guard case .claims = request else { return .error(Refusal(.unknownType)) }
            return .bundles([line.withLock { $0 }])
        }
        let person = try #require(try contacts(1, at: relay.url).first)
        let owner = try IdentityStore(
            directory: StateDirectory(path: scratch.path), identity: person, lockTimeout: 5)
        let publication = try owner.transaction { try $0.publication() }
        var record = try publication.bundle(oneTime: nil).record
        let whole = try PreKeyBundle(record: record)
        #expect(whole.pairSignature != nil)
        let isKept = try store.transaction { state in
            let isKept = try state.keep(whole)
            try state.forgetBundle(of: person.id)
            return isKept
        }
        #expect(isKept)
        record["pairSignature"] = nil
        line.withLock { $0 = record.serialized() }
        let reported = Mutex<[String]>([])
        try BundleStock(store, authorities: nil) { owner, relay in
            reported.withLock { $0.append("\(owner) \(relay)") }
        }.fill(within: 10)
        #expect(reported.withLock { $0 } == ["\(person.id) \(relay.url)"])
        #expect(try bundles(of: [person]).isEmpty)
    }

    @Test func forgedBundlesOfABatchAreOmitted() throws {
        let bundles = Mutex<[KeyID: [UInt8]]>([:])
        let relay = AnsweringRelay { request in
            guard case .claims(let claims) = request else { return .error(Refusal(.unknownType)) }
            var lines = claims.map { claim in bundles.withLock { $0[claim.owner] } }
            lines.swapAt(0, 1)
            return .bundles(lines)
        }
        let people = try contacts(4, at: relay.url)
        for person in people {
            let bundle = try Sample.preKeys(of: person, oneTime: 1..<1).bundle(oneTime: nil)
            bundles.withLock { $0[person.id] = bundle.record.serialized() }
        }
        try BundleStock(store, authorities: nil).fill(within: 60)
        #expect(try self.bundles(of: people).count == 2)
        #expect(relay.requests.count == 1)
    }

    /// A relay with too many claims gets no more of them in this search.
    @Test func aBusyRelayIsLeftAlone() throws {
        let relay = AnsweringRelay { _ in .error(Refusal(.busy)) }
        let people = try contacts(WireLimits.claimCount + 5, at: relay.url)
        try BundleStock(store, authorities: nil).fill(within: 60)
        #expect(try bundles(of: people).isEmpty)
        #expect(relay.requests.count == 1)
    }
}
