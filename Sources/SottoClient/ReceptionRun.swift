import NIOPosix
import Sotto
import SottoDatabase
import SottoState
import SottoWire

extension Reception {
    /// The state of ``Reception/run(_:)``.
    struct Run {
        let plan: Reception
        let handling: Handling
        var ending = Ending()
        /// Ids whose handling failed in this run; they are not tried again before the next run.
        var failed: Set<String> = []
        var requests = 0
        var session: MailboxSession?
        /// The addresses that are open in the session.
        private var addresses: [SendAddress] = []
        /// The addresses that received envelopes, for envelopes not sent to the identity's own mailbox.
        var origins: [String: KeyID] = [:]
        /// Envelopes whose command failed during `follow`.
        var retries = ReceptionCommandRetries()
        /// The number of envelopes that the command has handled.
        var successes = 0
        /// Whether the last connection attempt failed and was reported.
        private var isDisconnected = false
        private static let addressSeconds = 15.0
        private var notedAt = -Double.infinity
        /// When a long connection is opened again, so that prekeys are renewed.
        var renewal = 0.0
        private static let renewalSeconds = 6 * 3_600.0
        /// The current publication, and the date of its signed prekey if the relay lacks it.
        private var publishing: (PreKeyPublishing, missingSince: Timestamp?)?
        /// Seconds for which a relay may lack a signed prekey before the user hears of it.
        private static let lateSeconds: Int64 = 2 * 86_400
        /// Seconds without an envelope after which the connection to a mailbox that is not empty counts as lost.
        private static let silentSeconds = 60.0
        /// When the work in parallel with the reading begins again.
        private var aheadAt = 0.0
        /// Whether an envelope was left on the relay because the inbox has no room for it.
        var isInboxFull = false
        /// The progress of the relay, without `follow`.
        var pace: MailboxPace
        /// The number of mailboxes that are empty, as the relay said on this connection.
        private var empties = 0

        init(plan: Reception, handling: Handling) {
            self.plan = plan
            self.handling = handling
            pace = MailboxPace(plan.pace)
        }

        var deliveryMode: IdentityStore.DeliveryMode {
            switch handling {
            case .print: .print
            case .run: .command
            }
        }

        var isFull: Bool {
            plan.maximum.map { ending.received + ending.failed >= $0 } ?? false
        }

        var left: Int {
            plan.maximum.map { $0 - ending.received - ending.failed } ?? .max
        }

        /// Connects, and logs in to the identity's mailbox and those of its addresses.
        private mutating func open(_ group: MultiThreadedEventLoopGroup) throws(ClientError)
            -> MailboxSession
        {
            let instance: [UInt8]?
            do throws(StateError) {
                addresses = try plan.store?.addresses() ?? []
                instance = try plan.store?.instanceMark(at: plan.relay.name)
            } catch {
                throw .state(error)
            }
            var session = try MailboxSession.open(
                plan.relay, owner: plan.owner, addresses: addresses,
                invitation: plan.invitation, instance: instance, group: group,
                requests: &requests)
            noteLogin(otherInstance: session.otherInstance)
            renewWakes(&session)
            return session
        }

