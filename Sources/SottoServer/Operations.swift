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
    /// The rules for the wake-ups that owners register, or `nil` if they can register none.
    public var ownersWake: OwnersWakePlan?

    /// Creates a plan without monitoring and wake-ups.
    public init() {}
}

/// The monitoring, wake-ups and heartbeats of a running relay.
final class Operations: Sendable {
    let group: MultiThreadedEventLoopGroup
    let monitor: Monitor?
    private let wakeUps: [WakeUps]
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
        let counters = services.policy.counters
        var wakeUps: [WakeUps] = []
        if let wake = plan.wake {
            wakeUps.append(
                WakeUps(
                    wake, loop: group.next(), counters: counters,
                    lookup: Self.lookup(services, Self.eligibilities)))
        }
        if let wake = plan.ownersWake {
            let loop = group.next()
            wakeUps.append(
                WakeUps(
                    wake.plan, loop: loop, counters: counters,
                    owners: OwnersWake(wake, services, loop: loop),
                    lookup: Self.lookup(services) { subjects, services throws(StoreError) in
                        try OwnersWake.eligibilities(of: subjects, wake, services)
                    }))
        }
        for wakeUps in wakeUps { services.subscribers.attach(wakeUps) }
        self.wakeUps = wakeUps
    }

    /// Returns the eligibilities of mailboxes. On a relay for members the members are known and their further addresses,
    /// which have accounts. On an open relay, ids with an account or prekeys are known, and all others unknown.
    static func eligibilities(
        of subjects: [WakeUp.Subject], _ services: Services
    ) throws(StoreError) -> [WakeUp.Subject: WakeUps.Eligibility] {
        let admission = services.policy.admission
        let known = try services.store.known(
            among: subjects.map(\.mailbox), byPreKeys: admission.isOpen)
        var eligibilities: [WakeUp.Subject: WakeUps.Eligibility] = [:]
        for subject in subjects {
            eligibilities[subject] =
                known.contains(subject.mailbox) || admission.lists(subject.mailbox)
                ? .known : admission.isOpen ? .unknown : .foreign
        }
        return eligibilities
    }

    /// Returns a lookup on the thread of the reader.
    private static func lookup(
        _ services: Services,
        _ eligibilities:
            @escaping @Sendable ([WakeUp.Subject], Services) throws(StoreError) ->
            [WakeUp.Subject: WakeUps.Eligibility]
    ) -> WakeUps.Lookup {
        { subjects, then in
            services.reader.async {
                do throws(StoreError) {
                    then(try eligibilities(subjects, services))
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
        for wakeUps in wakeUps { wakeUps.stop() }
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
