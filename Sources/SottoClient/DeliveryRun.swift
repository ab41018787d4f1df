import Dispatch
import Glibc
import NIOPosix
import Sotto
import SottoDatabase
import SottoState
import SottoWire

extension Delivery {
    /// Performs the effects of a ``DeliveryState`` on the outbox, the connection and the uploads.
    struct Run {
        private let delivery: Delivery
        private let group: MultiThreadedEventLoopGroup
        private var state: DeliveryState
        private var link: RelayLink?
        private let uploads: UploadWorker
        /// Removes the files of blobs: a long file takes some time.
        private let removal: DispatchQueue

        init(delivery: Delivery, group: MultiThreadedEventLoopGroup) {
            self.delivery = delivery
            self.group = group
            state = DeliveryState(
                to: delivery.relay.description, hasBlobs: delivery.blobs != nil,
                lockTimeout: delivery.lockTimeout, patience: delivery.patience)
            uploads = UploadWorker(delivery, group)
            removal = DispatchQueue(label: "send.removal.\(delivery.queue)")
        }

        /// Runs to the end. An error of the outbox is the error of the ending.
        mutating func run(_ report: ([DeliveryResult]) throws -> Void) throws -> Ending {
            defer {
                link?.close()
                removal.sync {}
            }
            do {
                while true {
                    let timeout = state.timeout(at: Monotonic.seconds())
                    let events = delivery.events.take(timeout: timeout)
                    state.beginTurn()
                    state.uploads.lastProgress = uploads.lastProgress
                    for event in events { take(event) }
                    if let ending = try performAll(report) { return ending }
                }
            } catch let error as StateError {
                return try end(after: error, report)
            }
        }

        /// Passes an event on to the state.
        private mutating func take(_ event: Event) {
            let now = Monotonic.seconds()
            switch event {
            case .items(let items): state.take(.given(items), at: now)
            case .stored(let items): state.take(.stored(items), at: now)
            case .other: state.take(.other, at: now)
            case .end: state.take(.end, at: now)
            case .uploaded(let number, let ending): state.take(.uploaded(number, ending), at: now)
            case .connected(.failure(let error), let generation):
                state.take(.failed(error, generation: generation), at: now)
            case .connected(.success(let new), let generation):
                state.take(.connected(generation: generation), at: now)
                // It may have ended already.
                guard state.isOpen(generation) else { return new.close() }
                link = new
            case .link(.closed(let error), let generation):
                state.take(.closed(error, generation: generation), at: now)
            case .link(.response(let response, let requestID), let generation):
                state.take(
                    .response(response, requestID: requestID, generation: generation), at: now)
            }
        }

        /// Performs effects until none is due. Returns the ending after the last one.
        private mutating func performAll(
            _ report: ([DeliveryResult]) throws -> Void
        ) throws -> Ending? {
            while true {
                let effects = state.effects(at: Monotonic.seconds())
                guard !effects.isEmpty else { return nil }
                for effect in effects {
                    switch effect {
                    case .report(let results): try report(results)
                    case .end(let ending):
                        try delivery.outbox.release(relay: delivery.queue)
                        delivery.lock.unlock()
                        return ending
                    default:
                        if let result = try perform(effect) {
                            state.take(result, at: Monotonic.seconds())
                        }
                    }
                }
            }
        }

        /// Performs an effect, and returns its result if it has one.
        private mutating func perform(
            _ effect: DeliveryEffect
        ) throws(StateError) -> DeliveryEvent? {
            switch effect {
            case .lock: return .locked(delivery.lock.tryLock())
            case .unlock: delivery.lock.unlock()
            case .admit(let count): for _ in 0..<count { delivery.room.signal() }
            case .solve(let response):
                delivery.solving()
                return .solved(Request.solution(of: response))
            case .connect(let generation): connect(generation)
            case .write(let lines): link?.write(lines)
            case .close:
                link?.close()
                link = nil
            case .upload(let number, let item): upload(number, item)
            case .retryUploads: uploads.forgetFailure()
            case .removeFile(let blob): removeFile(blob)
            case .report, .end: break
            default: return try ask(effect)
            }
            return nil
        }