        mutating func run() throws -> Ending {
            if plan.takesMail { try deliverLeftovers() }
            let group = RelayLink.makeGroup()
            var backoff = Backoff()
            var deadline = Monotonic.seconds() + plan.wait
            while !isFull {
                let before = ending.received + ending.failed
                let isFirst = !ending.loggedIn
                do throws(ClientError) {
                    var opened = try open(group)
                    if plan.takesMail { try opened.subscribe(&requests) }
                    session = opened
                    ending.loggedIn = true
                    backoff.reset()
                    reportReconnected()
                    renewal = Monotonic.seconds() + Self.renewalSeconds
                } catch {
                    let delay = backoff.next()
                    guard error.isTransient, plan.follow || Monotonic.seconds() + delay < deadline
                    else {
                        ending.error = error
                        break
                    }
                    reportDisconnected(error)
                    try pause(delay)
                    continue
                }
                if isFirst, let joined = plan.joined {
                    joined()
                } else {
                    findProof()
                    replenish()
                }
                guard plan.takesMail else {
                    finish()
                    break
                }
                let end = try drain()
                let wasEmpty = isEmpty
                finish()
                guard let end else { break }
                let progress = ending.received + ending.failed - before
                let hasProgressed = progress > 0
                if hasProgressed { deadline = Monotonic.seconds() + plan.wait }
                if !wasEmpty { pace.interrupted(after: progress) }
                guard end.isTransient, !isTooSlow,
                    plan.follow || hasProgressed || Monotonic.seconds() < deadline
                else {
                    ending.error = isTooSlow ? .tooSlow(relay: plan.relay.description) : end
                    break
                }
                if !hasProgressed { try pause(backoff.next()) }
            }
            ending.failed += retries.count
            return ending
        }

        /// Whether the relay has said that all mailboxes are empty.
        private var isEmpty: Bool { empties >= session?.mailboxes.count ?? 0 }

        private var isTooSlow: Bool { !plan.follow && pace.isTooSlow }

        private mutating func reportDisconnected(_ error: ClientError) {
            guard plan.follow, !isDisconnected else { return }
            isDisconnected = true
            plan.notice?(.disconnected(error))
        }

