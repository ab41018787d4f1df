import Dispatch
import Glibc
import NIOCore
import NIOPosix
public import Sotto
import SottoDatabase
public import SottoWire
import Synchronization

/// The configuration of a relay.
public struct RelayConfiguration: Sendable {
    /// The address to listen on, `host:port`; port 0 takes any.
    public var listen: RelayURL
    /// The SQLite file, or the URL of a PostgreSQL database, as ``StoreLocation`` reads it.
    public var store: String
    /// The certificate for TLS, or `nil` for no TLS.
    public var tls: TLSFiles?
    /// Whether connections without TLS are closed.
    public var requiresTLS = false
    /// Further names, `host:port`, under which clients dial this relay.
    public var names: [String] = []
    /// Days until an undelivered envelope is deleted.
    public var ttlDays: Int64 = 30
    /// The most envelopes in one mailbox.
    public var mailboxMessages: Int64 = 5_000
    /// The most bytes of envelopes in one mailbox.
    public var mailboxBytes: Int64 = 100_000_000
    /// The most connections at once.
    public var maximumConnections = 10_000
    /// The monitoring and the wake-ups.
    public var operations = OperationsPlan()
    /// Which ids may have a mailbox.
    public var admission = AdmissionPlan()
    /// The most envelopes that a mailbox gets in a minute; 0 for no limit.
    public var mailboxRate = 0
    /// The most requests of a connection in a second; 0 for no limit.
    public var connectionRate = 10_000
    /// The most publications in a minute before new ids must do a proof of work; 0 for no limit.
    public var surge = 600
    /// The zero bits of the proof of work when a surge begins: a million hashes, less than a second of one core.
    var surgeBits = 20
    /// The most connections from one network, a /24 of IPv4 or a /64 of IPv6; `nil` for a quarter of
    /// ``maximumConnections``.
    public var networkConnections: Int?
    /// New connections of one network in a second, after as many at once as it may have.
    var networkRate = NetworkConnections.connectionsPerSecond
    /// Whether loopback connections are limited as a network too; tests set it.
    var limitsLoopback = false
    /// Origins of web pages that may use the relay in addition to its own, such as `https://chat.example.org`.
    public var allowedOrigins: [String] = []
    /// The system's clock, in seconds since 1970; tests replace it.
    var wall: @Sendable () -> Double = RelayClock.system
    /// Seconds within which a line must be complete.
    public var lineTimeout = 10.0
    /// Seconds that a connection waits after a failed login, doubled after each further one.
    public var failedLoginPause = 1.0

    /// Creates a configuration with the default limits.
    public init(listen: RelayURL, store: String) {
        self.listen = listen
        self.store = store
    }
}

/// The reason why a relay does not start, or ends.
public enum RelayError: ReportableError {
    /// The store cannot be used.
    case store(StoreError)
    /// The address cannot be listened on; `code` is the system's error number, or 0.
    case listen(address: String, code: Int32)
    /// The certificate or its key cannot be used, for this reason.
    case tls(String)

    /// The exit status, as in sysexits(3).
    public var status: Int32 {
        switch self {
        case .store(let error): error.status
        case .tls: 78
        case .listen(_, let code): code == EACCES || code == EPERM ? 77 : 78
        }
    }

    /// The error message.
    public var message: String {
        switch self {
        case .store(let error): error.message
        case .tls(let message): message
        case .listen(let address, EADDRINUSE): "cannot listen on \(address): it is in use"
        case .listen(let address, EACCES): "cannot listen on \(address): permission denied"
        case .listen(let address, _):
            "cannot listen on \(address): this machine does not have the address"
        }
    }

    /// The hint: a command or instruction that fixes the error, or `nil`.
    public var hint: String? {
        switch self {
        case .store(let error): error.hint
        case .tls: "use PEM files, or create them with relay --tls-self-signed"
        case .listen(_, EADDRINUSE): "another relay may be running; choose another port"
        case .listen: nil
        }
    }
}

