import Sotto
import SottoDatabase
import SottoProgram
import SottoWire
import Synchronization
import TestSupport
import Testing

@testable import SottoClient
@testable import SottoState

/// Relays that answer over HTTP as no relay does.
@Suite(.timeLimit(.minutes(60))) struct HostileHTTPTests {
    let scratch = TemporaryDirectory()

    private func directory() throws -> StateDirectory { try StateDirectory(path: scratch.path) }

    /// Only a response with the status 200 stores a message: another server, or a proxy, can have any body.
    @Test(arguments: [201, 204, 302, 404, 500]) func onlyTheStatus200Stores(_ status: Int) throws {
        let relay = HostileRelay { connection in
            connection.answerHTTP { _ in (status, .stored) }
        }
        let deliveries = Deliveries(
            outbox: try Outbox(directory: directory(), lockTimeout: 5),
            choice: try RelayChoice(nil), lockTimeout: 5, blobs: nil,
            patience: Delivery.Patience(connection: 5, reply: 5), progress: { _, _, _ in })
        let recipient = Sample.identityID()
        let id = Envelope.newID()
        let item = Outbox.Item(
            id: id, to: recipient.description,
            envelope: Sample.record(id, to: recipient).serialized())
        #expect(try deliveries.submit([item], to: relay.url("http")))
        try deliveries.finish(withRest: true)
        let results = Mutex<[DeliveryResult.Status]>([])
        let endings = try deliveries.run { batch in
            results.withLock { $0 += batch.map(\.status) }
        }
        #expect(results.withLock { $0 } == [.queued])
        #expect(endings.first?.ending.left == 1 && endings.first?.ending.error != nil)
    }

    /// An upload goes on only inside the blob, and where the relay says that it lacks the rest. Other answers store nothing.
    @Test(arguments: [(500, 4_096), (404, 4_096), (404, 9_000), (404, -1), (302, 0)])
    func onlyAcceptedPiecesStoreABlob(_ status: Int, _ offset: Int) throws {
        let relay = HostileRelay { connection in
            while let line = connection.line() {
                guard line == [0x0D] else { continue }
                let head = "HTTP/1.1 \(status) X\r\nUpload-Offset: \(offset)\r\n\r\n"
                guard connection.write(Array(head.utf8)) else { return }
            }
        }
        let bytes = randomBytes(4_096)
        scratch.write("blob", bytes)
        let record = BlobRecord(
            id: randomBytes(32), to: Sample.identityID(), size: 4_096, digest: sha256(bytes),
            relay: nil)
        let uploader = BlobUploader(to: try relay.url(), group: RelayLink.makeGroup())
        let ending = uploader.upload(record, from: scratch("blob")) { _ in }
        if case .stored = ending { Issue.record("nothing was stored") }
    }

    /// What a relay answers to a request for envelopes.
    enum Answer: CaseIterable, Sendable {
        /// The same envelopes again and again.
        case same
        /// None, although more follow.
        case nothing
        /// Others with the same number.
        case sameNumber
        /// A number below 1.
        case negative
        /// Envelopes with a status of an error.
        case failed
    }

    /// An answer without a higher number is no progress. `recv` asked for ever, while more envelopes seemed to follow.
    @Test(arguments: Answer.allCases) func aRelayThatRepeatsItselfIsNoRelay(_ answer: Answer) throws
    {
        let owner = Sample.identity()
        let store = try IdentityStore(directory: directory(), identity: owner, lockTimeout: 5)
        @Sendable func delivered(_ number: Int64) -> Delivered {
            Delivered(
                sequence: number,
                envelope: Sample.record(Envelope.newID(), to: owner.id).serialized())
        }
        let first = (1...3).map { delivered($0) }
        let name = Mutex("")
        let relay = HostileRelay { connection in
            connection.answerHTTP { request in
                switch request {
                case .challenge:
                    (200, .challenge(nonce: randomBytes(32), names: [name.withLock { $0 }]))
                case .login: (200, .session(nil, token: "token"))
                case .ack: (200, .acked)
                case .fetch:
                    switch answer {
                    case .same: (200, .messages(first, more: true))
                    case .nothing: (200, .messages([], more: true))
                    case .sameNumber: (200, .messages([delivered(1)], more: true))
                    case .negative: (200, .messages([delivered(-5)], more: true))
                    case .failed: (500, .messages(first, more: false))
                    }
                default: (400, .error(Refusal(.unknownType)))
                }
            }
        }
        name.withLock { $0 = relay.address }
        let reception = Reception(identity: owner, relay: try relay.url("http"), store: store)
        let ending = try reception.run(.print { _ in })
        #expect(ending.error == .notARelay(relay: reception.relay.description))
        #expect(ending.received == (answer == .same ? 3 : answer == .sameNumber ? 1 : 0))
    }
}
