import Dispatch
import NIOPosix
import Sotto
import SottoDatabase
import SottoState
import SottoWire

extension Delivery {
    /// The state of ``run(_:)``.
    struct Run {
        let delivery: Delivery
        let group: MultiThreadedEventLoopGroup
        var link: RelayLink?

        private var isConnecting = false
        private var hasProgressed = false
        private var generation = 0
        private var backoff = Backoff()
        private var connectAt = 0.0
        private var lastError: ClientError?
        private(set) var inputEnded = false
        private var wasGiven = false
        private var lockSince: Double?
        private var lastHeard = 0.0

        /// The items of this process without an outcome.
        private var own: [Int64: Outbox.Item] = [:]
        private var inFlight: [Int64: Outbox.Item] = [:]
        private var inFlightBytes = 0
        /// Envelopes with a time to live of 0 that were not sent yet. In flight they have negative numbers.
        private var signals: [Outbox.Item] = []
        private var lastSignal: Int64 = 0
        /// The number of batches for which ``Delivery/submit(_:)`` still waits.
        private(set) var heldBatches = 0
        /// Items for which the relay requires a proof of work first.
        private var awaitingWork: [Int64] = []
        /// The puzzles that were solved on this connection.
        private var puzzles = 0
        /// The most puzzles of one connection: each takes some seconds of a core.
        private static let mostPuzzles = 2
        private static let workID = "work"
        /// The last number that was sent on this connection.
        private var cursor: Int64 = 0
        /// Envelopes with a number before the cursor. They waited for a blob and can be sent now.
        private var released: [(number: Int64, item: Outbox.Item)] = []
        private var deferred: [Int64: (item: Outbox.Item, refusal: Refusal)] = [:]
        private var deferredMailboxes: [String: Refusal] = [:]
        private var retryAt: Double?
        private var uploads: Uploads
        private var outcomes: [(number: Int64, outcome: String)] = []
        /// The own items of ``outcomes``.
        private var settling: [(Int64, Outbox.Item)] = []
        private var results: [DeliveryResult] = []

        init(delivery: Delivery, group: MultiThreadedEventLoopGroup) {
            self.delivery = delivery
            self.group = group
            uploads = Uploads(delivery, group)
        }

        /// The items of this process without a recorded outcome.
        var unfinished: [Outbox.Item] {
            (own.map { ($0.key, $0.value) } + settling).sorted { $0.0 < $1.0 }.map(\.1) + signals
        }

        private var relayName: String { delivery.relay.description }
        private var outboxName: String { delivery.queue }

        /// Seconds to wait for an event; `nil` waits until one arrives.
        var timeout: Double? {
            let now = Monotonic.seconds()
            var moments: [Double] = []
            if lockSince != nil { moments.append(now + 0.02) }
            if connectAt > now, !isConnecting, link == nil { moments.append(connectAt) }
            if !inFlight.isEmpty { moments.append(lastHeard + delivery.patience.reply) }
            if let retryAt, !inputEnded { moments.append(retryAt) }
            if let at = uploads.nextAttempt { moments.append(at) }
            return moments.min().map { max(0, $0 - now) }
        }

        /// Ends the connection, and waits until the files of uploaded blobs are removed.
        func finish() {
            link?.close()
            uploads.finish()
        }

        mutating func take(_ event: Event) throws(StateError) {
            switch event {
            case .items(let items):
                heldBatches += 1
                signals += items.filter { $0.kind == .signal }
                let kept = items.filter { $0.kind != .signal }
                let numbers = try delivery.outbox.append(
                    kept, relay: outboxName)
                add(Array(zip(numbers, kept)))
            case .stored(let items): add(items)
            case .other:
                // An envelope before the cursor may have waited for a blob at the other relay.
                cursor = 0
                try forgetRejected()
            case .end:
                inputEnded = true
                // One more attempt is made now, whatever failed before.
                if link == nil { lastError = nil }
            case .connected(.success(let new)):
                (isConnecting, puzzles) = (false, 0)
                link = new
                lastHeard = Monotonic.seconds()
            case .connected(.failure(let error)):
                isConnecting = false
                lost(error)
            case .link(.closed(let error), let generation):
                if generation == self.generation, link != nil || isConnecting { lost(error) }
            case .link(.response(let response, let requestID), let generation):
                guard generation == self.generation else { return }
                take(response, requestID)
            case .uploaded(let number, let ending): try take(ending, of: number)
            }
        }

        private mutating func add(_ items: [(number: Int64, item: Outbox.Item)]) {
            for (number, item) in items { own[number] = item }
            if items.contains(where: { $0.item.kind == .blob }) { uploads.mayWait = true }
            if !items.isEmpty { wasGiven = true }
        }

