import SottoState
import SottoWire

/// The state of the delivery to one relay: events and times come in, and effects follow.
///
/// It uses no socket, no database, no thread and no clock. The run performs the effects in their order: an outcome is recorded in
/// the outbox before its result is reported. `DeliverySteps.swift` decides what is done next, `DeliveryWindow.swift` has what is
/// sent, and `DeliveryResponses.swift` the answers of the relay. Times are those of ``Monotonic``.
struct DeliveryState {
    /// The relay without a pin, for results and errors.
    let relay: String
    let patience: Delivery.Patience
    let lockTimeout: Double

    /// The knowledge about the outbox and other deliveries in this turn. Other processes change them at any time.
    struct Turn {
        var isLocked: Bool?
        /// Whether an envelope or a blob waits.
        var hasWaiting: Bool?
        /// Whether no envelope follows that the window could take.
        var isRead = false
        var hasReadBlobs = false
        var isCollected = false
        /// Whether a blob is being uploaded to another relay, for which an envelope waits.
        var waitsForOthers: Bool?
        /// Whether the work was looked for again after all was sent.
        var isSecondLook = false
    }

    /// The connection to the relay.
    enum Link: Equatable {
        case none, connecting, open
    }

    /// The end of the run, while its last effects are performed.
    enum Phase: Equatable {
        case running
        case ending(isDone: Bool, wasLocked: Bool)
        case ended
    }

    var turn = Turn()
    var link = Link.none
    /// The number of the current connection.
    var generation = 0
    var phase = Phase.running
    private var effects: [DeliveryEffect] = []
    /// Whether a result of an effect is awaited.
    private var isAsking = false

    var hasProgressed = false
    var backoff = Backoff()
    var connectAt = 0.0
    var lastError: ClientError?
    /// The end of a connection whose attempt has no result yet.
    var earlyEnd: ClientError?
    private(set) var inputEnded = false
    var wasGiven = false
    var lockSince: Double?
    /// When the relay last answered about an item.
    var lastHeard = 0.0

    /// The items of this process without an outcome.
    var own: [Int64: Outbox.Item] = [:]
    /// The items that the relay has not answered. Signals, which have a time to live of 0, have negative numbers.
    var inFlight: [Int64: Outbox.Item] = [:]
    var inFlightBytes = 0
    /// Signals that were not sent yet.
    var signals: [Outbox.Item] = []
    var lastSignal: Int64 = 0
    /// The number of batches for which the input still waits.
    var heldBatches = 0
    /// Items for which the relay requires a proof of work first.
    var awaitingWork: [Int64] = []
    /// The puzzles that were solved on this connection.
    var puzzles = 0
    /// The last number that was sent on this connection.
    var cursor: Int64 = 0
    /// Envelopes with a number before the cursor. They waited for a blob and can be sent now.
    var released: [(number: Int64, item: Outbox.Item)] = []
    var deferred: [Int64: (item: Outbox.Item, refusal: Refusal)] = [:]
    var deferredMailboxes: [String: Refusal] = [:]
    var retryAt: Double?
    var uploads: UploadQueue
    private var outcomes: [(number: Int64, outcome: String)] = []
    var results: [DeliveryResult] = []
    /// The blobs whose outcomes are not recorded yet, and whose files are removed then.
    private var finishedBlobs: [String] = []
    /// The own items with outcomes before their recording, and during it.
    private var settling: [(number: Int64, item: Outbox.Item)] = []
    private var recording: [(number: Int64, item: Outbox.Item)] = []

    /// Creates the state of a delivery before its first event. Without `hasBlobs` it uploads no blobs. After the end of the input
    /// it waits at most `lockTimeout` seconds for another process that sends.
    init(
        to relay: String, hasBlobs: Bool, lockTimeout: Double,
        patience: Delivery.Patience = Delivery.Patience()
    ) {
        self.relay = relay
        self.patience = patience
        self.lockTimeout = lockTimeout
        uploads = UploadQueue(hasFiles: hasBlobs)
    }

    /// The items of this process without a recorded outcome, and the signals that were not sent.
    var unfinished: [Outbox.Item] {
        let items = own.map { (number: $0.key, item: $0.value) } + settling + recording
        return items.sorted { $0.number < $1.number }.map(\.item) + signals
    }

