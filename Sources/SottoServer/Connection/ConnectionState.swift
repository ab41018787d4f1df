import Sotto
import SottoWire

/// The state of one client connection: the frames, results and times that come in, and the effects that follow.
///
/// It uses no socket and no thread. `ConnectionRequests.swift` has the requests, and `ConnectionLogin.swift` the logins
/// and publications. Times are those of ``Monotonic``.
struct ConnectionState {
    /// The most requests that wait for their outcomes, and their bytes; at a limit reading stops.
    private static let pendingLimit = 256
    private static let pendingBytesLimit = 1 << 20
    /// The number of unreadable lines in a row that closes the connection.
    private static let badLineLimit = 10
    /// The number of failed logins that closes the connection.
    private static let failedLoginLimit = 5

    let policy: RelayPolicy
    /// Returns the names of the relay that a login on this connection may be signed for.
    let names: @Sendable () -> [String]
    /// The network of the client, or `nil` if it is unknown.
    let network: [UInt8]?

    /// Whether each request comes alone, over HTTP: any connection may then use a nonce.
    var isHTTP = false
    /// The form of the envelopes that the client gets: pushes, and over HTTP the answer to a poll. Envelopes without that
    /// form wait for another client.
    var form = RelayProtocol.own
    private(set) var isClosing = false
    private var isPaused = false
    private var pending = 0
    private var pendingBytes = 0
    private var badLines = 0
    private var failedLogins = 0
    private var requests: TokenBucket?
    var claims = RateLimit(count: WireLimits.claimsInAMinute, seconds: 60)
    /// The claims in batches that the connection may still make.
    var batches: TokenBucket
    /// The next frame, while it waits for the rate limit.
    private var held: IncomingFrame?
    /// The number of WebSocket frames without a line that are not charged yet: pings, pongs, fragments.
    private var emptyFrames = 0

    private var lineSince: Double?
    private var lastLine: Double
    private var stalledSince: Double?

    var nonce: (bytes: [UInt8], until: Double)?
    /// The mailboxes that are open on this connection, in the order of their logins.
    var mailboxes = OpenMailboxes()
    /// The last id that logged in as a member itself.
    var member: KeyID?
    /// The number of the meeting that the connection uses.
    var meeting: Int64?
    /// The last puzzle, and the number of new ids, claims and meetings that the solved puzzles still allow.
    var puzzle: (nonce: [UInt8], bits: Int)?
    var solvedPuzzles = 0

    /// Creates the state of a connection that begins at `now`.
    init(
        _ policy: RelayPolicy, network: [UInt8]?, at now: Double,
        names: @escaping @Sendable () -> [String]
    ) {
        self.policy = policy
        self.network = network
        self.names = names
        let rate = Double(policy.connectionRate)
        requests = rate > 0 ? TokenBucket(rate: rate, capacity: rate, at: now) : nil
        batches = TokenBucket(
            rate: NetworkRates.claimsPerSecond, capacity: NetworkRates.claims, at: now)
        (lineSince, lastLine) = (now, now)
    }

    // MARK: Input

    /// Whether the connection can handle another frame now.
    var canWork: Bool {
        !isClosing && !isPaused && pending < Self.pendingLimit
            && pendingBytes < Self.pendingBytesLimit
            && stalledSince == nil
    }

    /// Handles the frames that `next` returns, as long as the connection can work.
    mutating func process(
        at now: Double, to sink: some ConnectionEffects, next: () -> FrameInput
    ) {
        while canWork {
            if emptyFrames > 0 {
                let cost = Double(emptyFrames) * emptyFrameCost
                guard isWithinRate(cost: cost, at: now, to: sink) else { return }
                emptyFrames = 0
                // A client of a library that sends pings is alive.
                lastLine = now
                continue
            }
            if let frame = held {
                let cost = frame.cost(rate: Double(policy.connectionRate))
                guard isWithinRate(cost: cost, at: now, to: sink) else { return }
                held = nil
                take(frame, at: now, to: sink)
                continue
            }
            switch next() {
            case .incomplete(let hasBegun):
                lineSince = hasBegun ? lineSince ?? now : nil
                return
            case .tooLong:
                sink.perform(.respond(.error(Refusal(.tooLarge)), to: nil))
                close(sink)
            case .frame(let frame):
                lineSince = nil
                lastLine = now
                held = frame
            }
        }
    }

