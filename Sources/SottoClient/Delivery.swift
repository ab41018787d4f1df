import Dispatch
import NIOPosix
import SottoDatabase
public import SottoState
public import SottoWire

/// Sends one relay's queue in an outbox: items are written to disk first and sent second, in order. Envelopes with a
/// time to live of 0 are only sent: if no connection exists and none can be made now, they are dropped.
///
/// One thread calls ``run(on:_:)``. Another thread adds items with ``submit(_:)`` and calls ``finish()`` after the last.
public final class Delivery: Sendable {
    enum Event: Sendable {
        case items([Outbox.Item])
        /// Items that are in the outbox already.
        case stored([(number: Int64, item: Outbox.Item)])
        case end
        /// Another relay got a blob, or the delivery to it ended.
        case other
        case connected(Result<RelayLink, ClientError>, generation: Int)
        case link(RelayLink.Event, generation: Int)
        case uploaded(Int64, BlobUploader.Ending)
    }

    /// The result of a delivery.
    public struct Ending: Sendable {
        /// The number of items that wait in the outbox.
        public var left = 0
        /// The error that ended the delivery; `nil` if the relay only deferred items.
        public var error: ClientError?
        /// Whether another process held the outbox.
        public var wasLocked = false
    }

    static let window = 256
    static let windowBytes = 2 << 20
    /// Seconds to wait for a relay.
    struct Patience {
        /// For a connection with its handshakes.
        var connection = RelayLink.connectionSeconds
        /// For the answer about an item.
        var reply = 30.0
    }

    static let retryDelay = 30.0
    /// The number of waiting signals at which ``submit(_:)`` blocks.
    static let signalLimit = 1_000

    /// The name of the queue: the address for which its items were queued.
    let queue: String
    /// The relay.
    public let relay: RelayURL
    let outbox: Outbox
    let lock: RangeLock
    let lockTimeout: Double
    let patience: Patience
    let events = EventQueue<Event>()
    let room = DispatchSemaphore(value: 4)
    let blobs: BlobFolder?
    /// Called with the uploaded bytes of a blob, its length and its id, on any thread.
    let progress: @Sendable (_ have: Int64, _ size: Int64, _ id: String) -> Void
    /// Called before a proof of work for the relay is computed, which takes some seconds.
    let solving: @Sendable () -> Void
    /// Returns whether to wait for blobs that go to other relays. Without it, a delivery does not wait for them.
    let waits: (@Sendable (_ relays: Set<String>) -> Bool)?

    /// Creates a delivery of a queue in `outbox` to `relay`; its blobs are in the folder `blobs`.
    init(
        outbox: Outbox, queue: String, relay: RelayURL, lockTimeout: Double, blobs: BlobFolder?,
        patience: Patience = Patience(),
        progress: @escaping @Sendable (_ have: Int64, _ size: Int64, _ id: String) -> Void,
        solving: @escaping @Sendable () -> Void = {},
        waits: (@Sendable (_ relays: Set<String>) -> Bool)?
    ) throws(StateError) {
        self.waits = waits
        self.solving = solving
        self.outbox = outbox
        (self.queue, self.relay) = (queue, relay)
        self.blobs = blobs
        self.progress = progress
        lock = try outbox.lock(of: queue)
        self.lockTimeout = lockTimeout
        self.patience = patience
    }

    /// Adds items to send. Blocks while several earlier batches have not been taken.
    public func submit(_ items: [Outbox.Item]) {
        room.wait()
        events.put(.items(items))
    }

    /// Adds items that are in the outbox already.
    func submit(stored items: [(number: Int64, item: Outbox.Item)]) { events.put(.stored(items)) }

    /// Makes the delivery look again for envelopes that can be sent.
    func wake() { events.put(.other) }

    /// Marks the end of the items.
    public func finish() { events.put(.end) }

    /// Sends until all items are stored on the relay or delivery becomes impossible. `group` is a shared event loop.
    ///
    /// `report` is called with the results of envelopes: those added here, and those that earlier processes left. It is
    /// called in batches, each after the outcomes are recorded in the outbox. An error of the outbox ends this delivery, and
    /// is the error of the ending.
    func run(
        on group: MultiThreadedEventLoopGroup, _ report: ([DeliveryResult]) throws -> Void
    ) throws -> Ending {
        var run = Run(delivery: self, group: group)
        return try run.run(report)
    }
}
