import SottoContacts
import Sotto
import SottoState
import SottoTool

/// Opens one line.
final class MessageOpening<Input: MessageInput> {
    let input: Input
    let keys: SuiteKeys
    private let identity: Identity?
    let senderPolicy: SenderPolicy
    let isPreview: Bool
    /// The hashes of early envelopes that were opened without being read from the input. They may follow in the input.
    private var openedLate: Set<[UInt8]> = []
    /// The transaction of the batch before this one in a preview, with the steps of its sessions in memory.
    private var earlierPreview: StateTransaction?
    /// The messages of a preview, by the hashes of their lines: a repeated line has no key in the sessions in memory.
    private var previewed: [[UInt8]: OpenedLine] = [:]
    /// Whether the line that was opened last waits for other messages of its session.
    private(set) var lastWaits = false
    /// Whether nothing here opens the last envelope.
    private var isUnopenable = false
    /// The messages that were sent again in the messages that were opened, which are printed after these.
    var repeated: [OpenedLine] = []
    /// The addresses of the owner, read in this transaction.
    private var addresses: (read: StateTransaction.Mark, ids: Set<KeyID>)?
    private var signals = SignalWindow()
    /// The numbers of the offers of calls that ring: they were opened in this run, and in time.
    private(set) var ringing: Set<Int64> = []

    init(
        _ input: Input, identity: Identity?, chats: [Chat], senderPolicy: SenderPolicy,
        isPreview: Bool
    ) {
        self.input = input
        self.identity = identity
        self.senderPolicy = senderPolicy
        self.isPreview = isPreview
        keys = SuiteKeys(identity: identity, chats: chats)
    }

    /// Opens a line without a state. `opened` is its message if it was decrypted before.
    func open(_ line: ReadLine<Input.Content>, _ opened: Message?) throws -> OpenedLine {
        try caught(line, nil) { content in
            var message: Message
            switch content {
            case .record(let record): return .record(record)
            case .news:
                throw Failure(
                    .usage, "a succession or a revocation requires the state directory",
                    hint: "omit --stateless")
            case .foreign(let foreign): message = try foreign.open()
            case .envelope(let parsed, _):
                let envelope = parsed.envelope
                guard let suite = envelope.suite.messageSuite else {
                    throw Failure(
                        .usage, "a message of a session requires the state directory",
                        hint: "omit --stateless")
                }
                message = try opened ?? suite.open(envelope, with: keys)
                guard try GroupBody(in: message) == nil else {
                    throw Failure(
                        .usage, "a message about a group requires the state directory",
                        hint: "omit --stateless")
                }
                guard message.body["type"]?.string != CallSignal.type else {
                    throw Failure(
                        .usage, "a call requires the state directory", hint: "omit --stateless")
                }
                if envelope.ttl == 0 { try signals.take(envelope) }
            }
            _ = try senderPolicy.decide(&message, contact: nil, hasContacts: false)
            try message.checkForm()
            // Its other members are those of a history.
            if message.isRepair { message.body = RepairBody.body.record }
            return .message(message, number: nil, seen: false)
        }
    }

