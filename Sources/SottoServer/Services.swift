import Dispatch
import NIOPosix
import SottoState

/// What all connections of a relay share.
struct Services: Sendable {
    let store: any Store
    let writer: Writer
    let reader = DispatchQueue(label: "relay.reader")
    /// The threads that verify signatures and parse long frames: half of the processors, the rest being for the event
    /// loops.
    let verification: NIOThreadPool
    let hub: Hub
    let counters: Counters
    let clock: RelayClock
    let names: RelayNames
    let origins: WebOrigins
    let nonces = NonceBook()
    let tokens = SessionTokens()
    let admission: Admission
    let lockout = Lockout()
    let surge: Surge
    let rates: MailboxRates
    /// The most requests that a connection makes in a second; 0 for as many as it likes.
    let connectionRate: Int
    let timeouts: Timeouts
    let onFailure: @Sendable (StateError) -> Void
}

/// How long a connection may keep a relay waiting, in seconds.
struct Timeouts: Sendable {
    /// For a line to be complete, the first one from the beginning of the connection.
    var line = 10.0
    /// Without any line.
    var idle = 300.0
    /// Without taking what is sent to it.
    var stalled = 60.0
    /// After a failed login on it, doubling with each.
    var failedLogin = 1.0
}