    /// Whether the connection with this number is open.
    func isOpen(_ generation: Int) -> Bool { link == .open && generation == self.generation }

    // MARK: Time

    /// Begins a turn, at an event or a time. What was known of the outbox may have changed.
    mutating func beginTurn() { turn = Turn() }

    /// Seconds to wait for an event after all effects were performed; `nil` waits until one arrives.
    func timeout(at now: Double) -> Double? {
        var moments: [Double] = []
        if lockSince != nil { moments.append(now + 0.02) }
        if connectAt > now, link == .none { moments.append(connectAt) }
        if !inFlight.isEmpty { moments.append(lastHeard + patience.reply) }
        if let retryAt, !inputEnded { moments.append(retryAt) }
        if let at = uploads.nextAttempt(now) { moments.append(at) }
        return moments.min().map { max(0, $0 - now) }
    }

    // MARK: Events

    /// Takes an event. The effects that follow come from ``effects(at:)``.
    mutating func take(_ event: DeliveryEvent, at now: Double) {
        switch event {
        case .given(let items):
            heldBatches += 1
            signals += items.filter { $0.kind == .signal }
            let kept = items.filter { $0.kind != .signal }
            if !kept.isEmpty { effects.append(.append(kept)) }
        case .stored(let items):
            for (number, item) in items { own[number] = item }
            if items.contains(where: { $0.item.kind == .blob }) { uploads.noteMore() }
            if !items.isEmpty { wasGiven = true }
            turn.hasWaiting = nil
        case .other:
            // An envelope before the cursor may have waited for a blob at the other relay.
            cursor = 0
            if own.values.contains(where: { $0.needs != nil }) { effects.append(.readNumbers) }
        case .end:
            inputEnded = true
            // One more attempt is made now, whatever failed before.
            if link != .open { lastError = nil }
        case .connected(let generation):
            guard generation == self.generation, link == .connecting else { return }
            if let earlyEnd { return lose(earlyEnd, at: now) }
            (link, puzzles, lastHeard) = (.open, 0, now)
        case .closed(let error, let generation) where link == .connecting:
            // The result of the attempt follows. If it failed, it has the reason.
            if generation == self.generation { earlyEnd = error }
        case .failed(let error, let generation), .closed(let error, let generation):
            if generation == self.generation, link != .none { lose(error, at: now) }
        case .response(let response, let requestID, let generation):
            guard generation == self.generation, link == .open else { return }
            take(response, requestID, at: now)
        case .uploaded(let number, let ending): take(ending, of: number, at: now)
        case .looked, .read, .blobs, .released, .refused, .numbers, .first, .collected, .locked,
            .waits, .solved:
            take(result: event, at: now)
        }
    }

    /// Takes the result of an effect.
    private mutating func take(result: DeliveryEvent, at now: Double) {
        isAsking = false
        switch result {
        case .looked(let isWaiting, let blobs):
            let hasBlob = uploads.isWaiting(blobs) { deferred[$0] != nil }
            turn.hasWaiting = isWaiting || hasBlob
        case .read(let items, let last, let limit): fill(items, last: last, limit: limit, at: now)
        case .blobs(let blobs):
            for (number, item) in uploads.start(blobs, except: { deferred[$0] != nil }) {
                effects.append(.upload(number, item))
            }
        case .released(let items):
            // If the outbox has the blob twice, they are sent already.
            let known = Set(released.map(\.number) + outcomes.map(\.number))
            released += items.filter { inFlight[$0.number] == nil && !known.contains($0.number) }
        case .refused(let items, let refusal):
            for (number, item) in items { done(number, item, .rejected, refusal) }
        case .numbers(let left):
            // Another delivery reported the others, because the relay with their blob refused it.
            own = own.filter { left.contains($0.key) || $0.value.needs == nil }
        case .first(let numbers):
            if numbers.contains(where: { deferred[$0] == nil }) {
                // It waited for a blob at another relay, whose delivery has just recorded that the blob is there.
                (cursor, turn) = (0, Turn())
            } else {
                end(isDone: uploads.error == nil)
            }
        case .collected(let outcomes, let left): collect(outcomes, left: left)
        case .locked(let isOurs):
            turn.isLocked = isOurs
            lockSince = isOurs ? nil : lockSince ?? now
        case .waits(let isWaiting): turn.waitsForOthers = isWaiting
        case .solved(let solution): take(solution, at: now)
        default: break
        }
    }

