import Sotto
import SottoClient
import SottoState
import SottoTool
import SottoWire
import Synchronization

/// Reads stdin on a separate thread and passes the available lines to the deliveries together: fast input shares a
/// commit, and slow input is not delayed.
final class EnvelopeLines: Sendable {
    private let deliveries: Deliveries
    private let choice: RelayChoice
    private let failures = Mutex<[(line: Int, failure: Failure)]>([])
    private let ended = Mutex<Failure?>(nil)
    private let posted = Mutex<[JSONObject]>([])

    private static let batchCount = 1_000
    private static let batchBytes = 4 << 20

    init(deliveries: Deliveries, choice: RelayChoice) {
        self.deliveries = deliveries
        self.choice = choice
    }

    /// Returns the lines that failed since the last call.
    func takeFailures() -> [(line: Int, failure: Failure)] {
        failures.withLock { failures in
            defer { failures = [] }
            return failures
        }
    }

    /// Returns the results of the messages of meetings since the last call.
    func takePosted() -> [JSONObject] {
        posted.withLock { posted in
            defer { posted = [] }
            return posted
        }
    }

    /// The error that ended reading; `nil` at the end of the input.
    var inputFailure: Failure? { ended.withLock { $0 } }

    /// Reads until the end of the input.
    func read() {
        var hasLines = true
        do {
            hasLines = try readLines()
        } catch {
            end(error)
        }
        do throws(StateError) {
            try deliveries.finish(withRest: !hasLines)
        } catch {
            end(error)
        }
    }

    private func end(_ error: any Error) {
        let failure =
            (error as? Failure) ?? Failure(core: error)
            ?? Failure(.bug, "unexpected error while reading")
        ended.withLock { $0 = $0 ?? failure }
    }

    /// Lines that share a commit: their items by relay, in order.
    private struct Batch {
        var items: [RelayURL: [Outbox.Item]] = [:]
        var lines: [RelayURL: [Int]] = [:]
        var relays: [RelayURL] = []
        /// The items without a relay, which are kept, and their lines.
        var unassigned: [(item: Outbox.Item, failure: Failure, line: Int)] = []
        var count = 0
        var bytes = 0

        mutating func keep(_ item: Outbox.Item, _ failure: Failure, line: Int) {
            unassigned.append((item, failure, line))
            count += 1
            bytes += item.envelope.count
        }

        mutating func add(_ item: Outbox.Item, to relay: RelayURL, line: Int) {
            if items[relay] == nil { relays.append(relay) }
            items[relay, default: []].append(item)
            lines[relay, default: []].append(line)
            count += 1
            bytes += item.envelope.count
        }
    }

    /// Reads the lines. Returns whether the input had any.
    private func readLines() throws -> Bool {
        let source = PeekingSource(try Input(path: nil))
        try source.skipByteOrderMark()
        try InputKind.check(
            try source.peek(upTo: InputKind.size) {
                $0.contains { ![0x09, 0x0A, 0x0D, 0x20].contains($0) }
            })
        // White space may make a line longer than its envelope.
        var reader = LineReader(source, limit: 2 * WireLimits.envelopeBytes)
        var hasLines = false
        var batch = Batch()
        while let line = try reader.next() {
            if case .line(let bytes) = line, bytes.allSatisfy({ $0 <= 0x20 }) { continue }
            hasLines = true
            let record = Self.record(line)
            if case .success(let record) = record, record["type"]?.string == MeetingRecord.type {
                do { try post(record) } catch {
                    try submit(batch)
                    throw error
                }
                continue
            }
            switch record.flatMap(item) {
            case .success((let item, .relay(let relay))):
                batch.add(item, to: relay, line: reader.number)
            case .success((let item, .missing(let failure))):
                batch.keep(item, failure, line: reader.number)
            case .failure(let failure): note(failure, reader.number)
            }
            if try reader.mustWait() || batch.count >= Self.batchCount
                || batch.bytes >= Self.batchBytes
            {
                try submit(batch)
                batch = Batch()
            }
        }
        try submit(batch)
        return hasLines
    }

    /// Puts a message of a meeting into its place. It is not stored here: it has no use after the meeting. A failure ends
    /// the input, because both sides would wait for the message in vain.
    private func post(_ record: JSONObject) throws {
        let meeting: MeetingRecord
        do throws(FieldError) { meeting = try MeetingRecord(record) } catch {
            throw Failure(.malformed, "the record of the meeting is malformed")
        }
        let relay = try choice.relay(noted: meeting.relay)
        guard let post = MeetingPost(meeting, at: relay) else {
            throw Failure(
                .malformed, "the record only names the place of a meeting",
                hint:
                    "to make the messages: sotto recv --meeting new | sotto contact meet | sotto send"
            )
        }
        try post.run()
        posted.withLock {
            $0.append([
                "v": .integer(1), "type": .string("result"),
                "id": .string(String(meeting.number)), "status": .string("stored"),
                "relay": .string(relay.description),
            ])
        }
        deliveries.wake()
    }

    private func note(_ failure: Failure, _ line: Int) {
        let count = failures.withLock { failures in
            failures.append((line, failure))
            return failures.count
        }
        if count >= Self.batchCount { deliveries.wake() }
    }