    /// Opens a line in a transaction. Appends to `printed` the id of an envelope that is completely handled. `ahead` is
    /// the work on the line that was done before its turn.
    func open(
        _ line: ReadLine<Input.Content>, ahead: AheadLine? = nil, _ transaction: StateTransaction,
        _ printed: inout [String]
    ) throws -> OpenedLine {
        lastWaits = false
        let hash = isPreview ? sha256(line.bytes) : []
        if let known = previewed[hash] { return known }
        // This early envelope was already printed after the message that it waited for.
        if !openedLate.isEmpty, openedLate.remove(sha256(line.bytes)) != nil { return .dropped }
        var id: String?
        var foreign: Envelope?
        var envelope: Envelope?
        isUnopenable = false
        let result = try caught(line, transaction) { content in
            let attempt: Attempt
            switch content {
            case .record(let record): return .record(record)
            case .news(let news):
                if !isPreview, let failure = try transaction.take(news, isGiven: true).failure {
                    throw failure
                }
                return .record(news.record)
            case .foreign(let foreign): attempt = Attempt(foreign)
            case .envelope(let parsed, let waiting):
                if waiting != nil { foreign = parsed.envelope }
                envelope = parsed.envelope
                attempt = Attempt(try arrived(parsed, transaction), ahead) {
                    waiting ?? parsed.envelope.record
                }
            }
            id = attempt.id
            return try open(attempt, line, transaction)
        }
        if isPreview, case .message = result { previewed[hash] = result }
        if !isPreview, foreign == nil, isUnopenable || id == nil,
            case .failed(_, _, _, let claimed) = result, let id = line.id
        {
            let content = envelope.map { sha256(JSON.object($0.payload).canonical()) }
            let state = try transaction.markUnopened(
                id: id, envelope: line.bytes, content: content ?? line.bytes, from: claimed)
            if case .equal = state { return .dropped }
            return result
        }
        return try marked(result, id, line.bytes, foreign, transaction, &printed)
    }

    /// Begins a batch of a preview.
    func beginPreview(_ transaction: StateTransaction) {
        if let earlierPreview { transaction.continuePreview(earlierPreview) }
        earlierPreview = transaction
    }

    /// Marks the envelope of a line in the inbox. `foreign` is the envelope of a line that another messenger's server has in its own form.
    private func marked(
        _ result: OpenedLine, _ id: String?, _ bytes: [UInt8], _ foreign: Envelope?,
        _ transaction: StateTransaction, _ printed: inout [String]
    ) throws(StateError) -> OpenedLine {
        guard !isPreview, let id, result.isFinal else { return result }
        let isMarked: Bool
        if let foreign {
            isMarked = try transaction.markOpened(foreign)
        } else {
            isMarked = try transaction.markOpened(id: id, envelope: bytes)
        }
        guard isMarked else { return result }
        printed.append(id)
        return result
    }

    /// Returns an envelope to one of our send addresses as its suite made it.
    func arrived(
        _ parsed: ParsedEnvelope, _ transaction: StateTransaction
    ) throws(StateError) -> ParsedEnvelope {
        guard let identity, let to = parsed.envelope.to, to != identity.device else {
            return parsed
        }
        if addresses?.read !== transaction.mark {
            let own = try transaction.allContacts().flatMap(\.allAddresses)
            addresses = (transaction.mark, Set(own.map { $0.id(of: identity) }))
        }
        guard addresses?.ids.contains(to) == true else { return parsed }
        return ParsedEnvelope(parsed.envelope.arrived(for: identity))
    }

    /// Opens the early envelopes of the inbox whose preceding messages were opened in this transaction. Forged ones are
    /// deleted silently, because they were reported when they arrived.
    func openReachable(
        _ transaction: StateTransaction, _ printed: inout [String]
    ) throws -> [OpenedLine] {
        var tried: Set<String> = []
        var opened: [OpenedLine] = []
        while true {
            let rows = try transaction.reachable(limit: 256, except: tried)
            if rows.isEmpty { return opened }
            for (id, bytes) in rows {
                tried.insert(id)
                guard let record = try? JSON.object(parsing: bytes),
                    let envelope = try? Envelope(record: record)
                else { continue }
                let line = ReadLine<ParsedEnvelope>(
                    number: 0, bytes: bytes,
                    content: .success(try arrived(ParsedEnvelope(envelope), transaction)), id: id)
                let result = try caught(id, line.content, transaction) { parsed in
                    try open(Attempt(parsed) { parsed.envelope.record }, line, transaction)
                }
                let last = try marked(result, id, bytes, nil, transaction, &printed)
                if case .failed = last { continue }
                openedLate.insert(sha256(bytes))
                opened.append(last)
            }
        }
    }

