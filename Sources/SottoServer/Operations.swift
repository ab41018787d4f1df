import Dispatch
import NIOCore
import NIOPosix
import Sotto
import SottoState
public import SottoWire
import Synchronization

/// What watches a relay, and whom it wakes.
public struct OperationsPlan: Sendable {
    /// Where health and figures can be asked for; port 0 takes any.
    public var monitor: RelayURL?
    /// How mailboxes that nobody reads are announced.
    public var wake: WakePlan?

    /// Nothing of either.
    public init() {}
}

/// What runs beside a relay's own work.
final class Operations: Sendable {
    let group: MultiThreadedEventLoopGroup
    let monitor: Monitor?
    private let wakeUps: WakeUps?
    private let beats = Mutex<[RepeatedTask]>([])

    /// Begins what the plan asks for.
    init(
        _ configuration: RelayConfiguration, group: MultiThreadedEventLoopGroup,
        services: Services, registry: Registry
    ) throws(RelayError) {
        self.group = group
        let plan = configuration.operations
        monitor =
            if let address = plan.monitor {
                try Monitor(
                    address, group: group,
                    figures: Figures(
                        services: services, registry: registry, store: configuration.store))
            } else { nil }
        wakeUps = plan.wake.map {
            WakeUps(
                $0, loop: group.next(), counters: services.counters,
                lookup: Self.lookup(services))
        }
        if let wakeUps { services.hub.attach(wakeUps) }
    }

    /// Finds out which ids may be told of. On a relay for members these are the members and their addresses, of which the
    /// relay has accounts; elsewhere ids with an account or prekeys are known, and all others unknown.
    private static func lookup(_ services: Services) -> WakeUps.Lookup {
        { ids, then in
            services.reader.async {
                let admission = services.admission
                do throws(StateError) {
                    let known = try services.store.known(
                        among: ids, byPreKeys: admission.isOpen)
                    var standings: [SessionID: WakeUps.Standing] = [:]
                    for id in ids {
                        standings[id] =
                            known.contains(id) || admission.lists(id)
                            ? .known : admission.isOpen ? .unknown : .foreign
                    }
                    then(standings)
                } catch {
                    services.onFailure(error)
                }
            }
        }
    }

    /// Wakes and answers nobody any more.
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
    /// Where it can be asked for its health and figures, `host:port`.
    public var monitorAddress: String? { operations.monitor?.address }

    /// Runs `body` every so many seconds, each time when every event loop has had a turn: signs of life, until
    /// the relay is stopped.
    public func whileAlive(every seconds: Double, _ body: @escaping @Sendable () -> Void) {
        operations.beat(every: seconds, body)
    }
}
