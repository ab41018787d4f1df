import Dispatch
import NIOCore
import NIOPosix
import Sotto
import SottoDatabase
public import SottoWire
import Synchronization

/// The monitoring and the wake-ups of a relay.
public struct OperationsPlan: Sendable {
    /// The address for health and metrics; port 0 takes any.
    public var monitor: RelayURL?
    /// The wake-ups for mailboxes without a subscriber.
    public var wake: WakePlan?

    /// Creates a plan without monitoring and wake-ups.
    public init() {}
}

/// The monitoring, wake-ups and heartbeats of a running relay.
final class Operations: Sendable {
    let group: MultiThreadedEventLoopGroup
    let monitor: Monitor?
    private let wakeUps: WakeUps?
    private let beats = Mutex<[RepeatedTask]>([])

    /// Starts what the plan asks for.
    init(
        _ configuration: RelayConfiguration, group: MultiThreadedEventLoopGroup,
        services: Services, registry: ConnectionRegistry
    ) throws(RelayError) {
        self.group = group
        let plan = configuration.operations
        monitor =
            if let address = plan.monitor {
                try Monitor(
                    address, group: group,
                    metrics: Metrics(
                        services: services, registry: registry, store: configuration.store))
            } else { nil }
        wakeUps = plan.wake.map {
            WakeUps(
                $0, loop: group.next(), counters: services.policy.counters,
                lookup: Self.lookup(services))
        }
        if let wakeUps { services.subscribers.attach(wakeUps) }
    }

    /// Decides which ids may get wake-ups. On a relay for members these are the members and their further addresses,
    /// which have accounts. On an open relay, ids with an account or prekeys are known, and all others unknown.
    private static func lookup(_ services: Services) -> WakeUps.Lookup {
        { ids, then in
            services.reader.async {
                let admission = services.policy.admission
                do throws(StoreError) {
                    let known = try services.store.known(
                        among: ids, byPreKeys: admission.isOpen)
                    var eligibilities: [KeyID: WakeUps.Eligibility] = [:]
                    for id in ids {
                        eligibilities[id] =
                            known.contains(id) || admission.lists(id)
                            ? .known : admission.isOpen ? .unknown : .foreign
                    }
                    then(eligibilities)
                } catch .full {
                    // No wake-ups are sent until the store has space again.
                    then([:])
                } catch {
                    services.onFailure(error)
                }
            }
        }
    }

    /// Stops the monitoring, the wake-ups and the heartbeats.
    func stop() {
        for beat in beats.withLock({ $0 }) { beat.cancel() }
        wakeUps?.stop()
        monitor?.stop()
    }

    fileprivate func beat(every seconds: Double, _ body: @escaping @Sendable () -> Void) {
        let interval = TimeAmount.nanoseconds(Int64(seconds * 1e9))
        let group = group
        let loop = group.next()
        let task = loop.scheduleRepeatedTask(initialDelay: .zero, delay: interval) { _ in
            let turns = group.makeIterator().map { $0.submit {} }
            EventLoopFuture.andAllSucceed(turns, on: loop).whenSuccess(body)
        }
        beats.withLock { $0.append(task) }
    }
}

extension Relay {
    /// The address for health and metrics, `host:port`, or `nil`.
    public var monitorAddress: String? { operations.monitor?.address }

    /// Runs `body` every `seconds` seconds, each time after every event loop has run a task, until the relay stops. It
    /// serves as a watchdog: a blocked event loop stops the calls.
    public func whileAlive(every seconds: Double, _ body: @escaping @Sendable () -> Void) {
        operations.beat(every: seconds, body)
    }
}
