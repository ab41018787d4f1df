import SottoState
import SottoWire

/// The next steps. Each step needs the results of the steps before, so it is called again after each.
extension DeliveryState {
    /// Does the next step of the work that is possible now.
    mutating func advance(at now: Double) {
        guard phase == .running else { return }
        if !inFlight.isEmpty, now - lastHeard >= patience.reply {
            lose(.lost(relay: relay), at: now)
        }
        if let retryAt, retryAt <= now, inFlight.isEmpty { retry() }
        // The input may continue, unless many signals wait. This comes before the outbox is read: an error there ends the run.
        if heldBatches > 0, signals.count < Delivery.signalLimit {
            perform(.admit(batches: heldBatches))
            heldBatches = 0
        }
        work(at: now)
    }

    private mutating func work(at now: Double) {
        guard let hasWork else {
            return ask(.look(after: cursor, blobs: uploads.limit(for: 1, deferred: deferred.count)))
        }
        guard hasWork || !signals.isEmpty else { return rest() }
        // Signals need no lock, because they are not in the queue.
        guard let isQueueOurs = turn.isLocked else { return ask(.lock) }
        guard isQueueOurs || hasSignals else { return waitForLock(at: now) }
        guard link == .open else { return connect(at: now) }
        if isQueueOurs {
            if fill(at: now) { return }
            if !turn.hasReadBlobs, uploads.room(now) > 0 {
                turn.hasReadBlobs = true
                return ask(
                    .readBlobs(
                        limit: uploads.limit(for: uploads.room(now), deferred: deferred.count)))
            }
        }
        sendSignals(at: now)
        if inFlight.isEmpty, !turn.isSecondLook {
            (turn.isSecondLook, turn.hasWaiting) = (true, nil)
            work(at: now)
        }
    }

    /// Whether an item can be sent or waits for an answer; `nil` if only the outbox knows.
    private var hasWork: Bool? {
        if !inFlight.isEmpty || !released.isEmpty || uploads.isRunning { return true }
        return turn.hasWaiting
    }

    private var hasSignals: Bool {
        !signals.isEmpty || inFlight.contains { $0.value.kind == .signal }
    }

    /// Waits for more input, or ends the run: no items follow, and no envelope waits for a blob that is being uploaded to another
    /// relay.
    private mutating func rest() {
        lockSince = nil
        // Another process can send until more input comes.
        if turn.isLocked != false { perform(.unlock) }
        turn.isLocked = false
        guard inputEnded else { return collectOnce() }
        guard let waitsForOthers = turn.waitsForOthers else { return ask(.askWaits) }
        guard !waitsForOthers else { return collectOnce() }
        ask(.readFirst(limit: deferred.count + 1))
    }

    /// Collects the outcomes of own items that another process sends.
    private mutating func collectOnce() {
        if !own.isEmpty, !turn.isCollected { ask(.collect(isLast: false)) }
    }

    private mutating func waitForLock(at now: Double) {
        if !own.isEmpty, !turn.isCollected { return ask(.collect(isLast: false)) }
        let isLate = now - (lockSince ?? now) >= lockTimeout
        if inputEnded, wasGiven, own.isEmpty {
            end(isDone: true)
        } else if inputEnded, isLate {
            end(wasLocked: true)
        }
    }

    mutating func end(isDone: Bool = false, wasLocked: Bool = false) {
        phase = .ending(isDone: isDone, wasLocked: wasLocked)
        ask(.collect(isLast: true))
    }
}
