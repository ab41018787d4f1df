import NIOPosix
public import Sotto
public import SottoState
public import SottoWire

/// The emptying of a mailbox: into the inbox, then out of the relay, then to whoever reads.
public struct Reception {
    /// What to do with envelopes.
    public enum Handling {
        /// Hands lines on, all of them or none. The relay is told before, once they are in the inbox.
        case print(([[UInt8]]) throws -> Void)
        /// Has each handled; only an envelope for which this is true counts as received.
        case run(([UInt8]) throws -> Bool)
    }

    /// Whose mailbox, and where.
    public let owner: MailboxOwner
    /// The relay.
    public let relay: RelayURL
    /// The inbox; without one the relay is told only after an envelope has been handled.
    public let store: IdentityStore?
    /// Whether to go on for ever.
    public var follow = false
    /// Seconds to wait for the next envelope when the mailbox is empty.
    public var wait = 0.0
    /// After how many envelopes to end.
    public var maximum: Int?

    /// A code that makes the owner a member of the relay, if they are none yet.
    public var invitation: InvitationCode?

    /// A reception that ends when the mailbox is empty.
    public init(identity: Identity, relay: RelayURL, store: IdentityStore?) {
        self.init(owner: .identity(identity), relay: relay, store: store)
    }

    /// A reception that ends when the mailbox is empty. Only an identity has an inbox.
    public init(owner: MailboxOwner, relay: RelayURL, store: IdentityStore? = nil) {
        self.owner = owner
        self.relay = relay
        self.store = store
    }

    /// How a reception ended.
    public struct Ending: Sendable {
        /// How many envelopes were handled.
        public var received = 0
        /// How many could not be handled.
        public var failed = 0
        /// How many were deleted from the inbox because the messages before them did not come.
        public var expired = 0
        /// Why it ended early.
        public var error: ClientError?
        /// Whether the relay let the owner in.
        public var wasIn = false
    }

    /// Hands on the envelopes that were put aside because their handling failed too often: those here, and those
    /// that the relay has. Printed or handled, they are done with.
    public func runDead(_ handling: Handling) throws -> Ending {
        var state = Run(plan: self, handling: handling)
        return try state.runDead()
    }

    /// Receives until there is nothing left to wait for. What `handling` throws ends it at once.
    public func run(_ handling: Handling) throws -> Ending {
        var state = Run(plan: self, handling: handling)
        return try state.run()
    }
}