    /// Keeps an envelope that its session may open later in the inbox, if it is there.
    private func early(
        _ envelope: Envelope, from sender: KeyID, _ error: RatchetError, _ bytes: [UInt8],
        _ id: String?, _ transaction: StateTransaction
    ) throws -> OpenedLine {
        guard let failure = Failure(core: error) else { throw error }
        lastWaits = true
        guard !isPreview, let message = try? RatchetMessage(payload: envelope.payload),
            try transaction.markEarly(
                id: envelope.id, envelope: bytes, from: sender, position: message.position)
        else { return .failed(failure, id: id, isFinal: false) }
        let waiting = Failure(
            failure.status, failure.message,
            hint:
                "it waits in the inbox for \(StateTransaction.earlyDays) days and is opened after them; if they are lost, ask the sender to run sotto encrypt --new-session"
        )
        return .failed(waiting, id: id, isFinal: false)
    }

    private func caught(
        _ line: ReadLine<Input.Content>, _ transaction: StateTransaction?,
        _ body: (ResolvedLine) throws -> OpenedLine
    ) throws -> OpenedLine {
        try caught(line.id, line.content, transaction) {
            try body(try input.resolve($0, transaction))
        }
    }

    /// A failure of a line is its result; an error of the state ends the whole run.
    func caught<Content>(
        _ id: String?, _ content: Result<Content, Failure>, _ transaction: StateTransaction? = nil,
        _ body: (Content) throws -> OpenedLine
    ) throws -> OpenedLine {
        let final: [ExitStatus] = [.malformed, .authentication, .replay]
        do {
            return try body(try content.get())
        } catch let error as StateError {
            // The mail that needs a damaged group, or another record that cannot be read, waits, and other mail is opened.
            guard error.isOfOneRecord else { throw error }
            return .failed(error.failure, id: id, isFinal: false)
        } catch let error as SessionError where error.claimedSender != nil {
            guard let (failure, claimed) = try lost(error, transaction) else { throw error }
            isUnopenable = true
            return .failed(failure, id: id, isFinal: false, claimed: claimed)
        } catch {
            guard let failure = (error as? Failure) ?? Failure(core: error) else { throw error }
            // A message that a suite refuses without a reason may open after another chat or contact is added.
            let isRefused = (error as? SuiteError) == .refused
            if isRefused { isUnopenable = true }
            // The rules of a group refuse a message for good, and a device that was removed does not return.
            let isFinal =
                error is RemovedDeviceError || error is RevokedSenderError
                || (error as? GroupError)?.isFinal == true
                || final.contains(failure.status)
            return .failed(failure, id: id, isFinal: !isRefused && isFinal)
        }
    }

    // MARK: Messages

    /// A message to open, with the values that recognise its repeats.
    struct Attempt {
        let id: String
        let time: Timestamp
        let suite: String
        let digest: [UInt8]
        let repeatID: String
        /// Returns the record that waits if the message becomes a request.
        let waiting: () -> JSONObject
        /// The envelope, or `nil` for a message in a messenger's own format.
        let envelope: Envelope?
        let foreign: ForeignMessage?
        /// The sender if no key of the sender is known, or `nil`.
        let unknownSender: UnknownSender?
        /// The work that was done before, or `nil`.
        let ahead: AheadLine?

        init(
            _ parsed: ParsedEnvelope, _ ahead: AheadLine? = nil,
            waiting: @escaping () -> JSONObject
        ) {
            let envelope = parsed.envelope
            (id, time, suite) = (envelope.id, envelope.time, envelope.suite.rawValue)
            (digest, repeatID) = (parsed.digest, envelope.repeatID)
            self.waiting = waiting
            self.envelope = envelope
            self.ahead = ahead
            (foreign, unknownSender) = (nil, nil)
        }

