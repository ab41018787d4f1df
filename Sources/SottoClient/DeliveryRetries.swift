import SottoState
import SottoWire

/// What is tried again, and when: items that the relay deferred, and the connection.
extension DeliveryState {
    /// Leaves an item in the outbox, with the later items for the same mailbox.
    mutating func postpone(
        _ number: Int64, _ item: Outbox.Item, _ refusal: Refusal, at now: Double
    ) {
        if deferred.updateValue((item, refusal), forKey: number) == nil {
            results.append(result(item, .deferred, refusal))
        }
        deferredMailboxes[item.orderingKey] = refusal
        retryAt = retryAt ?? now + Delivery.retryDelay
    }

    /// Sends the deferred items again.
    mutating func retry() {
        (retryAt, cursor, deferred, deferredMailboxes) = (nil, 0, [:], [:])
        uploads.noteMore()
    }

    /// Gives up the connection. What the relay has not answered is sent again; signals are not.
    mutating func lose(_ error: ClientError, at now: Double) {
        perform(.close)
        (link, earlyEnd) = (.none, nil)
        generation += 1
        let unanswered = inFlight.filter { $0.value.kind == .signal }
        drop(signals: unanswered.sorted { $0.key > $1.key }.map(\.value))
        (inFlight, inFlightBytes, awaitingWork) = ([:], 0, [])
        (cursor, released) = (0, [])
        lastError = error
        connectAt = now + backoff.next()
    }

    /// Begins a connection if it is time for one, or ends the run if no other attempt is worthwhile.
    mutating func connect(at now: Double) {
        guard link == .none else { return }
        // After the end of input a second failure in a row, or a refusal, is final, unless a blob progressed a short time ago.
        let isPatient = lastError?.isTransient ?? false && uploads.isProgressing(now)
        if inputEnded, lastError != nil, !mayRetry, !isPatient {
            return end()
        }
        guard connectAt <= now || inputEnded && !isPatient else {
            drop(signals: signals)
            signals = []
            return
        }
        link = .connecting
        hasProgressed = false
        generation += 1
        perform(.connect(generation: generation))
    }

    /// Whether a connection that had made progress was lost, so that one more attempt is worthwhile.
    private var mayRetry: Bool {
        if case .lost = lastError { hasProgressed } else { false }
    }
}