    /// Returns whether another request is within the connection's rate. If not, the connection pauses until it is.
    private mutating func isWithinRate(
        cost: Double, at now: Double, to sink: some ConnectionEffects
    ) -> Bool {
        guard var bucket = requests else { return true }
        let isWithin = bucket.take(cost, at: now)
        requests = bucket
        if !isWithin { pause(bucket.wait + 0.001, to: sink) }
        return isWithin
    }

    /// The cost, in requests, of a frame without a line: an honest client sends a few in a minute.
    private var emptyFrameCost: Double { max(1, Double(policy.connectionRate) / 100) }

    /// Handles a frame. A frame that takes long is parsed and verified on another thread.
    private mutating func take(
        _ frame: IncomingFrame, at now: Double, to sink: some ConnectionEffects
    ) {
        if let reason = frame.refusal(hasMailbox: mailboxes.find(nil) != nil) {
            // It costs one second's worth of requests.
            let cost = Double(policy.connectionRate)
            _ = requests?.take(cost, at: now)
            refuse(reason, frame.requestID, to: sink)
            return noteBadLine(sink)
        }
        guard frame.isHeavy else { return take(frame.content(), at: now, to: sink) }
        verify(.parse(frame), to: sink)
    }

    private mutating func take(
        _ content: IncomingFrame.Content, at now: Double, to sink: some ConnectionEffects
    ) {
        switch content {
        case .unreadable(let reason):
            sink.perform(.respond(.error(Refusal(reason)), to: nil))
            noteBadLine(sink)
        case .frame(let requestID, let asked):
            badLines = 0
            do throws(Reason) {
                try serve(try asked.get(), requestID, at: now, to: sink)
            } catch {
                refuse(error, requestID, to: sink)
            }
        }
    }

    private mutating func noteBadLine(_ sink: some ConnectionEffects) {
        badLines += 1
        if badLines >= Self.badLineLimit { close(sink) }
    }

    /// Tells the client why its request is refused.
    ///
    /// It delays the answer to a failed login, and closes the connection after too many. A signature cannot be guessed,
    /// so this only limits the cost of verifying. The count is kept per connection, so that the failures of others
    /// never delay an owner. Over HTTP one connection may serve several clients: only the answer is delayed there, not
    /// other requests.
    mutating func refuse(_ reason: Reason, _ requestID: String?, to sink: some ConnectionEffects) {
        policy.counters.add(reason == .tooMany ? .deferred : .refused)
        let response: Response =
            switch reason {
            case .tooLarge: .rejected(Refusal(reason))
            case .tooMany: .deferred(Refusal(reason))
            default: .error(Refusal(reason))
            }
        guard reason == .loginFailed || reason == .notAdmitted else {
            return sink.perform(.respond(response, to: requestID))
        }
        failedLogins += 1
        policy.counters.add(.failedLogins)
        let seconds = policy.timeouts.failedLogin * Double(1 << (failedLogins - 1))
        guard !isHTTP else { return pause(seconds, response: (response, requestID), to: sink) }
        sink.perform(.respond(response, to: requestID))
        guard failedLogins < Self.failedLoginLimit else { return close(sink) }
        pause(seconds, to: sink)
    }

    /// Notes that a line has begun. HTTP and WebSocket deliver lines whole, so their codec does not report it.
    mutating func noteBegun(at now: Double) {
        if pending == 0 { lineSince = lineSince ?? now }
    }