        /// Forgets the items that another delivery reported, because the relay with their blob refused it.
        private mutating func forgetRejected() throws(StateError) {
            guard own.values.contains(where: { $0.needs != nil }) else { return }
            let left = try delivery.outbox.numbers(relay: outboxName)
            own = own.filter { left.contains($0.key) || $0.value.needs == nil }
        }

        /// Takes the result of an upload.
        private mutating func take(
            _ ending: BlobUploader.Ending, of number: Int64
        ) throws(StateError) {
            guard let item = uploads.end(number, ending, isLast: inputEnded) else { return }
            switch ending {
            case .stored(let isNew):
                done(number, item, isNew ? .stored : .duplicate)
                try release(needing: item.id)
            case .rejected(let refusal):
                done(number, item, .rejected, refusal)
                for (number, item) in try delivery.outbox.items(needing: item.id, relay: nil) {
                    done(number, item, .rejected, refusal)
                }
            case .deferred(let refusal):
                deferred[number] = (item, refusal)
                results.append(result(item, .deferred, refusal))
                retryAt = retryAt ?? Monotonic.seconds() + Delivery.retryDelay
            case .failed: break
            }
        }

        /// Lets the envelopes that waited for a blob be sent. If the outbox has the blob twice, they are sent already.
        private mutating func release(needing blob: String) throws(StateError) {
            let known = Set(released.map(\.number) + outcomes.map(\.number))
            released += try delivery.outbox.items(needing: blob, relay: outboxName).filter {
                inFlight[$0.number] == nil && !known.contains($0.number)
            }
        }

        private mutating func take(_ response: Response, _ requestID: String?) {
            if requestID == Self.workID, !awaitingWork.isEmpty { return work(response) }
            if case .error(let refusal) = response,
                refusal.reason == Reason.workRequired.rawValue,
                let number = requestID.flatMap({ Int64($0) }), inFlight[number] != nil,
                puzzles < Self.mostPuzzles
            {
                lastHeard = Monotonic.seconds()
                if awaitingWork.isEmpty { link?.write(Request.puzzle.line(requestID: Self.workID)) }
                awaitingWork.append(number)
                return
            }
            guard let number = requestID.flatMap({ Int64($0) }),
                let item = inFlight.removeValue(forKey: number)
            else {
                if case .error(let refusal) = response, refusal.reason == Reason.busy.rawValue {
                    lost(.busy(relay: relayName))
                }
                return
            }
            inFlightBytes -= item.envelope.count
            // Only an answer about an item counts: a relay that sends anything else delays the end no longer.
            lastHeard = Monotonic.seconds()
            if case .error(let refusal) = response,
                refusal.reason == Reason.workRequired.rawValue
            {
                return postpone(number, item, refusal)
            }
            switch response {
            case .stored: done(number, item, .stored)
            case .duplicate: done(number, item, .duplicate)
            case .accepted where item.kind == .signal: done(number, item, .accepted)
            case .rejected(let refusal), .error(let refusal):
                done(number, item, .rejected, refusal)
            case .deferred(let refusal) where item.kind == .signal:
                done(number, item, .dropped, refusal)
            case .deferred(let refusal): postpone(number, item, refusal)
            default: return lost(.notARelay(relay: relayName))
            }
            backoff.reset()
            hasProgressed = true
        }

        /// Handles the answer to a puzzle request or a solution. One solution is valid for one new id.
        private mutating func work(_ response: Response) {
            if case .accepted = response {
                let numbers = awaitingWork
                awaitingWork = []
                for number in numbers {
                    link?.write(inFlight[number]?.line(requestID: "\(number)") ?? [])
                }
            } else if let solution = Request.solution(of: response) {
                puzzles += 1
                link?.write(solution.line(requestID: Self.workID))
            } else {
                lost(.refused(relay: relayName, reason: .workRequired))
            }
            lastHeard = Monotonic.seconds()
        }

        private mutating func done(
            _ number: Int64, _ item: Outbox.Item, _ status: DeliveryResult.Status,
            _ refusal: Refusal? = nil
        ) {
            if item.kind != .signal {
                if own.removeValue(forKey: number) != nil { settling.append((number, item)) }
                outcomes.append((number, DeliveryOutcome(status, refusal).text))
            }
            results.append(result(item, status, refusal))
        }

        private func result(
            _ item: Outbox.Item, _ status: DeliveryResult.Status, _ refusal: Refusal? = nil
        ) -> DeliveryResult {
            DeliveryResult(item, status, refusal, relay: relayName)
        }

        /// Leaves an item in the outbox, with the later items for the same mailbox.
        private mutating func postpone(_ number: Int64, _ item: Outbox.Item, _ refusal: Refusal) {
            if deferred.updateValue((item, refusal), forKey: number) == nil {
                results.append(result(item, .deferred, refusal))
            }
            deferredMailboxes[item.orderingKey] = refusal
            retryAt = retryAt ?? Monotonic.seconds() + Delivery.retryDelay
        }