        init(_ message: ForeignMessage) {
            (id, time, suite) = (message.id, message.time, message.suite.rawValue)
            (digest, repeatID) = (message.digest, message.repeatID)
            waiting = { message.waiting }
            envelope = nil
            (foreign, unknownSender) = (message, message.unknownSender)
            ahead = nil
        }
    }

    private func open<Content>(
        _ attempt: Attempt, _ line: ReadLine<Content>, _ transaction: StateTransaction
    ) throws -> OpenedLine {
        do {
            return try open(attempt, transaction)
        } catch let error as RatchetError {
            guard let envelope = attempt.envelope, let sender = envelope.from else { throw error }
            guard error.isEarly else {
                // A state that was put back lacks what the session agreed later.
                if !isPreview { try transaction.noteUnopened(from: sender) }
                throw error
            }
            // A refused message is read with the messages before it, which the policy refused too.
            let person = try transaction.person(ofDevice: sender) ?? sender
            try senderPolicy.check(
                person, contact: try transaction.contact(id: person),
                hasContacts: try transaction.hasContacts())
            return try early(envelope, from: sender, error, line.bytes, line.id, transaction)
        }
    }

    private func open(
        _ attempt: Attempt, _ transaction: StateTransaction
    ) throws -> OpenedLine {
        if let envelope = attempt.envelope, envelope.suite == .group {
            return try open(group: envelope, transaction) ?? .dropped
        }
        if let envelope = attempt.envelope, envelope.ttl == 0 {
            return try open(signal: envelope, transaction)
        }
        var repeatID = attempt.repeatID
        var earlier = try transaction.opened(id: repeatID, digest: attempt.digest)
        // The message of another messenger's group is in the conversation of the group here.
        if attempt.foreign != nil, case .new = earlier {
            earlier = try transaction.opened(
                id: repeatID, digest: attempt.digest, isOfGroup: true)
        }
        if let line = try repeated(earlier, attempt.id, transaction) { return line }
        if let sender = attempt.unknownSender {
            return try keep(attempt, from: sender, transaction)
        }
        let step = try attempt.envelope.map {
            try transaction.open($0, with: keys, ahead: attempt.ahead?.opened)
        }
        let ahead = step?.isOpenedAhead == true ? attempt.ahead : nil
        guard var message = try step?.message ?? attempt.foreign?.open() else {
            throw Failure(.bug, "a message was not opened")
        }
        do {
            try takeDevice(of: &message, transaction)
        } catch let failure as Failure where failure.status == .untrusted {
            // Its device is on no list any more.
            return .failed(failure, id: attempt.id, isFinal: true)
        }
        try noteHeard(message, transaction)
        if let line = try open(
            syncIn: message, step, (attempt.id, attempt.digest), transaction)
        {
            return line
        }
        if message.isUnproven, case .new = earlier {
            // An attacker who removes the signature must not block the signed message.
            repeatID = "unproven/" + repeatID
            earlier = try transaction.opened(id: repeatID, digest: attempt.digest)
            if let line = try repeated(earlier, attempt.id, transaction) { return line }
        }
        var verdict = try decision(&message, step, attempt.id, transaction)
        let body = ahead?.isPlain == true ? nil : try? GroupBody(in: message)
        // A block or a request hides the messages of a member, but not the changes of a known group.
        let isAdmitted = verdict == .accepted
        if let body, let sender = message.from, try transaction.expects(body, from: sender) {
            verdict = .accepted
        }
        // Tells the owner about messages of group members who are not contacts.
        if verdict == .request, let sender = message.from,
            try transaction.expectsReceipt(message.body, from: sender)
        {
            verdict = .accepted
        }
        if case .different = earlier {
            throw Failure.differentContent
        }
        if verdict == .blocked { return .dropped }
        if verdict == .accepted, case .repeated(let number, let record) = earlier {
            guard message.isSame(as: record) else { throw Failure.differentContent }
            if !isPreview {
                if let step { try transaction.keep(step) }
                try transaction.forgetRequest(id: attempt.id)
            }
            return .message(message, number: number, seen: true)
        }
        if ahead?.isPlain != true, let failure = message.malformedBody {
            // An authentic message cannot become well-formed later. Its session continues after it.
            if !isPreview, verdict == .accepted, let step {
                try transaction.keep(step)
                try transaction.forgetRequest(id: attempt.id)
            }
            return .failed(failure, id: attempt.id, isFinal: true)
        }
        if verdict == .accepted,
            let line = try open(copyIn: &message, step, attempt, transaction)
        {
            return line
        }
        if let line = try open(callOf: &message, verdict, step, attempt, transaction) {
            return line
        }
        if message.isRepair {
            if !isPreview, verdict == .accepted, let step { try transaction.keep(step) }
            if !isPreview { try transaction.forgetRequest(id: attempt.id) }
            return try take(
                repair: message, isAccepted: verdict == .accepted, (repeatID, attempt.digest),
                transaction)
        }
        if message.isAboutDevices {
            if !isPreview, verdict == .accepted, let step { try transaction.keep(step) }
            if !isPreview { try transaction.forgetRequest(id: attempt.id) }
            guard message.authenticated, message.group == nil else { return .dropped }
            guard verdict == .accepted else {
                if !isPreview { try keep(cardOf: message, id: attempt.id, transaction) }
                return .dropped
            }
            return try take(devices: message, id: attempt.id, transaction)
        }
        if let body, verdict == .accepted {
            return try take(
                body, message, isAdmitted: isAdmitted, step,
                (attempt.id, repeatID, attempt.digest), transaction)
        }
        if attempt.foreign != nil, verdict == .accepted {
            message = try transaction.inGroup(message)
        }
        var kind: HistoryEntry.Kind?
        if verdict == .accepted,
            let shown = try input.taken(message, isPreview: isPreview, transaction)
        {
            (message, kind) = (shown, .event)
        }
        if isPreview {
            if let step { try transaction.preview(step) }
            return .message(message, number: nil, seen: false)
        }
        if let line = try takeNews(of: message, transaction) { repeated.append(line) }
        if verdict == .accepted, let repeated = try message.repeatedMessages {
            if let step { try transaction.keep(step) }
            try transaction.forgetRequest(id: attempt.id)
            return try take(
                repeated, of: message, in: nil, (repeatID, attempt.digest), transaction)
        }
        if verdict == .request, let sender = message.from {
            if let step { try transaction.awaitPreKeys(of: step, id: attempt.id) }
            return try keep(
                attempt, from: sender, card: message.carriedCard, account: message.claimedAccount,
                transaction)
        }
        if let step {
            try transaction.keep(step)
            try transaction.take(answer: message)
        }
        try attempt.foreign?.keep(transaction)
        let rings = try rings(message, attempt, transaction)
        if rings == false { message.body["reason"] = .string(CallSignal.Reason.timeout.rawValue) }
        let number: Int64
        if rings != false, let row = ahead?.row(of: message) {
            number = try transaction.record(row)
        } else if message.id != attempt.id, attempt.envelope != nil, message.original != nil {
            number = try transaction.recordRepeated(message)
            try transaction.noteArrival(ofCopy: attempt.id, attempt.digest, of: number)
        } else {
            number = try transaction.recordOpened(
                id: repeatID, digest: attempt.digest, message, kind: kind)
        }
        try transaction.passOn(message, number: number)
        try transaction.forgetRequest(id: attempt.id)
        if message.card != nil {
            try transaction.keepCard(of: message, id: attempt.id)
        }
        if rings == true { ringing.insert(number) }
        return transaction.deletedOnArrival.contains(number)
            ? .dropped : .message(message, number: number, seen: false)
    }