    /// Takes the result of an upload.
    private mutating func take(_ ending: BlobUploader.Ending, of number: Int64, at now: Double) {
        guard let item = uploads.end(number, ending, isLast: inputEnded, at: now) else { return }
        if uploads.endFailure() { effects.append(.retryUploads) }
        switch ending {
        case .stored(let isNew):
            done(number, item, isNew ? .stored : .duplicate)
            finishedBlobs.append(item.id)
            effects.append(.readReleased(by: item.id))
        case .rejected(let refusal):
            done(number, item, .rejected, refusal)
            finishedBlobs.append(item.id)
            effects.append(.readDependents(of: item.id, refusal))
        case .deferred(let refusal):
            deferred[number] = (item, refusal)
            results.append(result(item, .deferred, refusal))
            retryAt = retryAt ?? now + Delivery.retryDelay
        case .failed: break
        }
    }

    // MARK: Outcomes

    /// Notes the outcome of an item, which is recorded before its result is reported.
    mutating func done(
        _ number: Int64, _ item: Outbox.Item, _ status: DeliveryResult.Status,
        _ refusal: Refusal? = nil
    ) {
        if item.kind != .signal {
            if own.removeValue(forKey: number) != nil { settling.append((number, item)) }
            outcomes.append((number, DeliveryOutcome(status, refusal).text))
        }
        results.append(result(item, status, refusal))
    }

    func result(
        _ item: Outbox.Item, _ status: DeliveryResult.Status, _ refusal: Refusal? = nil
    ) -> DeliveryResult {
        DeliveryResult(item, status, refusal, relay: relay)
    }

    /// Drops signals. They are not in the outbox.
    mutating func drop(signals items: [Outbox.Item]) {
        results += items.map { result($0, .dropped) }
    }

    /// Notes the outcomes that another process recorded for our items. At the end `left` items wait.
    private mutating func collect(_ found: [(number: Int64, outcome: String)], left: Int) {
        turn.isCollected = true
        for (number, outcome) in found {
            guard let item = own.removeValue(forKey: number) else { continue }
            let outcome = DeliveryOutcome(text: outcome)
            results.append(result(item, outcome.status, outcome.refusal))
        }
        guard case .ending(let isDone, let wasLocked) = phase else { return }
        phase = .ended
        drop(signals: signals)
        signals = []
        for (number, item) in own.sorted(by: { $0.key < $1.key }) where deferred[number] == nil {
            results.append(result(item, .queued))
        }
        let isAllDeferred = isDone && !deferred.contains { $0.value.item.kind == .blob }
        let ending = Delivery.Ending(
            left: isAllDeferred ? deferred.count : left,
            error: isDone || wasLocked ? nil : uploads.error ?? lastError, wasLocked: wasLocked)
        effects.append(.end(ending))
    }

    // MARK: Effects

    /// Returns the effects that are due. After they were performed it is called again, until there are none.
    mutating func effects(at now: Double) -> [DeliveryEffect] {
        if effects.isEmpty, !isAsking { advance(at: now) }
        var due: [DeliveryEffect] = []
        if !outcomes.isEmpty { due.append(.record(outcomes)) }
        due += finishedBlobs.map { .removeFile(blob: $0) }
        if !results.isEmpty { due.append(.report(results)) }
        due += effects
        (outcomes, finishedBlobs, results, effects) = ([], [], [], [])
        (recording, settling) = (settling, [])
        return due
    }

    /// Asks for an effect.
    mutating func perform(_ effect: DeliveryEffect) { effects.append(effect) }

    /// Asks for an effect whose result the next step needs.
    mutating func ask(_ effect: DeliveryEffect) {
        isAsking = true
        effects.append(effect)
    }
}

extension Outbox.Item {
    /// Items with the same key are sent in order: an item waits while an earlier one is postponed.
    var orderingKey: String {
        switch kind {
        case .envelope, .signal: to
        case .prekeys: "prekeys " + to
        case .record: "record " + to
        case .blob: "blob " + id
        }
    }
}
