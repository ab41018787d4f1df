import Dispatch
import NIOPosix
public import SottoState
public import SottoWire
import Synchronization

/// Sends an outbox to several relays at once. Each queue has its own ``Delivery``, so an unreachable relay, or an address
/// with a wrong pin, does not delay the others.
///
/// One thread calls ``run(_:)``. Another thread adds items with ``submit(_:to:)`` and calls ``finish(withRest:)`` after
/// the last.
public final class Deliveries: Sendable {
    /// The maximum number of addresses in one run.
    public static let relayLimit = 128

    /// The end of the delivery to one relay.
    public struct Ending: Sendable {
        /// The relay.
        public let relay: RelayURL
        /// The result of the delivery.
        public let ending: Delivery.Ending
    }

    private enum Event: Sendable {
        case results([DeliveryResult], taken: DispatchSemaphore)
        case ended(RelayURL, Result<Delivery.Ending, any Error>)
        case finished
    }

    private struct State {
        var deliveries: [String: Delivery] = [:]
        var isFinished = false
        /// The relays whose deliveries have ended.
        var ended: Set<String> = []
        /// The relays whose deliveries wait for blobs at other relays.
        var waiting: Set<String> = []
    }

    private let outbox: Outbox
    private let choice: RelayChoice
    private let lockTimeout: Double
    private let blobs: BlobFolder?
    private let patience: Delivery.Patience
    private let progress: @Sendable (_ have: Int64, _ size: Int64, _ id: String) -> Void
    private let solving: @Sendable (_ relay: RelayURL) -> Void
    private let events = EventQueue<Event>()
    private let state = Mutex(State())
    private let group = RelayLink.makeGroup()

    /// Creates deliveries for `outbox`; `choice` finds the relays of the items that wait in it already. `blobs` has the
    /// files of its blobs. `progress` is told the uploaded bytes of a blob, its length and its id, and `solving` the relay for
    /// which a proof of work is computed, both on any thread.
    public convenience init(
        outbox: Outbox, choice: RelayChoice, lockTimeout: Double, blobs: BlobFolder? = nil,
        progress: @escaping @Sendable (_ have: Int64, _ size: Int64, _ id: String) -> Void = {
            _, _, _ in
        },
        solving: @escaping @Sendable (_ relay: RelayURL) -> Void = { _ in }
    ) {
        self.init(
            outbox: outbox, choice: choice, lockTimeout: lockTimeout, blobs: blobs,
            patience: Delivery.Patience(), progress: progress, solving: solving)
    }

    /// Creates deliveries that wait as long as `patience` says.
    init(
        outbox: Outbox, choice: RelayChoice, lockTimeout: Double, blobs: BlobFolder?,
        patience: Delivery.Patience,
        progress: @escaping @Sendable (_ have: Int64, _ size: Int64, _ id: String) -> Void,
        solving: @escaping @Sendable (_ relay: RelayURL) -> Void = { _ in }
    ) {
        self.patience = patience
        self.solving = solving
        self.outbox = outbox
        self.blobs = blobs
        self.progress = progress
        self.choice = choice
        self.lockTimeout = lockTimeout
    }

    /// Adds items to send to a relay. Blocks while several earlier batches have not been taken. Returns false and leaves
    /// them in the outbox if there are ``relayLimit`` other addresses already.
    public func submit(_ items: [Outbox.Item], to relay: RelayURL) throws(StateError) -> Bool {
        guard let delivery = try delivery(to: relay, of: relay.text) else {
            let kept = items.filter { $0.kind != .signal }
            _ = try outbox.append(kept, relay: relay.text)
            try outbox.release(relay: relay.text)
            return false
        }
        // Earlier envelopes for these recipients that had no relay go first.
        if try outbox.assign(relay.text, to: items) { delivery.wake() }
        let blobs = items.filter { $0.kind == .blob }
        if !blobs.isEmpty {
            // An envelope for another relay can follow, and must find the blob in the outbox.
            let numbers = try outbox.append(blobs, relay: relay.text)
            delivery.submit(stored: Array(zip(numbers, blobs)))
        }
        let others = items.filter { $0.kind != .blob }
        if !others.isEmpty { delivery.submit(others) }
        return true
    }

