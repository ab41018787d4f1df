public import SottoWire

/// A notice for the operator of a running relay.
public enum RelayNotice: Sendable, Equatable {
    /// The store has no space for messages.
    case storeFull
    /// The store has space again.
    case storeUsable
}

/// The connections without TLS that a relay accepts.
public enum PlainConnections: Sendable {
    /// None.
    case refused
    /// Those from addresses of this machine, such as a reverse proxy's.
    case local
    /// All.
    case accepted
}

/// The configuration of a relay.
public struct RelayConfiguration: Sendable {
    /// The address to listen on, `host:port`; port 0 takes any.
    public var listen: RelayURL
    /// The SQLite file, or the URL of a PostgreSQL database, as ``StoreLocation`` reads it.
    public var store: String
    /// The certificate for TLS, or `nil` for no TLS.
    public var tls: TLSFiles?
    /// The connections without TLS that are accepted; the others are closed.
    public var plainConnections = PlainConnections.accepted
    /// Further names, `host:port`, under which clients dial this relay.
    public var names: [String] = []
    /// Days until an undelivered envelope is deleted.
    public var ttlDays: Int64 = 30
    /// The most envelopes in one mailbox.
    public var mailboxMessages: Int64 = 5_000
    /// The most bytes of envelopes in one mailbox.
    public var mailboxBytes: Int64 = 100_000_000
    /// The limits of blobs.
    public var blobs = BlobLimits()
    /// The most connections at once.
    public var maximumConnections = 10_000
    /// The monitoring and the wake-ups.
    public var operations = OperationsPlan()
    /// Which ids may have a mailbox.
    public var admission = AdmissionPlan()
    /// The TURN servers for owners of mailboxes, or `nil`.
    public var turn: TurnServers?
    /// The address of a room that the relay offers to everybody, with its phrase, or `nil`: `sotto:room?…&phrase=…`, at
    /// most ``WireLimits/roomURIBytes`` bytes.
    public var announcements: String?
    /// The most envelopes that a mailbox gets in a minute; 0 for no limit.
    public var mailboxRate = 0
    /// The most requests of a connection in a second; 0 for no limit.
    public var connectionRate = 10_000
    /// The most publications in a minute before new ids must do a proof of work; 0 for no limit.
    public var surge = 600
    /// The most bytes of all cards, login keys, prekeys and records of rooms.
    public var directoryBytes: Int64 = 2_000_000_000
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
    /// Called, on any thread, with what the operator should know.
    public var onNotice: @Sendable (RelayNotice) -> Void = { _ in }
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