    /// Keeps a message as a request until the user decides about its sender.
    private func keep(
        _ attempt: Attempt, from sender: KeyID, card: Card?, account: String?,
        _ transaction: StateTransaction
    ) throws -> OpenedLine {
        guard
            try transaction.request(
                attempt.waiting().serialized(), id: attempt.id, from: sender, card: card,
                account: account)
        else {
            throw Failure(
                .untrusted,
                "the sender is not a contact, and too many message requests wait already",
                hint:
                    "list the requests: sotto contact requests, or delete all of them: sotto contact requests --drop-all"
            )
        }
        return .request(
            WaitingRequest(
                id: attempt.id, from: sender, time: attempt.time, suite: attempt.suite,
                account: account))
    }

    /// Keeps a message that cannot be opened before the keys of its sender are known, or drops that of a blocked sender.
    private func keep(
        _ attempt: Attempt, from sender: UnknownSender, _ transaction: StateTransaction
    ) throws -> OpenedLine {
        if try transaction.contact(id: sender.id)?.isBlocked == true { return .dropped }
        try senderPolicy.checkUnknown()
        guard !isPreview else { throw SuiteError.refused }
        return try keep(
            attempt, from: sender.id, card: nil, account: sender.account, transaction)
    }

    /// Opens an envelope with a time to live of 0. The state does not record it. The message of a sender who is not a
    /// contact is dropped.
    private func open(
        signal envelope: Envelope, _ transaction: StateTransaction
    ) throws -> OpenedLine {
        var message = try transaction.open(envelope, with: keys).message
        try takeDevice(of: &message, transaction)
        if !isPreview { try signals.take(envelope) } else { try SignalWindow.check(envelope) }
        let verdict = try senderPolicy.decide(
            &message, contact: transaction.contact(of: message),
            hasContacts: transaction.hasContacts())
        guard verdict == .accepted else { return .dropped }
        try message.checkForm()
        guard message.body["type"]?.string != CallSignal.type else {
            throw Failure(
                .malformed, "a call needs a time to live of 1 to \(CallSignal.lifetime) seconds")
        }
        return .message(message, number: nil, seen: false)
    }