    /// Returns whether the delivery to a relay waits for blobs that go to other relays: a delivery to one of these can still store
    /// them.
    private func waits(_ relay: String, for relays: Set<String>) -> Bool {
        state.withLock { state in
            if state.waiting.insert(relay).inserted {
                // Two deliveries do not wait for each other.
                for other in state.waiting where other != relay { state.deliveries[other]?.wake() }
            }
            let isWaiting = relays.contains { other in
                state.deliveries[other] != nil && !state.ended.contains(other)
                    && !state.waiting.contains(other)
            }
            return isWaiting
        }
    }

    /// Lets the deliveries to other relays look again for envelopes that can be sent.
    private func wakeOthers(than relay: String) {
        state.withLock { state in
            for (name, delivery) in state.deliveries where name != relay {
                state.waiting.remove(name)
                delivery.wake()
            }
        }
    }

    /// Makes ``run(_:)`` call its closure, and returns when it has, so that the closure can report something other than
    /// a result.
    public func wake() { report([]) }

    /// Keeps items without a relay in the outbox, until a relay is chosen for them.
    public func keep(_ items: [Outbox.Item]) throws(StateError) {
        try outbox.append(unassigned: items)
    }

    /// Marks the end of the items. With `withRest`, if no items were added, the items in the outbox are sent to every
    /// relay whose address is known, and those without a relay to the chosen one.
    public func finish(withRest: Bool) throws(StateError) {
        // The run must end even if an error occurs here.
        defer {
            let deliveries = state.withLock { state in
                state.isFinished = true
                return Array(state.deliveries.values)
            }
            for delivery in deliveries { delivery.finish() }
            events.put(.finished)
        }
        guard withRest, state.withLock({ $0.deliveries.isEmpty }) else { return }
        if let relay = choice.chosen {
            _ = try outbox.assign(relay.text)
        }
        // Above the limit, the queues of addresses that never answer do not always come first.
        for queue in try outbox.queues().shuffled() {
            guard let relay = choice.relay(of: queue) else { continue }
            _ = try delivery(to: relay, of: queue.relay)
        }
    }

    /// Sends until all items are stored on their relays or cannot be delivered now.
    ///
    /// `body` is called with the results of envelopes, like the closure of ``Delivery/run(_:)``. After ``wake()`` it is
    /// called with an empty array. An error of `body` ends the run at once; an error of the outbox ends the delivery to one
    /// relay.
    public func run(_ body: ([DeliveryResult]) throws -> Void) throws -> [Ending] {
        var endings: [Ending] = []
        while true {
            for event in events.take(timeout: nil) {
                switch event {
                case .results(let results, let taken):
                    try body(results)
                    taken.signal()
                case .ended(let relay, let result):
                    endings.append(Ending(relay: relay, ending: try result.get()))
                case .finished: break
                }
            }
            let isDone = state.withLock { $0.isFinished && $0.deliveries.count == endings.count }
            if isDone { return endings }
        }
    }

    /// The queues from which items were sent.
    public var queues: Set<String> { state.withLock { Set($0.deliveries.keys) } }

    private func report(_ results: [DeliveryResult]) {
        let taken = DispatchSemaphore(value: 0)
        events.put(.results(results, taken: taken))
        taken.wait()
    }

    /// Returns the delivery of a queue, which sends to `relay`.
    private func delivery(to relay: RelayURL, of queue: String) throws(StateError) -> Delivery? {
        let known = state.withLock { $0.deliveries[queue] }
        if let known { return known }
        guard state.withLock({ $0.deliveries.count }) < Self.relayLimit else { return nil }
        let new = try Delivery(
            outbox: outbox, queue: queue, relay: relay, lockTimeout: lockTimeout, blobs: blobs,
            patience: patience, progress: progress, solving: { [solving] in solving(relay) }
        ) { [weak self] relays in self?.waits(queue, for: relays) ?? false }
        state.withLock { $0.deliveries[queue] = new }
        DispatchQueue(label: "send.\(queue)").async { [self] in
            let result = Result {
                try new.run(on: group) { results in
                    guard !results.isEmpty else { return }
                    report(results)
                    if results.contains(where: \.isBlob) {
                        wakeOthers(than: queue)
                    }
                }
            }
            state.withLock { _ = $0.ended.insert(queue) }
            wakeOthers(than: queue)
            events.put(.ended(relay, result))
        }
        return new
    }
}