    /// Notes a WebSocket frame without a line, which is charged before the next request.
    mutating func noteEmptyFrame() { emptyFrames += 1 }

    /// Resets the login state before an HTTP request: a proxy may send requests of several clients on one connection.
    mutating func beginRequest() {
        mailboxes = OpenMailboxes()
        member = nil
        failedLogins = 0
    }

    // MARK: Time

    /// Returns whether a timeout has passed, so that the connection must be closed at once.
    func isTimedOut(at now: Double) -> Bool {
        let limits = policy.timeouts
        if let since = lineSince, canWork, now - since > limits.line { return true }
        if let since = stalledSince, now - since > limits.stalled { return true }
        return pending == 0 && now - lastLine > limits.idle
    }

    /// Notes whether the client takes what is sent to it.
    mutating func noteWritable(_ isWritable: Bool, at now: Double) {
        stalledSince = isWritable ? nil : now
    }

    private mutating func pause(
        _ seconds: Double, response: (Response, to: String?)? = nil,
        to sink: some ConnectionEffects
    ) {
        isPaused = true
        sink.perform(.pause(seconds: seconds, response: response))
    }

    /// Ends a pause.
    mutating func endPause() { isPaused = false }

    // MARK: Waiting for results

    /// Asks for a change. Its outcome answers the request; with `then` the connection pauses, and continues there.
    mutating func commit(
        _ change: Change, _ requestID: String?, then step: CommitStep? = nil,
        to sink: some ConnectionEffects
    ) {
        pending += 1
        pendingBytes += change.weight
        if step != nil { isPaused = true }
        sink.perform(.commit(change, to: requestID, then: step))
    }

    /// Asks for data of the store.
    mutating func read(_ query: StoreQuery, to sink: some ConnectionEffects) {
        if query.pauses { isPaused = true }
        pending += 1
        pendingBytes += query.weight
        sink.perform(.read(query))
    }

    /// Asks for slow work.
    mutating func verify(_ work: Verification, to sink: some ConnectionEffects) {
        isPaused = true
        pending += 1
        sink.perform(.verify(work))
    }

    /// Asks for work on a blob.
    mutating func work(_ work: BlobWork, _ requestID: String?, to sink: some ConnectionEffects) {
        isPaused = true
        pending += 1
        sink.perform(.blob(work, to: requestID))
    }

    /// Takes the response of work on a blob.
    mutating func take(
        blob response: Response, _ requestID: String?, to sink: some ConnectionEffects
    ) {
        pending -= 1
        isPaused = false
        if !isClosing { sink.perform(.respond(response, to: requestID)) }
    }

    /// Takes the outcome of a change that is on disk.
    mutating func take(
        _ outcome: Outcome, _ requestID: String?, weight: Int, then step: CommitStep?,
        at now: Double, to sink: some ConnectionEffects
    ) {
        pending -= 1
        pendingBytes -= weight
        guard !isClosing else { return }
        guard let step else { return sink.perform(.respond(outcome.response, to: requestID)) }
        isPaused = false
        if continueMeeting(outcome, step, requestID, to: sink) { return }
        guard outcome == .published else {
            return sink.perform(.respond(outcome.response, to: requestID))
        }
        continueLogin(step, requestID, at: now, to: sink)
    }

    /// Takes the result of slow work.
    mutating func take(
        _ result: Verification.Result, at now: Double, to sink: some ConnectionEffects
    ) {
        pending -= 1
        isPaused = false
        guard !isClosing else { return }
        switch result {
        case .parsed(let content): take(content, at: now, to: sink)
        case .signature(let login, let isSigned, let requestID):
            noteSignature(login, isSigned, requestID, at: now, to: sink)
        case .answer(let login, let context, let isProven, let requestID):
            noteAnswer(login, context, isProven, requestID, at: now, to: sink)
        }
    }