/// A running relay.
public final class Relay: Sendable {
    private let group: MultiThreadedEventLoopGroup
    private let channel: any Channel
    private let registry: ConnectionRegistry
    private let services: Services
    private let tls: TLSCertificate?
    private let ticks: RepeatedTask
    private let sweeps: RepeatedTask
    let operations: Operations

    /// The address that the relay listens on, `host:port`.
    public let address: String

    /// Opens the store and listens. `onFailure` is called once, from any thread, if the store fails: the process must
    /// then end without sending further replies.
    public static func start(
        _ configuration: RelayConfiguration,
        onFailure: @escaping @Sendable (StoreError) -> Void
    ) throws(RelayError) -> Relay {
        let store: any Store
        do throws(StoreError) {
            var retention = Retention(
                minutes: configuration.ttlDays * 24 * 60,
                mailboxMessages: configuration.mailboxMessages,
                mailboxBytes: configuration.mailboxBytes)
            if !configuration.admission.isOpen {
                retention.strangerMinutes = Retention.strangerMinutes
            }
            store = try StoreLocation(configuration.store).open(retention)
            if configuration.admission.isOpen { try store.clearStrangerFlags() }
        } catch {
            throw .store(error)
        }
        return try Relay(configuration, store: store, onFailure: onFailure)
    }

