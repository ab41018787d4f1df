import Dispatch
import Glibc
import NIOPosix
import Sotto
import SottoDatabase
import SottoState
import SottoWire
import Synchronization

extension Delivery {
    /// The uploads of a ``Run``, while envelopes are sent.
    struct Uploads {
        private let delivery: Delivery
        private let worker: Worker
        /// The blobs that the worker has, at most ``mostRunning``.
        private var running: [Int64: Outbox.Item] = [:]
        /// Whether an upload failed and others that the worker has were not ended yet.
        private var isFailing = false
        private var backoff = Backoff()
        private var attemptAt = 0.0
        /// The paths of the files that are not needed once the outcomes are recorded.
        private var finished: [String] = []
        private let removal: DispatchQueue

        /// Whether the outbox may have a blob for the relay.
        var mayWait = true
        /// The error that ended the uploads of this run, or `nil`.
        private(set) var error: ClientError?

        /// Uploads on own threads. Short blobs are distributed over several connections, because the relay writes each to
        /// disk before it answers. Long ones use one connection, so that an interruption repeats few bytes.
        private final class Worker: Sendable {
            /// A connection and its thread.
            private final class Connection: @unchecked Sendable {
                // Sendable: the uploader is used only on the queue.
                let queue: DispatchQueue
                let uploader: BlobUploader

                init(_ delivery: Delivery, _ group: MultiThreadedEventLoopGroup, _ number: Int) {
                    queue = DispatchQueue(
                        label: "send.blobs.\(delivery.queue).\(number)")
                    uploader = BlobUploader(to: delivery.relay, group: group)
                }
            }

            private let connections: [Connection]
            /// The number of short blobs so far.
            private let shortCount = Atomic(0)
            /// The time of the last progress, in seconds.
            private let progressAt = Mutex<Double?>(nil)
            /// The error after which the other blobs are not tried.
            private let failure = Mutex<ClientError?>(nil)

            var lastProgress: Double? { progressAt.withLock { $0 } }

            init(_ delivery: Delivery, _ group: MultiThreadedEventLoopGroup) {
                connections = (0..<Uploads.mostConnections).map { Connection(delivery, group, $0) }
            }

            func upload(
                _ number: Int64, _ record: BlobRecord, _ path: String, for delivery: Delivery
            ) {
                let isShort = record.size <= BlobUploader.shortBytes
                let next = isShort ? shortCount.wrappingAdd(1, ordering: .relaxed).oldValue : 0
                let connection = connections[next % connections.count]
                connection.queue.async {
                    if let error = self.failure.withLock({ $0 }) {
                        delivery.events.put(
                            .uploaded(number, .failed(error, hasProgressed: false)))
                        return
                    }
                    let ending = connection.uploader.upload(record, from: path) { have in
                        self.progressAt.withLock { $0 = Monotonic.seconds() }
                        delivery.progress(have, record.size, record.name)
                    }
                    if case .failed(let error, _) = ending {
                        self.failure.withLock { $0 = error }
                    }
                    delivery.events.put(.uploaded(number, ending))
                }
            }

            /// Lets the next blobs be tried.
            func forgetFailure() { failure.withLock { $0 = nil } }
        }

        init(_ delivery: Delivery, _ group: MultiThreadedEventLoopGroup) {
            self.delivery = delivery
            worker = Worker(delivery, group)
            removal = DispatchQueue(label: "send.removal.\(delivery.queue)")
        }

        /// The most connections.
        private static let mostConnections = 4
        /// The most blobs that the worker has.
        private static let mostRunning = 32

        var isRunning: Bool { !running.isEmpty }

        /// Seconds after the last progress of a blob during which a lost connection is tried again.
        private static let patience = 30.0

        /// Whether a blob progressed a short time ago, so that the connection is tried again although the input ended.
        func isProgressing(_ now: Double) -> Bool {
            worker.lastProgress.map { now - $0 < Self.patience } ?? false
        }

        /// The time of the next attempt; `nil` if it is due, while one is running, and without a blob that waits.
        var nextAttempt: Double? {
            let isDue = attemptAt <= Monotonic.seconds()
            return mayWait && !isRunning && !isDue && error == nil ? attemptAt : nil
        }

        /// Returns whether a blob waits that is not among those with the numbers `deferred`.
        mutating func isWaiting(
            except deferred: some Collection<Int64>
        ) throws(StateError) -> Bool {
            try !next(1, except: deferred).isEmpty
        }

        private mutating func next(
            _ count: Int, except deferred: some Collection<Int64>
        ) throws(StateError) -> [(number: Int64, item: Outbox.Item)] {
            guard mayWait, error == nil, delivery.blobs != nil else { return [] }
            let next = try delivery.outbox.blobs(
                relay: delivery.queue, limit: deferred.count + running.count + count
            ).filter { running[$0.number] == nil && !deferred.contains($0.number) }
            mayWait = !next.isEmpty
            // A blob that was given twice is uploaded once: the second time the relay has it.
            var busy = Set(running.values.map(\.id))
            return Array(next.filter { busy.insert($0.item.id).inserted }.prefix(count))
        }

        /// Gives the worker the next blobs, unless it has enough or the last one failed just before.
        mutating func start(
            except deferred: some Collection<Int64>, _ now: Double
        ) throws(StateError) {
            guard !isFailing, running.count <= Self.mostRunning / 2, attemptAt <= now,
                let blobs = delivery.blobs
            else { return }
            for (number, item) in try next(Self.mostRunning - running.count, except: deferred) {
                guard let object = try? JSON.object(parsing: item.envelope),
                    let record = try? BlobRecord(object)
                else {
                    // The others are uploaded all the same.
                    running[number] = item
                    delivery.events.put(.uploaded(number, .rejected(Refusal(.badFields))))
                    continue
                }
                running[number] = item
                worker.upload(number, record, blobs.outgoing(record.id), for: delivery)
            }
        }

        /// Takes the result of an upload, and returns its item. With `isLast`, an attempt is the last if nothing progressed for some time.
        mutating func end(
            _ number: Int64, _ ending: BlobUploader.Ending, isLast: Bool
        ) -> Outbox.Item? {
            guard let item = running.removeValue(forKey: number) else { return nil }
            mayWait = true
            switch ending {
            case .failed(let error, let hasProgressed):
                if !isFailing {
                    isFailing = true
                    if hasProgressed { backoff.reset() }
                    let now = Monotonic.seconds()
                    attemptAt = now + backoff.next()
                    var isSlow: Bool { if case .tooSlow = error { true } else { false } }
                    if isLast, isSlow || !isProgressing(now) { self.error = error }
                }
            case .stored, .rejected:
                backoff.reset()
                if let id = bytes(hex: item.id), let blobs = delivery.blobs {
                    finished.append(blobs.outgoing(id))
                }
            case .deferred: break
            }
            if isFailing, running.isEmpty {
                isFailing = false
                worker.forgetFailure()
            }
            return item
        }

        /// Removes the files of the blobs whose outcomes are recorded, on another thread: a long file takes some time.
        mutating func removeFiles() {
            guard !finished.isEmpty else { return }
            removal.async { [finished] in for path in finished { unlink(path) } }
            finished = []
        }

        /// Waits until the files are removed.
        func finish() { removal.sync {} }
    }
}