        private mutating func lost(_ error: ClientError) {
            link?.close()
            link = nil
            generation += 1
            let unanswered = inFlight.filter { $0.value.kind == .signal }
            dropSignals(unanswered.sorted { $0.key > $1.key }.map(\.value))
            inFlight = [:]
            inFlightBytes = 0
            awaitingWork = []
            (cursor, released) = (0, [])
            lastError = error
            connectAt = Monotonic.seconds() + backoff.next()
        }

        private mutating func dropSignals(_ items: [Outbox.Item]) {
            results += items.map { result($0, .dropped) }
        }

        /// Drops the signals that were not sent.
        private mutating func dropWaitingSignals() {
            dropSignals(signals)
            signals = []
        }

        /// Records the known outcomes in the outbox and returns the results to report.
        mutating func settle() throws(StateError) -> [DeliveryResult] {
            try delivery.outbox.settle(outcomes)
            (outcomes, settling) = ([], [])
            uploads.removeFiles()
            defer { results = [] }
            return results
        }

        /// Does the work that is possible now. Returns the ending when none is left.
        mutating func advance() throws(StateError) -> Ending? {
            let now = Monotonic.seconds()
            if !inFlight.isEmpty, now - lastHeard >= delivery.patience.reply {
                lost(.lost(relay: relayName))
            }
            if let at = retryAt, at <= now, inFlight.isEmpty {
                (retryAt, cursor, deferred, deferredMailboxes) = (nil, 0, [:], [:])
                uploads.mayWait = true
            }
            defer { releaseSubmitter() }
            guard try hasWork() || !signals.isEmpty else {
                lockSince = nil
                // Another process can send until more input comes.
                delivery.lock.unlock()
                if try isOver() {
                    return try isPassed() ? advance() : end(isDone: uploads.error == nil)
                }
                try collect()
                return nil
            }
            // Signals need no lock, because they are not in the queue.
            let isQueueOurs = takeLock(now)
            guard isQueueOurs || hasSignals else {
                try collect()
                if inputEnded, wasGiven, own.isEmpty { return try end(isDone: true) }
                let isLate = now - (lockSince ?? now) >= delivery.lockTimeout
                return inputEnded && isLate ? try end(wasLocked: true) : nil
            }
            guard link != nil else {
                if isConnecting { return nil }
                // After the end of input a second failure in a row, or a refusal, is final, unless a blob progressed a
                // short time ago.
                let isPatient = lastError?.isTransient ?? false && uploads.isProgressing(now)
                if inputEnded, lastError != nil, !mayRetry, !isPatient { return try end() }
                let isNow = connectAt <= now || inputEnded && !isPatient
                if isNow { connect() } else { dropWaitingSignals() }
                return nil
            }
            if isQueueOurs {
                try fill()
                try uploads.start(except: deferred.keys, now)
            }
            sendSignals()
            if inFlight.isEmpty, try !hasWork() {
                delivery.lock.unlock()
                if try isOver() {
                    return try isPassed() ? advance() : end(isDone: uploads.error == nil)
                }
            }
            return nil
        }

        /// Whether an envelope before the cursor can be sent, and sets the cursor before it: it waited for a blob at another relay,
        /// whose delivery has just recorded that the blob is there.
        private mutating func isPassed() throws(StateError) -> Bool {
            let known = Set(outcomes.map(\.number)).union(deferred.keys)
            let first = try delivery.outbox.waiting(
                relay: outboxName, after: 0, limit: known.count + 1)
            guard first.contains(where: { !known.contains($0.number) }) else { return false }
            cursor = 0
            return true
        }

        /// Whether the run ends, as no work is left: no items follow, and no envelope waits for a blob that is being uploaded to
        /// another relay.
        private func isOver() throws(StateError) -> Bool {
            guard inputEnded else { return false }
            guard let waits = delivery.waits else { return true }
            let relays = try delivery.outbox.relaysOfBlobs(neededAt: outboxName)
            return relays.isEmpty || !waits(relays)
        }

        /// Whether a connection that had made progress was lost, so that one more attempt is worthwhile.
        private var mayRetry: Bool {
            if case .lost = lastError { hasProgressed } else { false }
        }

        private var hasSignals: Bool {
            !signals.isEmpty || inFlight.contains { $0.value.kind == .signal }
        }

        /// Lets ``Delivery/submit(_:)`` continue, unless many signals wait.
        private mutating func releaseSubmitter() {
            guard signals.count < Delivery.signalLimit else { return }
            for _ in 0..<heldBatches { delivery.room.signal() }
            heldBatches = 0
        }