extension Reception {
    /// The state of ``Reception/run(_:)``.
    fileprivate struct Run {
        let plan: Reception
        let handling: Handling
        var ending = Ending()
        /// Ids whose handling failed in this run: they are not tried again before the next.
        var failed: Set<String> = []
        var requests = 0
        var session: MailboxSession?
        /// The addresses of ours that the session has open.
        private var addresses: [SendAddress] = []
        /// The mailboxes of envelopes that came to an address of ours.
        private var origins: [String: SessionID] = [:]
        private static let addressSeconds = 15.0
        /// When a connection that lasts is made anew, so that prekeys are renewed.
        var renewal = 0.0
        private static let renewalSeconds = 6 * 3_600.0

        init(plan: Reception, handling: Handling) {
            self.plan = plan
            self.handling = handling
        }

        private var handing: IdentityStore.Handing {
            switch handling {
            case .print: .print
            case .run: .command
            }
        }

        private var isFull: Bool {
            plan.maximum.map { ending.received + ending.failed >= $0 } ?? false
        }

        private var left: Int {
            plan.maximum.map { $0 - ending.received - ending.failed } ?? .max
        }

        /// Connects, and logs in to all mailboxes that are ours.
        private mutating func open(_ group: MultiThreadedEventLoopGroup) throws(ClientError)
            -> MailboxSession
        {
            do throws(StateError) {
                addresses = try plan.store?.addresses() ?? []
            } catch {
                throw .state(error)
            }
            return try MailboxSession.open(
                plan.relay, owner: plan.owner, addresses: addresses,
                invitation: plan.invitation, group: group,
                requests: &requests)
        }

        mutating func run() throws -> Ending {
            try handOnLeftovers()
            let group = RelayLink.makeGroup()
            var backoff = Backoff()
            var deadline = Monotonic.seconds() + plan.wait
            while !isFull {
                let before = ending.received + ending.failed
                do throws(ClientError) {
                    var opened = try open(group)
                    try opened.subscribe(&requests)
                    session = opened
                    ending.wasIn = true
                    backoff.reset()
                    renewal = Monotonic.seconds() + Self.renewalSeconds
                } catch {
                    let delay = backoff.next()
                    guard error.isPassing, plan.follow || Monotonic.seconds() + delay < deadline
                    else {
                        ending.error = error
                        break
                    }
                    sleep(seconds: delay)
                    continue
                }
                replenish()
                let end = try drain()
                finish()
                guard let end else { break }
                let hasProgressed = ending.received + ending.failed > before
                if hasProgressed { deadline = Monotonic.seconds() + plan.wait }
                guard end.isPassing, plan.follow || hasProgressed || Monotonic.seconds() < deadline
                else {
                    ending.error = end
                    break
                }
                if !hasProgressed { sleep(seconds: backoff.next()) }
            }
            return ending
        }

        mutating func runDead() throws -> Ending {
            let group = RelayLink.makeGroup()
            do throws(ClientError) {
                session = try open(group)
            } catch {
                ending.error = error
            }
            if let store = plan.store {
                var number: Int64 = 0
                while !isFull {
                    let rows = try store.kept(.dead, after: number, limit: min(left, 256))
                    guard let last = rows.last else { break }
                    number = last.number
                    for row in rows { noteOrigin(of: row.envelope) }
                    // They wait now: `decrypt` leaves alone what a command handles, and what is dead.
                    try store.hand(on: rows.map(\.id), handing)
                    try handle(rows.map { ($0.id, $0.envelope) }, acknowledging: true)
                    // In printing, the relay is told before the envelope is printed; here it is kept anyway.
                    if case .print = handling { acknowledge(rows.map(\.id), .delivered) }
                }
            }
            if session != nil { try takeDeadFromRelay() }
            finish()
            return ending
        }

        /// Dead letters that only the relay has: those of another machine, or of `--stateless`.
        private mutating func takeDeadFromRelay() throws {
            for mailbox in session?.mailboxes ?? [] { try takeDead(of: mailbox) }
        }

        private mutating func takeDead(of mailbox: SessionID) throws {
            var after: Int64 = 0
            while !isFull {
                let answer: Response?
                do throws(ClientError) {
                    let wanted = min(left, WireLimits.fetchCount)
                    answer = try session?.ask(
                        .fetch(max: wanted, after: after, dead: true, of: mailbox), &requests)
                } catch {
                    ending.error = error
                    return
                }
                guard case .messages(let messages, let more) = answer else { return }
                var batch: [(id: String, envelope: [UInt8])] = []
                for delivered in messages {
                    after = delivered.sequence
                    guard let envelope = ours(delivered) else {
                        ending.error = .notARelay(relay: plan.relay.description)
                        return
                    }
                    batch.append((envelope.id, envelope.bytes))
                }
                try take(batch)
                guard more else { return }
            }
        }

        /// Publishes prekeys when the relay runs out of them or they are due for renewal. A relay that does not take
        /// them now is asked again another time.
        private mutating func replenish() {
            guard let store = plan.store, var session else { return }
            let has = session.preKeys
            // Whatever is wrong with prekeys, it must not keep mail from coming.
            let publication = try? store.transaction { transaction in
                try transaction.replenishment(
                    for: plan.relay.name, has: has?.oneTime ?? 0, signedID: has?.signedID ?? 0,
                    oneTimeMark: has?.oneTimeMark ?? 0)
            }
            guard let publication else { return }
            requests += 1
            try? session.link.publish(
                publication, requestID: "\(requests)", at: plan.relay, events: session.events,
                others: &session.early)
            self.session = session
        }

        private func sleep(seconds: Double) {
            _ = EventQueue<Int>().take(timeout: seconds)
        }

        /// Hands on what an earlier run committed and did not get to hand on.
        private mutating func handOnLeftovers() throws {
            guard let store = plan.store else { return }
            ending.expired += try store.forgetOld()
            var number: Int64 = 0
            while !isFull {
                let rows = try store.kept(.waiting, after: number, limit: min(left, 256))
                guard let last = rows.last else { return }
                number = last.number
                try store.hand(on: rows.map(\.id), handing)
                try handle(rows.map { ($0.id, $0.envelope) }, acknowledging: false)
            }
        }

        /// Takes what is pushed, until the mailbox is empty and nothing came for as long as we wait, or
        /// enough came (`nil`), or the connection ends.
        private mutating func drain() throws -> ClientError? {
            var empties = 0
            var isEmpty: Bool { empties >= session?.mailboxes.count ?? 0 }
            while !isFull {
                let untilRenewal = max(0, renewal - Monotonic.seconds())
                let timeout =
                    plan.follow
                    ? min(untilRenewal, Self.addressSeconds) : isEmpty ? plan.wait : 60
                guard let events = session?.take(timeout: timeout) else { return nil }
                if events.isEmpty {
                    if plan.follow, untilRenewal > Self.addressSeconds,
                        try plan.store?.addresses() ?? [] == addresses
                    {
                        continue
                    }
                    return isEmpty && !plan.follow ? nil : .lost(relay: plan.relay.description)
                }
                var batch: [(id: String, envelope: [UInt8])] = []
                var end: ClientError?
                for event in events {
                    switch event {
                    case .response(.newMessage(let delivered), _):
                        guard let envelope = ours(delivered) else {
                            return .notARelay(relay: plan.relay.description)
                        }
                        batch.append((envelope.id, envelope.bytes))
                    case .response(.empty, _): empties += 1
                    case .response(.acked, _), .response(.deferred, _):
                        self.session?.waitingForAcks -= 1
                    case .response(.replaced, _): end = end ?? .replaced
                    case .closed(let error): end = end ?? error
                    case .response: break
                    }
                }
                try take(batch)
                if let end { return end }
                if isEmpty, !plan.follow, plan.wait <= 0 { return nil }
            }
            return nil
        }

        /// What the relay delivered, if it is an envelope for us.
        private mutating func ours(_ delivered: Delivered) -> AddressedEnvelope? {
            guard let envelope = noteOrigin(of: delivered.envelope),
                session?.mailboxes.contains(envelope.to) == true
            else { return nil }
            return envelope
        }

        /// Remembers which of our mailboxes an envelope came to.
        @discardableResult
        private mutating func noteOrigin(of line: [UInt8]) -> AddressedEnvelope? {
            guard let record = try? JSON.object(parsing: line),
                let envelope = try? AddressedEnvelope(record)
            else { return nil }
            if envelope.to != plan.owner.id { origins[envelope.id] = envelope.to }
            return envelope
        }

        /// Takes pushed envelopes, as many as are still wanted.
        private mutating func take(_ batch: [(id: String, envelope: [UInt8])]) throws {
            guard let store = plan.store else {
                return try handle(Array(batch.prefix(left)), acknowledging: true)
            }
            var rest = batch[...]
            while !rest.isEmpty, !isFull {
                // Those known already do not count, so several rounds may be needed.
                let some = Array(rest.prefix(left))
                rest = rest.dropFirst(some.count)
                let known = try store.receive(some, to: handing)
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
                    }
                }
                if case .print = handling { done += fresh.map(\.id) }
                acknowledge(done, .delivered)
                acknowledge(dead, .failed)
                try handle(fresh, acknowledging: true)
            }
        }

        private mutating func handle(
            _ envelopes: [(id: String, envelope: [UInt8])], acknowledging: Bool
        ) throws {
            guard !envelopes.isEmpty else { return }
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
                    let isHandled = try body(envelope)
                    if isHandled {
                        ending.received += 1
                        try plan.store?.markHandled([id])
                    } else {
                        ending.failed += 1
                        failed.insert(id)
                        _ = try plan.store?.markFailed(id)
                    }
                    if acknowledging { acknowledge([id], isHandled ? .delivered : .failed) }
                }
            }
        }

        private mutating func acknowledge(_ ids: [String], _ handled: Request.Handled) {
            for (mailbox, ids) in Dictionary(grouping: ids, by: { origins[$0] }) {
                var rest = ids[...]
                while !rest.isEmpty, session != nil {
                    requests += 1
                    session?.waitingForAcks += 1
                    let request = Request.ack(
                        ids: Array(rest.prefix(WireLimits.ackCount)), handled,
                        of: mailbox ?? plan.owner.id)
                    session?.link.write(request.line(requestID: "\(requests)"))
                    rest = rest.dropFirst(WireLimits.ackCount)
                }
                for id in ids { origins[id] = nil }
            }
        }

        /// Waits a little for the relay to confirm what was acknowledged, and closes.
        private mutating func finish() {
            let deadline = Monotonic.seconds() + 5
            waiting: while session?.waitingForAcks ?? 0 > 0 {
                let events = session?.take(timeout: deadline - Monotonic.seconds()) ?? []
                if events.isEmpty { break }
                for event in events {
                    switch event {
                    case .response(.acked, _), .response(.deferred, _):
                        session?.waitingForAcks -= 1
                    case .closed: break waiting
                    case .response: break
                    }
                }
            }
            session?.link.close()
            session = nil
        }
    }
}
