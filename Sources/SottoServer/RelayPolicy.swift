/// The rules and the shared state by which the requests of all connections are judged. It uses no socket.
final class RelayPolicy: Sendable {
    let admission: Admission
    let clock: RelayClock
    let counters = Counters()
    let nonces = IssuedNonces()
    let tokens = SessionTokens()
    let lockout = Lockout()
    let addresses = KnownAddresses()
    let newIDLimit: NewIDLimit
    let directory: DirectoryLimit
    let rates: MailboxRates
    let blobLimits: BlobLimits
    /// The bytes of blobs that each network uploads.
    let uploads: NetworkRates
    /// The claims that each network makes in batches.
    let batches: NetworkRates
    let meetings = MeetingLimits()
    /// The TURN servers for owners of mailboxes, or `nil`.
    let turn: TurnServers?
    /// The rules for the wake-ups that owners register, or `nil` if they can register none.
    let ownersWake: OwnersWakePlan?
    /// The most invitations of a member that were used or are open.
    let invitationsPerMember: Int64
    /// The address of the room that the relay offers to everybody, with its phrase, or `nil`.
    let announcements: String?
    /// The most requests of a connection in a second; 0 for no limit.
    let connectionRate: Int
    let timeouts: Timeouts

    /// Creates the policy of a relay.
    init(_ configuration: RelayConfiguration, _ clock: RelayClock) {
        self.clock = clock
        admission = Admission(configuration.admission)
        newIDLimit = NewIDLimit(limit: configuration.surge, bits: configuration.surgeBits)
        directory = DirectoryLimit(configuration.directoryBytes)
        rates = MailboxRates(perMinute: configuration.mailboxRate)
        blobLimits = configuration.blobs
        uploads = NetworkRates(perDay: configuration.blobs.networkDay)
        batches = NetworkRates(
            rate: NetworkRates.claimsPerSecond, capacity: NetworkRates.claims)
        turn = configuration.turn
        ownersWake = configuration.operations.ownersWake
        invitationsPerMember = configuration.admission.invitationsPerMember
        announcements = configuration.announcements
        connectionRate = configuration.connectionRate
        timeouts = Timeouts(
            line: configuration.lineTimeout, failedLogin: configuration.failedLoginPause)
    }
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