    // MARK: Calls

    /// Checks the step of a call. Returns `nil` for a message that is no signal of a call, and for a signal that is stored like
    /// other messages. The signal of a sender who is no contact is dropped, and so is one that comes after its call. The end of a
    /// call whose offer did not arrive becomes an offer that came too late.
    private func open(
        callOf message: inout Message, _ verdict: SenderPolicy.Decision,
        _ step: StateTransaction.Step?,
        _ attempt: Attempt, _ transaction: StateTransaction
    ) throws -> OpenedLine? {
        guard message.body["type"]?.string == CallSignal.type,
            let signal = try MessageBody(message.body).call
        else { return nil }
        guard verdict == .accepted, message.authenticated, let sender = message.from,
            message.trust != .unverified,
            try transaction.contact(id: sender) != nil
        else { return .dropped }
        guard !isPreview else { return nil }
        var check = try transaction.check(signal, from: sender)
        // The other side's offers and answers in another messenger need not be here.
        if check == .unknown, attempt.envelope == nil { check = .valid }
        if check == .unknown, signal.kind == .hangup {
            let offer = CallSignal(.offer, call: signal.call, sdp: "", reason: .timeout)
            check = try transaction.check(offer, from: sender)
            if check == .valid { message.body = offer.kept } else { check = .late }
        }
        if check == .unknown, signal.kind == .candidates { check = .late }
        let isStored = check == .valid && signal.kind != .candidates
        guard !isStored else { return nil }
        if let step { try transaction.keep(step) }
        try attempt.foreign?.keep(transaction)
        try transaction.forgetRequest(id: attempt.id)
        let failure: Failure
        switch check {
        case .valid: return .message(message, number: nil, seen: false)
        case .late: return .dropped
        case .unknown: failure = Failure(.malformed, "the call \(signal.call) was not offered")
        case .odd(let reason): failure = Failure(.malformed, "the call \(signal.call) \(reason)")
        case .tooMany(let count):
            failure = Failure(
                .malformed,
                "more than \(StateTransaction.callLimit) calls in \(StateTransaction.callWindow / 60) minutes from \(message.name ?? sender.short): \(count) refused"
            )
        }
        return .failed(failure, id: attempt.id, isFinal: true)
    }

