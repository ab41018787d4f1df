import Dispatch
import NIOPosix
import SottoDatabase

/// The services that all connections of a relay share.
struct Services: Sendable {
    let store: any Store
    let writer: Writer
    let reader = DispatchQueue(label: "relay.reader")
    /// The threads that verify signatures and parse long frames: half of the processors; the others are for the event
    /// loops.
    let verification: NIOThreadPool
    let subscribers: SubscriberRegistry
    let counters: Counters
    let clock: RelayClock
    let names: RelayNames
    let origins: WebOrigins
    let nonces = IssuedNonces()
    let tokens = SessionTokens()
    let admission: Admission
    let lockout = Lockout()
    let surgeLimit: SurgeLimit
    let rates: MailboxRates
    /// The most requests of a connection in a second; 0 for no limit.
    let connectionRate: Int
    let timeouts: Timeouts
    let onFailure: @Sendable (StoreError) -> Void
}

/// The timeouts of a connection, in seconds.
struct Timeouts: Sendable {
    /// The time for a line to be complete; for the first line, from the start of the connection.
    var line = 10.0
    /// The time without any line.
    var idle = 300.0
    /// The time for which a client may not read what is sent to it.
    var stalled = 60.0
    /// The wait after a failed login, doubled after each further one.
    var failedLogin = 1.0
}