    private func submit(_ batch: Batch) throws {
        if !batch.unassigned.isEmpty {
            try deliveries.keep(batch.unassigned.map(\.item))
            // They are on disk before the failures are printed.
            for kept in batch.unassigned { note(kept.failure, kept.line) }
        }
        for relay in batch.relays {
            guard let items = batch.items[relay] else { continue }
            if try deliveries.submit(items, to: relay) { continue }
            for line in batch.lines[relay] ?? [] {
                note(
                    Failure(
                        .tryAgain,
                        "more than \(Deliveries.relayLimit) relays in one run; the envelope is queued",
                        hint: "to try again: sotto send < /dev/null"), line)
            }
        }
        if failures.withLock({ !$0.isEmpty }) { deliveries.wake() }
    }

    private static let tooLong = Failure(
        .malformed, "the line is longer than \(WireLimits.envelopeBytes) bytes")

    private static func record(_ line: LineReader.Line) -> Result<JSONObject, Failure> {
        guard case .line(let bytes) = line else { return .failure(tooLong) }
        let record: JSONObject
        do throws(JSONError) {
            record = try JSON.object(parsing: bytes)
        } catch {
            return .failure(Failure(core: error) ?? Failure(.malformed, "not JSON"))
        }
        if let failure = Failure(errorRecord: record) { return .failure(failure) }
        return .success(record)
    }

    /// The relay of an item. Without one, the item is kept and the line fails.
    private enum Place {
        case relay(RelayURL)
        case missing(Failure)
    }

    /// Returns the item of a record, and its relay.
    private func item(
        _ record: JSONObject
    ) -> Result<(item: Outbox.Item, place: Place), Failure> {
        let read: (item: Outbox.Item, noted: String?)
        do throws(Reason) {
            read = try Self.read(record)
        } catch .tooLarge {
            return .failure(Self.tooLong)
        } catch .badSignature {
            return .failure(
                Failure(.authentication, "the record is not signed by its owner"))
        } catch  where record["type"]?.string == "room" {
            return .failure(Failure(.malformed, "the record of the room is malformed"))
        } catch  where record["type"]?.string == "new_message" {
            return .failure(
                Failure(
                    .malformed,
                    "the message is malformed, or does not name both sides by the ids of their keys"
                ))
        } catch {
            return .failure(
                OwnersRecord.isOne(record)
                    ? Failure(
                        .malformed, "the card is not for the directory",
                        hint:
                            "use a card made with sotto keygen public; cards made with sotto contact address are private"
                    )
                    : Failure(
                        .malformed, "not an envelope, prekeys, a card or a room",
                        hint: record["body"] == nil
                            ? nil : "a message is encrypted first: sotto encrypt"))
        }
        do throws(RelayAddressError) {
            return .success((read.item, .relay(try choice.relay(noted: read.noted))))
        } catch {
            guard error != .missing, read.noted != nil else {
                let message = "no relay is given, and the record does not name one"
                // A publication can be printed again, and a later one replaces it.
                guard [.envelope, .blob].contains(read.item.kind) else {
                    return .failure(Failure(.configuration, message, hint: error.failure.hint))
                }
                let kept = Failure(
                    .configuration, message + "; the envelope is queued",
                    hint: "to send it: sotto send --relay tcp://host:port < /dev/null")
                return .success((read.item, .missing(kept)))
            }
            return .failure(
                Failure(
                    .malformed,
                    "the record names a relay that cannot be used: \(error.failure.message)",
                    hint: "give the relay with --relay"))
        }
    }

    /// Parses a record and the relay that it names. In an envelope the relay and the blob are only for `send`, which
    /// removes them; in a publication the relay is signed by the owner.
    private static func read(
        _ record: JSONObject
    ) throws(Reason) -> (item: Outbox.Item, noted: String?) {
        let noted = record["relay"]?.string
        guard record["relay"] == nil || noted != nil else { throw .badFields }
        if record["type"]?.string == "prekeys" {
            let published = try PublishedPreKeys(record)
            let owner = published.publication.owner.description
            return (
                Outbox.Item(id: owner, to: owner, envelope: published.bytes, kind: .prekeys), noted
            )
        }
        if OwnersRecord.isOne(record) {
            let read = try OwnersRecord(record)
            let owner = read.id.description
            return (Outbox.Item(id: owner, to: owner, envelope: read.bytes, kind: .record), noted)
        }
        if record["type"]?.string == BlobRecord.type {
            let blob: BlobRecord
            do throws(FieldError) { blob = try BlobRecord(record) } catch { throw .badFields }
            return (
                Outbox.Item(
                    id: blob.name, to: blob.to.description, envelope: record.serialized(),
                    kind: .blob), noted
            )
        }
        if let envelope = try? FlowWire.envelope(of: record) {
            return (
                Outbox.Item(id: envelope.id, to: envelope.to.description, envelope: envelope.bytes),
                noted
            )
        }
        var record = record
        let blob = record["blob"]?.string
        guard record["blob"] == nil || blob.flatMap({ bytes(hex: $0)?.count }) == 32 else {
            throw .badFields
        }
        record["relay"] = nil
        record["blob"] = nil
        let envelope = try AddressedEnvelope(record)
        return (
            Outbox.Item(
                id: envelope.id, to: envelope.to.description, envelope: envelope.bytes,
                kind: envelope.ttl == 0 ? .signal : .envelope,
                expires: envelope.ttl.map { Timestamp(seconds: Timestamp.now().seconds + $0) },
                needs: blob),
            noted
        )
    }
}