        private mutating func reportReconnected() {
            guard isDisconnected else { return }
            isDisconnected = false
            plan.notice?(.reconnected(relay: plan.relay.description))
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
                    // They are marked as waiting: `decrypt` ignores dead envelopes and those that a command handles.
                    try store.markForDelivery(rows.map(\.id), deliveryMode)
                    try handle(rows.map { ($0.id, $0.envelope) }, acknowledging: true)
                    // With printing, the relay is normally told before the envelope is printed. Here the inbox has
                    // stored it already.
                    if case .print = handling { acknowledge(rows.map(\.id), .delivered) }
                }
            }
            if session != nil { try takeDeadFromRelay() }
            finish()
            return ending
        }

        /// Takes dead envelopes that only the relay has: those of another machine, or of `--stateless`.
        private mutating func takeDeadFromRelay() throws {
            for mailbox in session?.mailboxes ?? [] { try takeDead(of: mailbox) }
        }

        private mutating func takeDead(of mailbox: KeyID) throws {
            var after: Int64 = 0
            while !isFull {
                let answer: Response?
                do throws(ClientError) {
                    let wanted = min(left, WireLimits.fetchCount)
                    answer = try session?.ask(
                        .fetch(max: wanted, after: after, dead: true, of: mailbox), of: mailbox,
                        &requests)
                } catch {
                    ending.error = error
                    return
                }
                guard case .messages(let messages, let more) = answer else { return }
                guard messages.isInOrder(after: after), !more || !messages.isEmpty else {
                    ending.error = .notARelay(relay: plan.relay.description)
                    return
                }
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

        /// Renews the registrations for wake-ups that are due. An error does not stop the reception.
        private mutating func renewWakes(_ session: inout MailboxSession) {
            guard let store = plan.store else { return }
            do throws(ClientError) {
                try session.renewWakes(in: store, &requests)
                ending.wakeError = nil
            } catch {
                ending.wakeError = error
            }
        }

        /// Notes the login, and passes on that the relay saw another instance, if it is news.
        private func noteLogin(otherInstance day: Int64?) {
            guard let store = plan.store else { return }
            let relay = plan.relay.name
            let isNews = try? store.transaction { try $0.isNews(otherInstance: day, at: relay) }
            if let day, isNews == true { plan.notice?(.otherInstance(day: day)) }
        }

        /// Claims an own bundle if the relay reports a signed prekey that is later than those of the state: only the signature
        /// proves it. An error does not stop the reception.
        private mutating func findProof() {
            guard let store = plan.store, let signedID = session?.preKeys?.signedID,
                (try? store.preview { try $0.canProve(signedID: signedID) }) == true
            else { return }
            let claim = PreKeyClaim(owner: plan.owner.id, id: Envelope.newID())
            let answer = try? session?.ask(
                .claim(owner: claim.owner, id: claim.id), of: claim.owner, &requests)
            guard case .bundle(let line)? = answer, let bundle = claim.bundle(in: line) else {
                return
            }
            let isProven = try? store.transaction { try $0.takeOwn(bundle) }
            if isProven == true { plan.notice?(.behind) }
        }

        /// Begins to publish prekeys if the relay's stock is low or they are due for renewal. An error does not stop the
        /// reception. The publication is tried again later.
        private mutating func replenish() {
            guard let store = plan.store, let session else { return }
            let has = session.preKeys
            let signedID = has?.signedID ?? 0
            do {
                let (isFirst, publication) = try store.transaction { transaction in
                    (
                        try !transaction.hasPreKeys(),
                        try transaction.replenishment(
                            for: plan.relay.name, has: has?.oneTime ?? 0, signedID: signedID,
                            oneTimeMark: has?.oneTimeMark ?? 0)
                    )
                }
                if isFirst, publication != nil, signedID > 0 || has?.oneTimeMark ?? 0 > 0 {
                    ending.replacesLost = true
                    if plan.follow { plan.notice?(.replacesLost) }
                }
                guard let publication else {
                    ending.preKeyError = nil
                    return
                }
                let signed = publication.signedPreKey
                publishing = (
                    PreKeyPublishing(
                        publication, over: session.link(of: plan.owner.id), at: plan.relay,
                        session.publicationEvents),
                    missingSince: signed.id > signedID ? signed.date?.time : nil
                )
            } catch {
                notePreKeys(error)
            }
        }

        private mutating func notePreKeys(_ error: any Error) {
            if plan.follow, ending.preKeyError == nil { plan.notice?(.preKeys(error)) }
            ending.preKeyError = error
        }

        /// Waits for the end of the publication. An error counts if the relay has lacked the signed prekey for days.
        mutating func endPublication(by deadline: Double) {
            guard let (publishing, since) = publishing else { return }
            self.publishing = nil
            let error = publishing.wait(
                timeout: deadline - Monotonic.seconds(), at: plan.relay)
            guard let error else {
                ending.preKeyError = nil
                return
            }
            guard let since,
                Timestamp.now().seconds - since.seconds >= Self.lateSeconds
            else { return }
            notePreKeys(error)
        }

        /// Waits before the next connection attempt. Failed commands are retried meanwhile if there is an inbox:
        /// without an inbox, only the relay can record that an envelope was handled.
        private mutating func pause(_ seconds: Double) throws {
            let deadline = Monotonic.seconds() + seconds
            while !isFull {
                let now = Monotonic.seconds()
                guard now < deadline else { return }
                let retryAt = plan.store == nil ? nil : retries.next
                _ = EventQueue<Int>().take(timeout: min(deadline, retryAt ?? deadline) - now)
                if plan.store != nil { try retryDue() }
            }
        }

        /// Delivers the envelopes that an earlier run stored and did not deliver.
        private mutating func deliverLeftovers() throws {
            guard let store = plan.store else { return }
            ending.expired += try store.forgetOld()
            var number: Int64 = 0
            while !isFull {
                let rows = try store.kept(.waiting, after: number, limit: min(left, 256))
                guard let last = rows.last else { return }
                number = last.number
                try store.markForDelivery(rows.map(\.id), deliveryMode)
                try handle(rows.map { ($0.id, $0.envelope) }, acknowledging: false)
            }
        }

        /// Stores, once in a while, that all waiting mail was received.
        private mutating func noteReceived() throws {
            let now = Monotonic.seconds()
            guard now - notedAt >= Double(StateTransaction.receivedNoteSeconds) else { return }
            notedAt = now
            try plan.store?.transaction { try $0.noteReceived() }
        }

        /// Begins the work in parallel with the reading, every 15 seconds.
        private mutating func workAhead() {
            let now = Monotonic.seconds()
            guard plan.follow, aheadAt <= now else { return }
            aheadAt = now + Self.addressSeconds
            plan.ahead?()
        }

        /// Takes pushed envelopes until the mailbox is empty and none arrived within the wait, until the maximum is
        /// reached (`nil`), or until the connection ends.
        private mutating func drain() throws -> ClientError? {
            empties = 0
            var heardAt = Monotonic.seconds()
            while !isFull {
                let untilRenewal = max(0, renewal - Monotonic.seconds())
                let timeout =
                    plan.follow
                    ? min(untilRenewal, Self.addressSeconds)
                    : isEmpty ? plan.wait : min(Self.silentSeconds, pace.left)
                let untilRetry = retries.next.map { max(0, $0 - Monotonic.seconds()) }
                let start = Monotonic.seconds()
                guard let events = session?.take(timeout: min(timeout, untilRetry ?? timeout))
                else { return nil }
                pace.waited(Monotonic.seconds() - start)
                try retryDue()
                workAhead()
                if events.isEmpty {
                    if isEmpty { try noteReceived() }
                    if plan.follow, untilRenewal > Self.addressSeconds,
                        try plan.store?.addresses() ?? [] == addresses
                    {
                        continue
                    }
                    if isTooSlow { return .tooSlow(relay: plan.relay.description) }
                    return isEmpty && !plan.follow ? nil : .lost(relay: plan.relay.description)
                }
                var batch: [(id: String, envelope: [UInt8])] = []
                var signals: [[UInt8]] = []
                var end: ClientError?
                var isHeard = false
                for event in events {
                    if case .response(let response, _) = event {
                        isHeard = isHeard || response.isOfMailbox
                    }
                    switch event {
                    case .response(.newMessage(let delivered), _):
                        guard let envelope = ours(delivered) else {
                            return .notARelay(relay: plan.relay.description)
                        }
                        if envelope.ttl == 0 {
                            // A relay should not store a signal. This one is not delivered again.
                            acknowledge([envelope.id], .delivered)
                            signals.append(envelope.bytes)
                        } else {
                            batch.append((envelope.id, envelope.bytes))
                        }
                    case .response(.signal(let line), _):
                        guard isOurSignal(line) else {
                            return .notARelay(relay: plan.relay.description)
                        }
                        signals.append(line)
                    case .response(.empty, _): empties += 1
                    case .response(.acked, _), .response(.deferred, _):
                        self.session?.waitingForAcks -= 1
                    case .response(.replaced, _): end = end ?? .replaced
                    case .closed(let error):
                        end = end ?? error
                        self.session?.isLost = true
                    case .response: break
                    }
                }
                try take(batch)
                try take(signals: signals)
                if isInboxFull { return .inboxFull }
                if let end { return end }
                if isEmpty { pace.noteEmpty() }
                if isTooSlow { return .tooSlow(relay: plan.relay.description) }
                if isEmpty { try noteReceived() }
                let now = Monotonic.seconds()
                // Prekeys are renewed after some hours of constant mail too.
                if plan.follow, renewal <= now { return .lost(relay: plan.relay.description) }
                if isHeard { heardAt = now }
                // A relay that only sends something else does not delay the end.
                let patience = isEmpty ? plan.wait : Self.silentSeconds
                if !plan.follow, now - heardAt > patience {
                    return isEmpty ? nil : .lost(relay: plan.relay.description)
                }
                if isEmpty, !plan.follow, plan.wait <= 0 { return nil }
            }
            return nil
        }
    }
}

extension Response {
    /// Whether the relay says something about a mailbox and its envelopes.
    fileprivate var isOfMailbox: Bool {
        switch self {
        case .newMessage, .signal, .empty, .acked, .deferred, .replaced: true
        default: false
        }
    }
}