    /// Whether an offer came in time; `nil` for any other message. The relay holds it for its time to live, by the relay's own
    /// clock. For the time after that the inbox counts, and without it the clocks of both sides.
    private func rings(
        _ message: Message, _ attempt: Attempt, _ transaction: StateTransaction
    ) throws(StateError) -> Bool? {
        guard message.body["type"]?.string == CallSignal.type,
            message.body["kind"]?.string == CallSignal.Kind.offer.rawValue
        else { return nil }
        guard message.body["reason"] == nil else { return false }
        if let envelope = attempt.envelope {
            guard let ttl = envelope.ttl, ttl <= CallSignal.lifetime else { return false }
        }
        let now = Timestamp.now().seconds
        let age = abs(now - attempt.time.seconds)
        guard let arrival = try transaction.arrival(of: attempt.id) else {
            return age <= CallSignal.lifetime
        }
        return abs(now - arrival.seconds) <= CallSignal.lifetime
            && age <= StateTransaction.longestDelay
    }

    /// Decides about a message. A refused message may be read later with another policy, so the prekeys that it names
    /// are kept until then.
    private func decision(
        _ message: inout Message, _ step: StateTransaction.Step?, _ id: String,
        _ transaction: StateTransaction
    ) throws -> SenderPolicy.Decision {
        let contact = try transaction.contact(of: message)
        let hasContacts = try transaction.hasContacts()
        if contact == nil, message.authenticated, let sender = message.from,
            sender != transaction.owner.id, try transaction.isRevoked(sender)
        {
            throw RevokedSenderError(failure: ContactError.revoked(sender).failure)
        }
        do throws(Failure) {
            return try senderPolicy.decide(&message, contact: contact, hasContacts: hasContacts)
        } catch {
            if contact?.doubt == .revoked { throw RevokedSenderError(failure: error) }
            if !isPreview, let step { try transaction.awaitPreKeys(of: step, id: id) }
            throw error
        }
    }

    /// Returns the result for an envelope that was opened before, with the current trust of its sender, or `nil` for
    /// another envelope. `id` is the envelope's id.
    func repeated(
        _ earlier: IdentityStore.Opened, _ id: String, _ transaction: StateTransaction
    ) throws -> OpenedLine? {
        switch earlier {
        case .same(let number, let record):
            let (message, verdict) = try senderPolicy.recall(record, transaction)
            if !isPreview, message.trust != .unverified {
                try transaction.forgetRequest(id: id)
            }
            return verdict == .blocked ? .dropped : .message(message, number: number, seen: true)
        case .deleted:
            // No readable copy of a deleted message stays in the list of requests.
            if !isPreview { try transaction.forgetRequest(id: id) }
            return .dropped
        case .new, .repeated, .different: return nil
        }
    }
}

extension Message {
    /// Whether the message is of a suite that can authenticate its sender, but does not. The messages of a chat have no
    /// sender.
    var isUnproven: Bool { !authenticated && details?["chat"] == nil }

    /// The account in another messenger that the message claims as its sender without a proof; `nil` for any other message.
    var claimedAccount: String? {
        guard !authenticated, from != nil else { return nil }
        return details?["untrusted"]?.object?["account"]?.string
    }

    /// The failure of a message whose body has a known type and malformed members.
    var malformedBody: Failure? {
        do {
            try checkForm()
            _ = try GroupBody(in: self)
            return nil
        } catch {
            return (error as? Failure) ?? Failure(core: error)
        }
    }
}
