import Dispatch
import NIOPosix
import Sotto
import SottoDatabase
import SottoWire
import Synchronization

/// Uploads the blobs of a delivery on separate threads. Short blobs are distributed over several connections, because the relay
/// writes each to disk before it answers. Long ones use one connection, so that an interruption repeats few bytes.
final class UploadWorker: Sendable {
    /// A connection and its thread.
    private final class Connection: @unchecked Sendable {
        // Sendable: the uploader is used only on the queue.
        let queue: DispatchQueue
        let uploader: BlobUploader

        init(_ delivery: Delivery, _ group: MultiThreadedEventLoopGroup, _ number: Int) {
            queue = DispatchQueue(label: "send.blobs.\(delivery.queue).\(number)")
            uploader = BlobUploader(to: delivery.relay, group: group)
        }
    }

    /// The most connections.
    private static let mostConnections = 4

    private let connections: [Connection]
    /// The number of short blobs so far.
    private let shortCount = Atomic(0)
    /// The time of the last progress, in seconds.
    private let progressAt = Mutex<Double?>(nil)
    /// The error after which the other blobs are not tried.
    private let failure = Mutex<ClientError?>(nil)

    /// The time of the last progress of a blob.
    var lastProgress: Double? { progressAt.withLock { $0 } }

    init(_ delivery: Delivery, _ group: MultiThreadedEventLoopGroup) {
        connections = (0..<Self.mostConnections).map { Connection(delivery, group, $0) }
    }

    /// Begins the upload of the blob in the file at `path`. Its result is an event of the delivery.
    func upload(_ number: Int64, _ record: BlobRecord, _ path: String, for delivery: Delivery) {
        let isShort = record.size <= BlobUploader.shortBytes
        let next = isShort ? shortCount.wrappingAdd(1, ordering: .relaxed).oldValue : 0
        let connection = connections[next % connections.count]
        connection.queue.async {
            if let error = self.failure.withLock({ $0 }) {
                delivery.events.put(.uploaded(number, .failed(error, hasProgressed: false)))
                return
            }
            let ending = connection.uploader.upload(record, from: path) { have in
                self.progressAt.withLock { $0 = Monotonic.seconds() }
                delivery.progress(have, record.size, record.name)
            }
            if case .failed(let error, _) = ending { self.failure.withLock { $0 = error } }
            delivery.events.put(.uploaded(number, ending))
        }
    }

    /// Lets the next blobs be tried.
    func forgetFailure() { failure.withLock { $0 = nil } }
}
