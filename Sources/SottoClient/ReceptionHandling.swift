import Sotto
import SottoDatabase
import SottoState
import SottoWire

/// The handling of envelopes.
extension Reception.Run {
    /// Returns the envelope that the relay delivered, or `nil` if it is for another mailbox.
    mutating func ours(_ delivered: Delivered) -> AddressedEnvelope? {
        guard let envelope = noteOrigin(of: delivered.envelope),
            session?.mailboxes.contains(envelope.to) == true
        else { return nil }
        return envelope
    }

    /// Whether a line is an envelope with a time to live of 0 for one of the open mailboxes.
    func isOurSignal(_ line: [UInt8]) -> Bool {
        guard let record = try? JSON.object(parsing: line),
            let envelope = try? AddressedEnvelope(record)
        else { return false }
        return envelope.ttl == 0 && session?.mailboxes.contains(envelope.to) == true
    }

    /// Prints envelopes with a time to live of 0, or runs the command for each, up to the remaining maximum. They are
    /// not in the inbox, and a command that fails is not run again.
    mutating func take(signals: [[UInt8]]) throws {
        let some = Array(signals.prefix(left))
        guard !some.isEmpty else { return }
        switch handling {
        case .print(let body): try body(some)
        case .run(let body): for envelope in some { _ = try body(envelope) }
        }
        ending.received += some.count
    }

    /// Records the mailbox that received an envelope.
    @discardableResult
    mutating func noteOrigin(of line: [UInt8]) -> AddressedEnvelope? {
        guard let record = try? JSON.object(parsing: line),
            let envelope = try? AddressedEnvelope(record)
        else { return nil }
        if envelope.to != plan.owner.id { origins[envelope.id] = envelope.to }
        return envelope
    }

    /// Takes pushed envelopes, up to the remaining maximum.
    mutating func take(_ pushed: [(id: String, envelope: [UInt8])]) throws {
        // After a reconnection the relay pushes unacknowledged envelopes again.
        // A hostile relay pushes one many times.
        var ids: Set<String> = []
        let batch = pushed.filter { !retries.contains($0.id) && ids.insert($0.id).inserted }
        guard let store = plan.store else {
            return try handle(Array(batch.prefix(left)), acknowledging: true)
        }
        var rest = batch[...]
        while !rest.isEmpty, !isFull {
            // Known envelopes do not count, so several rounds may be needed.
            let some = Array(rest.prefix(left))
            rest = rest.dropFirst(some.count)
            let known = try store.receive(some, to: deliveryMode, limit: plan.inboxLimit)
            var fresh: [(id: String, envelope: [UInt8])] = []
            var done: [String] = []
            var dead: [String] = []
            for (item, state) in zip(some, known) {
                switch state {
                case .new, .waiting:
                    if failed.contains(item.id) {
                        dead.append(item.id)
                    } else {
                        fresh.append(item)
                    }
                case .handled: done.append(item.id)
                case .dead: dead.append(item.id)
                // It is not acknowledged, so the relay keeps it.
                case .full: isInboxFull = true
                }
            }
            if case .print = handling { done += fresh.map(\.id) }
            acknowledge(done, .delivered)
            acknowledge(dead, .failed)
            try handle(fresh, acknowledging: true)
        }
    }

    mutating func handle(
        _ envelopes: [(id: String, envelope: [UInt8])], acknowledging: Bool
    ) throws {
        guard !envelopes.isEmpty else { return }
        pace.received(envelopes.reduce(0) { $0 + Int64($1.envelope.count) })
        switch handling {
        case .print(let body):
            try body(envelopes.map(\.envelope))
            ending.received += envelopes.count
            if let store = plan.store {
                try store.markPrinted(envelopes.map(\.id))
            } else {
                acknowledge(envelopes.map(\.id), .delivered)
            }
        case .run(let body):
            for (id, envelope) in envelopes {
                try runCommand(body, id, envelope, acknowledging: acknowledging)
            }
        }
    }

    private mutating func runCommand(
        _ body: ([UInt8]) throws -> Bool, _ id: String, _ envelope: [UInt8],
        acknowledging: Bool
    ) throws {
        if try body(envelope) {
            ending.received += 1
            successes += 1
            retries.remove(id)
            try plan.store?.markHandled([id])
            if acknowledging { acknowledge([id], .delivered) }
        } else if plan.follow {
            try retryLater(id, envelope)
        } else {
            ending.failed += 1
            failed.insert(id)
            _ = try plan.store?.markFailed(id)
            if acknowledging { acknowledge([id], .failed) }
        }
    }

    /// Schedules another attempt of a failed command after a delay.
    ///
    /// The failure counts towards the limit only if the command has handled another envelope since the last attempt:
    /// then this envelope causes the failure, and not the command.
    private mutating func retryLater(_ id: String, _ envelope: [UInt8]) throws {
        let origin = origins[id]
        let counts = retries.noteFailure(
            id, envelope, origin: origin, successes: successes, at: Monotonic.seconds())
        guard counts else { return }
        let isKept =
            try plan.store?.markFailed(id)
            ?? (retries.countedFailures(of: id) < IdentityStore.failureLimit)
        acknowledge([id], .failed)
        guard isKept, retries.contains(id) else {
            retries.remove(id)
            failed.insert(id)
            ending.failed += 1
            return
        }
        origins[id] = origin
    }

    /// Runs the commands whose delay is over.
    mutating func retryDue() throws {
        guard case .run(let body) = handling else { return }
        for retry in retries.due(at: Monotonic.seconds()) where !isFull {
            origins[retry.id] = retry.origin
            try runCommand(body, retry.id, retry.envelope, acknowledging: true)
        }
    }

    mutating func acknowledge(_ ids: [String], _ handled: Request.Handled) {
        for (mailbox, ids) in Dictionary(grouping: ids, by: { origins[$0] }) {
            var rest = ids[...]
            while !rest.isEmpty, session != nil {
                requests += 1
                session?.waitingForAcks += 1
                let request = Request.ack(
                    ids: Array(rest.prefix(WireLimits.ackCount)), handled,
                    of: mailbox ?? plan.owner.id)
                session?.link(of: mailbox ?? plan.owner.id).write(
                    request.line(requestID: "\(requests)"))
                rest = rest.dropFirst(WireLimits.ackCount)
            }
            for id in ids { origins[id] = nil }
        }
    }

    /// Waits up to 5 seconds for the relay to confirm the acknowledgements, and some for the publication of prekeys, and closes
    /// the connections.
    mutating func finish() {
        let start = Monotonic.seconds()
        let deadline = start + 5
        waiting: while let session, !session.isLost, session.waitingForAcks > 0 {
            let left = deadline - Monotonic.seconds()
            let events = left > 0 ? self.session?.take(timeout: left) ?? [] : []
            if events.isEmpty { break }
            for event in events {
                switch event {
                case .response(.acked, _), .response(.deferred, _):
                    self.session?.waitingForAcks -= 1
                case .closed: break waiting
                case .response: break
                }
            }
        }
        endPublication(by: start + plan.publicationSeconds)
        session?.close()
        session = nil
    }
}