        private mutating func hasWork() throws(StateError) -> Bool {
            if !inFlight.isEmpty || !released.isEmpty || uploads.isRunning { return true }
            let isWaiting = try !delivery.outbox.waiting(
                relay: outboxName, after: cursor, limit: 1
            ).isEmpty
            if isWaiting { return true }
            return try uploads.isWaiting(except: deferred.keys)
        }

        private mutating func takeLock(_ now: Double) -> Bool {
            if delivery.lock.tryLock() {
                lockSince = nil
                return true
            }
            lockSince = lockSince ?? now
            return false
        }

        /// Collects the outcomes that another process recorded for our items.
        private mutating func collect() throws(StateError) {
            guard !own.isEmpty else { return }
            for (number, outcome) in try delivery.outbox.collect(relay: outboxName) {
                guard let item = own.removeValue(forKey: number) else { continue }
                let outcome = DeliveryOutcome(text: outcome)
                results.append(result(item, outcome.status, outcome.refusal))
            }
        }

        private mutating func connect() {
            isConnecting = true
            hasProgressed = false
            generation += 1
            let (events, generation) = (delivery.events, generation)
            RelayLink.connect(
                to: delivery.relay, group: group, within: delivery.patience.connection
            ) {
                events.put(.link($0, generation: generation))
            } isFull: {
                events.isFull
            } done: {
                events.put(.connected($0))
            }
        }

        /// Returns items that can be sent now, at most `limit`, and moves the cursor behind them.
        private mutating func next(
            _ limit: Int
        ) throws(StateError) -> [(number: Int64, item: Outbox.Item)] {
            guard released.isEmpty else {
                let items = Array(released.prefix(limit))
                released.removeFirst(items.count)
                return items
            }
            let last = try delivery.outbox.lastNumber()
            let items = try delivery.outbox.waiting(
                relay: outboxName, after: cursor, limit: limit)
            // The envelopes that wait for a blob are released with it.
            cursor = max(items.last?.number ?? cursor, items.count < limit ? last : 0)
            return items
        }

        private mutating func fill() throws(StateError) {
            var lines: [UInt8] = []
            while inFlight.count < Delivery.window, inFlightBytes < Delivery.windowBytes {
                let items = try next(Delivery.window - inFlight.count)
                if items.isEmpty { break }
                for (number, item) in items {
                    if inFlight[number] != nil { continue }
                    if let expires = item.expires, expires <= .now() {
                        done(number, item, .expired)
                        continue
                    }
                    if let refusal = deferredMailboxes[item.orderingKey] {
                        postpone(number, item, refusal)
                        continue
                    }
                    if inFlight.isEmpty { lastHeard = Monotonic.seconds() }
                    inFlight[number] = item
                    inFlightBytes += item.envelope.count
                    lines += item.line(requestID: "\(number)")
                }
            }
            if !lines.isEmpty { link?.write(lines) }
        }

        /// Sends signals up to the window.
        private mutating func sendSignals() {
            var lines: [UInt8] = []
            var count = 0
            while count < signals.count, inFlight.count < Delivery.window,
                inFlightBytes < Delivery.windowBytes
            {
                let item = signals[count]
                count += 1
                if inFlight.isEmpty { lastHeard = Monotonic.seconds() }
                lastSignal -= 1
                inFlight[lastSignal] = item
                inFlightBytes += item.envelope.count
                lines += item.line(requestID: "\(lastSignal)")
            }
            signals.removeFirst(count)
            if !lines.isEmpty { link?.write(lines) }
        }

        private mutating func end(isDone: Bool = false, wasLocked: Bool = false) throws(StateError)
            -> Ending
        {
            try collect()
            dropWaitingSignals()
            let isAllDeferred = isDone && !deferred.contains { $0.value.item.kind == .blob }
            let waiting =
                try isAllDeferred ? deferred.count : delivery.outbox.count(relay: outboxName)
            for (number, item) in own.sorted(by: { $0.key < $1.key }) where deferred[number] == nil
            {
                results.append(result(item, .queued))
            }
            let ending = Ending(
                left: waiting, error: isDone || wasLocked ? nil : uploads.error ?? lastError,
                wasLocked: wasLocked)
            try delivery.outbox.release(relay: outboxName)
            delivery.lock.unlock()
            return ending
        }
    }
}

extension Outbox.Item {
    /// Items with the same key are sent in order: an item waits while an earlier one is postponed.
    fileprivate var orderingKey: String {
        switch kind {
        case .envelope, .signal: to
        case .prekeys: "prekeys " + to
        case .record: "record " + to
        case .blob: "blob " + id
        }
    }

    fileprivate func line(requestID: String) -> [UInt8] {
        switch kind {
        case .envelope, .signal: Request.sendLine(envelope, requestID: requestID)
        case .prekeys: Request.publishLine(envelope, requestID: requestID)
        case .record: Request.recordLine(envelope, requestID: requestID)
        case .blob: []
        }
    }
}
