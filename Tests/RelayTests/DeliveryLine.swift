import Sotto
import SottoState
import SottoWire
import TestSupport
import Testing

@testable import SottoClient

/// A ``DeliveryState`` with an outbox in memory, whose connection and time belong to the test.
final class DeliveryLine {
    var state: DeliveryState
    var now = 1_000.0

    /// The outbox: the waiting items by number, and the blobs that wait for other relays.
    var rows: [Int64: Outbox.Item] = [:]
    var blobsElsewhere: Set<String> = []
    private var lastNumber: Int64 = 0
    /// The outcomes that another process recorded.
    var foreignOutcomes: [(number: Int64, outcome: String)] = []
    var isLockedElsewhere = false
    var waitsForOthers = false

    var hasLock = false
    var connections: [Int] = []
    var isConnected = false
    /// The requests on the current connection that the relay has not answered.
    var requests: [(id: String, request: Request)] = []
    var uploads: [(number: Int64, item: Outbox.Item)] = []
    var removedFiles: [String] = []
    var admitted = 0
    var recorded: [Int64: String] = [:]
    private var recordedIDs: Set<String> = []
    var results: [DeliveryResult] = []
    var ending: Delivery.Ending?

    init(hasBlobs: Bool = false, lockTimeout: Double = 5) {
        state = DeliveryState(
            to: "tcp://relay.example:1", hasBlobs: hasBlobs, lockTimeout: lockTimeout)
    }

    /// Adds an item of another process.
    @discardableResult
    func add(_ item: Outbox.Item) -> Int64 {
        lastNumber += 1
        rows[lastNumber] = item
        return lastNumber
    }

    /// Passes events to the state in one turn, and performs the effects.
    func turn(_ events: DeliveryEvent...) {
        state.beginTurn()
        for event in events { state.take(event, at: now) }
        while ending == nil {
            let effects = state.effects(at: now)
            if effects.isEmpty { return }
            for effect in effects { perform(effect) }
        }
    }

    /// Opens the connection that the state asked for.
    func connect() {
        guard let generation = connections.last, state.link == .connecting else { return }
        isConnected = true
        turn(.connected(generation: generation))
    }

    func lose() {
        guard let generation = connections.last else { return }
        turn(.closed(.lost(relay: "relay"), generation: generation))
    }

    /// Answers the first request, or the one with this id.
    func answer(_ response: Response, to id: String? = nil) {
        guard let place = requests.firstIndex(where: { id == nil || $0.id == id }) else {
            Issue.record("no request \(id ?? "")")
            return
        }
        let requestID = requests.remove(at: place).id
        turn(
            .response(response, requestID: requestID, generation: connections.last ?? 0))
    }

    /// The ids of the envelopes that the relay has not answered.
    var sent: [String] {
        requests.compactMap {
            if case .send(let envelope) = $0.request { envelope.id } else { nil }
        }
    }

    func statuses(of id: String) -> [DeliveryResult.Status] {
        results.filter { $0.id == id }.map(\.status)
    }

    private func waiting(after number: Int64) -> [(number: Int64, item: Outbox.Item)] {
        let blobs = Set(rows.values.filter { $0.kind == .blob }.map(\.id)).union(blobsElsewhere)
        return items { item in
            item.kind != .blob && !(item.needs.map { blobs.contains($0) } ?? false)
        }.filter { $0.number > number }
    }

    private func items(
        _ isIncluded: (Outbox.Item) -> Bool
    ) -> [(number: Int64, item: Outbox.Item)] {
        rows.filter { isIncluded($0.value) }.map { (number: $0.key, item: $0.value) }.sorted {
            $0.number < $1.number
        }
    }

    private func perform(_ effect: DeliveryEffect) {
        switch effect {
        case .append(let items):
            state.take(.stored(items.map { (add($0), $0) }), at: now)
        case .record(let outcomes):
            for (number, outcome) in outcomes {
                recorded[number] = outcome
                if let item = rows.removeValue(forKey: number) { recordedIDs.insert(item.id) }
            }
        case .report(let results): report(results)
        case .look(let number, let limit):
            let blobs = items { $0.kind == .blob }.prefix(limit)
            state.take(
                .looked(isWaiting: !waiting(after: number).isEmpty, blobs: Array(blobs)), at: now)
        case .read(let number, let limit):
            #expect(hasLock, "only the holder of the lock reads what it sends")
            state.take(
                .read(
                    Array(waiting(after: number).prefix(limit)), last: lastNumber, limit: limit),
                at: now)
        case .readBlobs(let limit):
            state.take(.blobs(Array(items { $0.kind == .blob }.prefix(limit))), at: now)
        case .readReleased(let blob):
            state.take(.released(items { $0.needs == blob }), at: now)
        case .readDependents(let blob, let refusal):
            state.take(.refused(items { $0.needs == blob }, refusal), at: now)
        case .readNumbers: state.take(.numbers(Set(rows.keys)), at: now)
        case .readFirst(let limit):
            state.take(.first(waiting(after: 0).prefix(limit).map(\.number)), at: now)
        case .collect(let isLast):
            let found = foreignOutcomes
            foreignOutcomes = []
            for (number, _) in found {
                recordedIDs.insert(rows.removeValue(forKey: number)?.id ?? "")
            }
            state.take(.collected(found, left: isLast ? rows.count : 0), at: now)
        case .lock:
            hasLock = !isLockedElsewhere
            state.take(.locked(hasLock), at: now)
        case .unlock: hasLock = false
        case .admit(let count): admitted += count
        case .askWaits: state.take(.waits(waitsForOthers), at: now)
        case .solve(let response): state.take(.solved(Request.solution(of: response)), at: now)
        case .end(let ending):
            hasLock = false
            self.ending = ending
        case .connect(let generation): connections.append(generation)
        case .write(let lines): receive(lines)
        case .close: (isConnected, requests) = (false, [])
        case .upload(let number, let item): uploads.append((number, item))
        case .retryUploads: break
        case .removeFile(let blob):
            #expect(recordedIDs.contains(blob))
            removedFiles.append(blob)
        }
    }

    private func report(_ new: [DeliveryResult]) {
        for result in new {
            switch result.status {
            case .queued, .deferred: break
            case .accepted, .dropped: #expect(result.isSignal || recordedIDs.contains(result.id))
            case .stored, .duplicate, .rejected, .expired, .unknown:
                #expect(recordedIDs.contains(result.id), "reported before it was recorded")
            }
        }
        results += new
    }

    private func receive(_ lines: [UInt8]) {
        guard isConnected else { return }
        for line in lines.split(separator: UInt8(ascii: "\n")) {
            guard let frame = try? Frame(parsing: Array(line)), let request = try? Request(frame),
                let id = frame.requestID
            else {
                Issue.record("not a request")
                continue
            }
            requests.append((id, request))
        }
    }
}