    init(
        _ configuration: RelayConfiguration, store: any Store,
        onFailure: @escaping @Sendable (StoreError) -> Void
    ) throws(RelayError) {
        Self.raiseDescriptorLimit()
        let limit = configuration.maximumConnections
        let registry = ConnectionRegistry(
            limit: limit,
            networks: NetworkConnections(
                limit: configuration.networkConnections ?? max(1, limit / 4),
                rate: configuration.networkRate,
                limitsLoopback: configuration.limitsLoopback))
        let clock: RelayClock
        do throws(StoreError) {
            clock = RelayClock(try store.clock(), wall: configuration.wall)
        } catch {
            throw .store(error)
        }
        let subscribers = SubscriberRegistry()
        let counters = Counters()
        let hasFailed = Atomic(false)
        let fail: @Sendable (StoreError) -> Void = { error in
            guard !hasFailed.exchange(true, ordering: .relaxed) else { return }
            registry.forEach { $0.abort() }
            onFailure(error)
        }
        let admission = Admission(configuration.admission)
        let rates = MailboxRates(perMinute: configuration.mailboxRate)
        let writer = Writer(
            store: store, subscribers: subscribers, clock: clock, counters: counters,
            admission: admission,
            rates: rates, onFailure: fail)
        let tls = try configuration.tls.map { files throws(RelayError) in
            try TLSCertificate(files)
        }
        self.tls = tls
        let requiresTLS = configuration.requiresTLS
        let group = MultiThreadedEventLoopGroup(numberOfThreads: System.coreCount)
        let shared = Mutex<Services?>(nil)
        let bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.autoRead, value: false)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(.socketOption(.so_keepalive), value: 1)
            .childChannelOption(
                .writeBufferWaterMark, value: .init(low: 64 << 10, high: 256 << 10)
            )
            .childChannelInitializer { channel in
                guard let services = shared.withLock({ $0 }) else { return channel.close() }
                let decision = registry.decide(about: channel.remoteAddress?.ipAddress)
                guard decision != .closed else { return channel.close() }
                let isServed = decision == .served
                let connection = ClientConnection(
                    channel: channel, services: services, isServed: isServed)
                counters.add(.connections)
                registry.add(connection)
                channel.closeFuture.whenComplete { _ in registry.remove(connection) }
                return channel.eventLoop.makeCompletedFuture {
                    // The `busy` refusal is written at once, as a line, before the protocol is known.
                    let handler: any ChannelHandler =
                        isServed
                        ? ProtocolDetector(to: connection, tls: tls, requiresTLS: requiresTLS)
                        : connection
                    try channel.pipeline.syncOperations.addHandler(handler)
                }
            }
        do {
            channel =
                try bootstrap
                .bind(host: configuration.listen.host, port: Int(configuration.listen.port))
                .wait()
        } catch {
            throw .listen(
                address: configuration.listen.name, code: (error as? IOError)?.errnoCode ?? 0)
        }
        let local = channel.localAddress
        services = Services(
            store: store, writer: writer, verification: Self.verificationThreads(),
            subscribers: subscribers,
            counters: counters, clock: clock,
            names: RelayNames(
                names: configuration.names
                    + (configuration.listen.port == 0 ? [] : [configuration.listen.name]),
                listening: local),
            origins: WebOrigins(allowed: configuration.allowedOrigins),
            admission: admission,
            surgeLimit: SurgeLimit(limit: configuration.surge, bits: configuration.surgeBits),
            rates: rates,
            connectionRate: configuration.connectionRate,
            timeouts: Timeouts(
                line: configuration.lineTimeout, failedLogin: configuration.failedLoginPause),
            onFailure: fail)
        let services = services
        store.watch({ subscribers.mailboxes }, onArrival: { subscribers.wake($0) })
        shared.withLock { $0 = services }
        self.group = group
        self.registry = registry
        address = RelayNames.name(of: local) ?? configuration.listen.name
        let loop = group.next()
        let beat = min(0.5, configuration.lineTimeout / 2)
        ticks = loop.scheduleRepeatedTask(
            initialDelay: .milliseconds(Int64(beat * 1000)),
            delay: .milliseconds(Int64(beat * 1000))
        ) { _ in
            let now = Monotonic.seconds()
            registry.forEach { $0.tick(now) }
        }
        sweeps = loop.scheduleRepeatedTask(initialDelay: .seconds(0), delay: .minutes(1)) { _ in
            writer.sweep()
        }
        operations = try Operations(
            configuration, group: group, services: services, registry: registry)
    }

    /// Reads the certificate and its key again. If that fails, it throws and the current ones stay in use.
    public func reloadCertificate() throws(RelayError) { try tls?.reload() }

    /// Replaces the operator's list of ids that may have a mailbox.
    public func replaceMembers(_ list: Set<SessionID>) {
        services.admission.replace(list)
        services.writer.sweep()
    }

    /// The counters so far, as text for the log.
    public var summary: String { services.counters.description }

    /// The minutes that the system's clock is ahead of the newest time in the store and not accepted, negative if it
    /// is behind, or `nil` if it agrees.
    public var clockError: Int64? { services.clock.error }

    /// Shuts down in order: accepts no more connections, finishes the running commit and sends its replies, closes the
    /// connections and the store.
    public func stop() throws(RelayError) {
        operations.stop()
        ticks.cancel()
        sweeps.cancel()
        try? channel.close().wait()
        services.writer.finish()
        registry.forEach { $0.close() }
        waitForConnections(atMost: 2)
        registry.forEach { $0.abort() }
        waitForConnections(atMost: 10)
        // The writer and the reader send their results to the event loops, which must therefore stop after them.
        services.writer.finish()
        services.reader.sync {}
        try? services.verification.syncShutdownGracefully()
        try? group.syncShutdownGracefully()
        // The last tasks of the event loops need an open store.
        services.writer.finish()
        services.reader.sync {}
        services.writer.storeClock()
        do throws(StoreError) { try services.store.close() } catch { throw .store(error) }
    }

    private static func verificationThreads() -> NIOThreadPool {
        let threads = NIOThreadPool(numberOfThreads: max(1, System.coreCount / 2))
        threads.start()
        return threads
    }

    /// Waits until all connections have ended, for at most `seconds`.
    private func waitForConnections(atMost seconds: Double) {
        let deadline = Monotonic.seconds() + seconds
        while registry.count > 0, Monotonic.seconds() < deadline { usleep(2_000) }
    }

    /// Raises the limit of descriptors, one for each connection; the soft limit is often 1024.
    private static func raiseDescriptorLimit() {
        var limit = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        guard getrlimit(resource, &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(resource, &limit)
    }
}