        /// Performs an effect on the outbox.
        private func ask(_ effect: DeliveryEffect) throws(StateError) -> DeliveryEvent? {
            let (outbox, queue) = (delivery.outbox, delivery.queue)
            switch effect {
            case .append(let items):
                let numbers = try outbox.append(items, relay: queue)
                return .stored(Array(zip(numbers, items)))
            case .record(let outcomes): try outbox.settle(outcomes)
            case .look(let number, let blobs):
                return .looked(
                    isWaiting: try !outbox.waiting(relay: queue, after: number, limit: 1).isEmpty,
                    blobs: blobs > 0 ? try outbox.blobs(relay: queue, limit: blobs) : [])
            case .read(let number, let limit):
                let last = try outbox.lastNumber()
                return .read(
                    try outbox.waiting(relay: queue, after: number, limit: limit), last: last,
                    limit: limit)
            case .readBlobs(let limit):
                return .blobs(try outbox.blobs(relay: queue, limit: limit))
            case .readReleased(let blob):
                return .released(try outbox.items(needing: blob, relay: queue))
            case .readDependents(let blob, let refusal):
                return .refused(try outbox.items(needing: blob, relay: nil), refusal)
            case .readNumbers: return .numbers(try outbox.numbers(relay: queue))
            case .readFirst(let limit):
                return .first(
                    try outbox.waiting(relay: queue, after: 0, limit: limit).map(\.number))
            case .collect(let isLast):
                return .collected(
                    try outbox.collect(relay: queue),
                    left: isLast ? try outbox.count(relay: queue) : 0)
            case .askWaits:
                guard let waits = delivery.waits else { return .waits(false) }
                let relays = try outbox.relaysOfBlobs(neededAt: queue)
                return .waits(!relays.isEmpty && waits(relays))
            default: break
            }
            return nil
        }

        private func connect(_ generation: Int) {
            let events = delivery.events
            RelayLink.connect(
                to: delivery.relay, group: group, within: delivery.patience.connection
            ) {
                events.put(.link($0, generation: generation))
            } isFull: {
                events.isFull
            } done: {
                events.put(.connected($0, generation: generation))
            }
        }

        private func upload(_ number: Int64, _ item: Outbox.Item) {
            guard let object = try? JSON.object(parsing: item.envelope),
                let record = try? BlobRecord(object), let blobs = delivery.blobs
            else {
                // The others are uploaded all the same.
                return delivery.events.put(.uploaded(number, .rejected(Refusal(.badFields))))
            }
            uploads.upload(number, record, blobs.outgoing(record.id), for: delivery)
        }

        private func removeFile(_ blob: String) {
            guard let id = bytes(hex: blob), let path = delivery.blobs?.outgoing(id) else { return }
            removal.async { unlink(path) }
        }

        /// Ends the run after an error of the outbox. The items that are still added are kept in the outbox if it takes them.
        private func end(
            after error: StateError, _ report: ([DeliveryResult]) throws -> Void
        ) throws -> Ending {
            let relay = delivery.relay.description
            func tell(_ items: [Outbox.Item]) throws {
                try report(
                    items.map {
                        DeliveryResult($0, $0.kind == .signal ? .dropped : .queued, relay: relay)
                    })
            }
            for _ in 0..<state.heldBatches { delivery.room.signal() }
            try tell(state.unfinished)
            var hasEnded = state.inputEnded
            while !hasEnded {
                for event in delivery.events.take(timeout: nil) {
                    switch event {
                    case .items(let items):
                        delivery.room.signal()
                        let kept = items.filter { $0.kind != .signal }
                        guard (try? delivery.outbox.append(kept, relay: delivery.queue)) != nil
                        else { continue }
                        try tell(items)
                    case .end: hasEnded = true
                    case .stored(let items): try tell(items.map(\.item))
                    case .other, .connected, .link, .uploaded: break
                    }
                }
            }
            try? delivery.outbox.release(relay: delivery.queue)
            delivery.lock.unlock()
            let left = (try? delivery.outbox.count(relay: delivery.queue)) ?? 0
            return Ending(left: left, error: .state(error))
        }
    }
}
