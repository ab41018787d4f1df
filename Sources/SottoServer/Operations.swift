import NIOCore
import NIOPosix
public import SottoWire

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
            WakeUps($0, loop: group.next(), counters: services.counters)
        }
        if let wakeUps { services.hub.attach(wakeUps) }
    }

    /// Wakes and answers nobody any more.
    func stop() {
        wakeUps?.stop()
        monitor?.stop()
    }
}

extension Relay {
    /// Where it can be asked for its health and figures, `host:port`.
    public var monitorAddress: String? { operations.monitor?.address }

    /// Runs `body` once every event loop has had a turn: a sign of life.
    public func whenAlive(_ body: @escaping @Sendable () -> Void) {
        let turns = operations.group.makeIterator().map { $0.submit {} }
        guard let loop = turns.first?.eventLoop else { return }
        EventLoopFuture.andAllSucceed(turns, on: loop).whenSuccess(body)
    }
}
