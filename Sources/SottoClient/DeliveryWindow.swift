import Sotto
import SottoState
import SottoWire

/// The sending: at most ``Delivery/window`` items and ``Delivery/windowBytes`` bytes without an answer.
extension DeliveryState {
    private var hasRoom: Bool {
        inFlight.count < Delivery.window && inFlightBytes < Delivery.windowBytes
    }

    /// Sends items that can be sent now, up to the window. Returns whether it asked the outbox for more.
    mutating func fill(at now: Double) -> Bool {
        if !released.isEmpty, hasRoom {
            let items = Array(released.prefix(Delivery.window - inFlight.count))
            released.removeFirst(items.count)
            send(items, at: now)
        }
        guard released.isEmpty, hasRoom, !turn.isRead else { return false }
        ask(.read(after: cursor, limit: Delivery.window - inFlight.count))
        return true
    }

    /// Sends items of the outbox, and moves the cursor behind them. `last` is the number of its newest item.
    mutating func fill(
        _ items: [(number: Int64, item: Outbox.Item)], last: Int64, limit: Int, at now: Double
    ) {
        turn.isRead = items.count < limit
        guard link == .open else { return }
        // The envelopes that wait for a blob are released with it.
        cursor = max(items.last?.number ?? cursor, items.count < limit ? last : 0)
        send(items, at: now)
    }

    private mutating func send(_ items: [(number: Int64, item: Outbox.Item)], at now: Double) {
        var lines: [UInt8] = []
        for (number, item) in items where inFlight[number] == nil {
            if let expires = item.expires, expires <= .now() {
                done(number, item, .expired)
                continue
            }
            if let refusal = deferredMailboxes[item.orderingKey] {
                postpone(number, item, refusal, at: now)
                continue
            }
            launch(number, item, at: now, &lines)
        }
        if !lines.isEmpty { perform(.write(lines)) }
    }

    private mutating func launch(
        _ number: Int64, _ item: Outbox.Item, at now: Double, _ lines: inout [UInt8]
    ) {
        if inFlight.isEmpty { lastHeard = now }
        inFlight[number] = item
        inFlightBytes += item.envelope.count
        lines += item.line(requestID: "\(number)")
    }

    /// Sends signals up to the window.
    mutating func sendSignals(at now: Double) {
        var lines: [UInt8] = []
        var count = 0
        while count < signals.count, hasRoom {
            lastSignal -= 1
            launch(lastSignal, signals[count], at: now, &lines)
            count += 1
        }
        signals.removeFirst(count)
        if !lines.isEmpty { perform(.write(lines)) }
    }
}

extension Outbox.Item {
    /// The request that sends the item.
    func line(requestID: String) -> [UInt8] {
        switch kind {
        case .envelope, .signal: Request.sendLine(envelope, requestID: requestID)
        case .prekeys: Request.publishLine(envelope, requestID: requestID)
        case .record: Request.recordLine(envelope, requestID: requestID)
        case .blob: []
        }
    }
}
