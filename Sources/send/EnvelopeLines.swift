import Sotto
import SottoClient
import SottoState
import SottoTool
import SottoWire
import Synchronization

/// Reads stdin on a thread of its own and gives the delivery whatever lines are there at once: fast input
/// shares a commit, and slow input does not wait for more.
final class EnvelopeLines: Sendable {
    private let delivery: Delivery
    private let failures = Mutex<[(line: Int, failure: Failure)]>([])
    private let ended = Mutex<Failure?>(nil)

    private static let batchCount = 1_000
    private static let batchBytes = 4 << 20

    init(delivery: Delivery) { self.delivery = delivery }

    /// The lines that are no envelopes, since the last call.
    func takeFailures() -> [(line: Int, failure: Failure)] {
        failures.withLock { failures in
            defer { failures = [] }
            return failures
        }
    }

    /// Why reading ended, if not at the input's end.
    var inputFailure: Failure? { ended.withLock { $0 } }

    /// Reads to the end.
    func read() {
        defer { delivery.finish() }
        do {
            try readLines()
        } catch let failure as Failure {
            ended.withLock { $0 = failure }
        } catch {
            ended.withLock { $0 = Failure(.bug, "unexpected error while reading") }
        }
    }

    private func readLines() throws {
        // White space may make a line longer than the envelope on it.
        var reader = LineReader(try Input(path: nil), limit: 2 * WireLimits.envelopeBytes)
        var items: [Outbox.Item] = []
        var bytes = 0
        while let line = try reader.next() {
            if case .line(let bytes) = line, bytes.allSatisfy({ $0 <= 0x20 }) { continue }
            switch Self.item(line) {
            case .success(let item):
                items.append(item)
                bytes += item.envelope.count
            case .failure(let failure):
                let number = reader.number
                failures.withLock { $0.append((number, failure)) }
            }
            if try reader.mustWait() || items.count >= Self.batchCount || bytes >= Self.batchBytes {
                delivery.submit(items)
                (items, bytes) = ([], 0)
            }
        }
        delivery.submit(items)
    }

    private static func item(_ line: LineReader.Line) -> Result<Outbox.Item, Failure> {
        let tooLong = Failure(
            .malformed, "the line is longer than \(WireLimits.envelopeBytes) bytes")
        guard case .line(let bytes) = line else { return .failure(tooLong) }
        let record: JSONObject
        do throws(JSONError) {
            record = try JSON.object(parsing: bytes)
        } catch {
            return .failure(Failure(core: error) ?? Failure(.malformed, "not JSON"))
        }
        if let failure = Failure(errorRecord: record) { return .failure(failure) }
        do throws(Reason) {
            return .success(try item(record))
        } catch .tooLarge {
            return .failure(tooLong)
        } catch .badSignature {
            return .failure(
                Failure(.authentication, "a record that is not signed by its owner"))
        } catch {
            return .failure(
                OwnersRecord.isOne(record)
                    ? Failure(
                        .malformed, "not a card for the directory",
                        hint:
                            "make it anew with keygen public; cards of contact address stay private"
                    )
                    : Failure(
                        .malformed, "not an envelope, prekeys or a card"))
        }
    }

    private static func item(_ record: JSONObject) throws(Reason) -> Outbox.Item {
        if record["type"]?.string == "prekeys" {
            let published = try PublishedPreKeys(record)
            let owner = published.publication.owner.description
            return Outbox.Item(
                id: owner, to: owner, envelope: published.bytes, kind: .prekeys)
        }
        if OwnersRecord.isOne(record) {
            let read = try OwnersRecord(record)
            let owner = read.id.description
            return Outbox.Item(id: owner, to: owner, envelope: read.bytes, kind: .record)
        }
        let envelope = try AddressedEnvelope(record)
        return Outbox.Item(
            id: envelope.id, to: envelope.to.description, envelope: envelope.bytes)
    }
}
