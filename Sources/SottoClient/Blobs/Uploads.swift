import Dispatch
import Glibc
import NIOPosix
import Sotto
import SottoDatabase
import SottoState
import SottoWire

extension Delivery {
    /// The uploads of a ``Run``: one blob at a time, while envelopes are sent.
    struct Uploads {
        private let delivery: Delivery
        private let worker: Worker
        private var running: (number: Int64, item: Outbox.Item)?
        private var backoff = Backoff()
        private var attemptAt = 0.0
        /// The paths of the files that are not needed once the outcomes are recorded.
        private var finished: [String] = []

        /// Whether the outbox may have a blob for the relay.
        var mayWait = true
        /// The error that ended the uploads of this run, or `nil`.
        private(set) var error: ClientError?

        /// Uploads on its own thread.
        private final class Worker: @unchecked Sendable {
            // Sendable: the uploader is used only on the queue.
            private let queue: DispatchQueue
            private let uploader: BlobUploader

            init(_ delivery: Delivery, _ group: MultiThreadedEventLoopGroup) {
                queue = DispatchQueue(label: "send.blobs.\(delivery.relay.outboxName)")
                uploader = BlobUploader(to: delivery.relay, group: group)
            }

            func upload(
                _ number: Int64, _ record: BlobRecord, _ path: String, for delivery: Delivery
            ) {
                queue.async {
                    let ending = self.uploader.upload(record, from: path) { have in
                        delivery.progress(have, record.size, record.name)
                    }
                    delivery.events.put(.uploaded(number, ending))
                }
            }
        }

        init(_ delivery: Delivery, _ group: MultiThreadedEventLoopGroup) {
            self.delivery = delivery
            worker = Worker(delivery, group)
        }

        var isRunning: Bool { running != nil }

        /// The time of the next attempt; `nil` if it is due, while one is running, and without a blob that waits.
        var nextAttempt: Double? {
            let isDue = attemptAt <= Monotonic.seconds()
            return mayWait && !isRunning && !isDue && error == nil ? attemptAt : nil
        }

        /// Returns whether a blob waits that is not among those with the numbers `deferred`.
        mutating func isWaiting(
            except deferred: some Collection<Int64>
        ) throws(StateError) -> Bool {
            try next(except: deferred) != nil
        }

        private mutating func next(
            except deferred: some Collection<Int64>
        ) throws(StateError) -> (number: Int64, item: Outbox.Item)? {
            guard mayWait, error == nil, delivery.blobs != nil else { return nil }
            let next = try delivery.outbox.blobs(relay: delivery.relay.outboxName).first {
                !deferred.contains($0.number)
            }
            mayWait = next != nil
            return next
        }

        /// Starts the next upload, unless one is running or the last one failed just before.
        mutating func start(
            except deferred: some Collection<Int64>, _ now: Double
        ) throws(StateError) {
            guard !isRunning, attemptAt <= now, let blobs = delivery.blobs,
                let next = try next(except: deferred)
            else { return }
            guard let object = try? JSON.object(parsing: next.item.envelope),
                let record = try? BlobRecord(object)
            else {
                // Only a later version could have written it.
                mayWait = false
                return
            }
            running = next
            worker.upload(next.number, record, blobs.outgoing(record.id), for: delivery)
        }

        /// Takes the result of an upload, and returns its item. With `isLast`, an attempt without progress is the last.
        mutating func end(
            _ number: Int64, _ ending: BlobUploader.Ending, isLast: Bool
        ) -> Outbox.Item? {
            guard let item = running?.item, running?.number == number else { return nil }
            running = nil
            mayWait = true
            switch ending {
            case .failed(let error, let hasProgressed):
                if hasProgressed { backoff.reset() }
                attemptAt = Monotonic.seconds() + backoff.next()
                if isLast, !hasProgressed { self.error = error }
            case .stored, .rejected:
                backoff.reset()
                if let id = bytes(hex: item.id), let blobs = delivery.blobs {
                    finished.append(blobs.outgoing(id))
                }
            case .deferred: break
            }
            return item
        }

        /// Removes the files of the blobs whose outcomes are recorded.
        mutating func removeFiles() {
            for path in finished { unlink(path) }
            finished = []
        }
    }
}