    /// Takes data of the store.
    mutating func take(
        _ result: StoreQuery.Result, at now: Double, to sink: some ConnectionEffects
    ) {
        if case .push(let mailbox, let page) = result { return push(page, of: mailbox, to: sink) }
        if case .full(.push) = result { return close(sink) }
        pending -= 1
        if case .poll(let poll) = result { return take(poll, at: now, to: sink) }
        if case .full(let query) = result {
            pendingBytes -= query.weight
            if query.pauses { isPaused = false }
            guard !isClosing else { return }
            return sink.perform(.respond(Outcome.diskFull.response, to: query.requestID))
        }
        if case .response(let response, let requestID, let weight, let change) = result {
            pendingBytes -= weight
            if let change { sink.perform(.note(change)) }
            if !isClosing { sink.perform(.respond(response, to: requestID)) }
            return
        }
        isPaused = false
        guard !isClosing else { return }
        switch result {
        case .wake(let wake, let known, let requestID):
            register(wake, replacing: known, requestID, at: now, to: sink)
        case .invitations(let invitation, let member, let account, let count, let requestID):
            invite(invitation, by: member, account, count, requestID, to: sink)
        default: continueLogin(result, at: now, to: sink)
        }
    }

    /// Answers a poll that has enough messages, or reads more. Each further read costs a request.
    private mutating func take(_ poll: FlowPoll, at now: Double, to sink: some ConnectionEffects) {
        pendingBytes -= FlowPoll.weight
        guard !isClosing else { return }
        guard !poll.isComplete else {
            return sink.perform(.respond(.messages(poll.messages, more: false), to: poll.requestID))
        }
        _ = requests?.take(at: now)
        read(.poll(poll), to: sink)
    }

    // MARK: Pushes

    /// Notes arrivals in subscribed mailboxes and pushes them.
    mutating func noteArrivals(_ arrived: [KeyID], to sink: some ConnectionEffects) {
        for mailbox in arrived {
            mailboxes[mailbox]?.noteArrival()
            pump(mailbox, to: sink)
        }
    }

    /// Continues the pushes of all subscriptions.
    mutating func pumpAll(to sink: some ConnectionEffects) {
        for mailbox in mailboxes.subscribed { pump(mailbox, to: sink) }
    }

    /// Asks for the next envelopes of a subscription, unless the client has enough of them.
    mutating func pump(_ mailbox: KeyID, to sink: some ConnectionEffects) {
        guard !isClosing, stalledSince == nil,
            let (after, limit) = mailboxes[mailbox]?.beginRead()
        else { return }
        sink.perform(.read(.push(mailbox, after: after, limit: limit)))
    }

    private mutating func push(
        _ page: Page, of mailbox: KeyID, to sink: some ConnectionEffects
    ) {
        guard !isClosing, let pushes = mailboxes[mailbox]?.endRead(page, as: form) else { return }
        for push in pushes { sink.perform(.respond(push, to: nil)) }
        pump(mailbox, to: sink)
    }

    /// Pushes an envelope with a time to live of 0, unless the client does not read what is sent to it. Returns whether
    /// it was pushed.
    func push(signal: AddressedEnvelope, to sink: some ConnectionEffects) -> Bool {
        guard !isClosing, stalledSince == nil, form == .own, mailboxes[signal.to] != nil else {
            return false
        }
        sink.perform(.respond(.signal(signal.bytes), to: nil))
        return true
    }

    // MARK: The end

    /// Tells the client that another connection consumes the mailbox now, and closes.
    mutating func replace(_ sink: some ConnectionEffects) {
        guard !isClosing else { return }
        sink.perform(.respond(.replaced, to: nil))
        close(sink)
    }

    /// Closes the connection after the written responses have been sent.
    mutating func close(_ sink: some ConnectionEffects) {
        guard !isClosing else { return }
        isClosing = true
        sink.perform(.close)
    }

    /// Notes that the connection has ended.
    mutating func noteEnd() { isClosing = true }
}
