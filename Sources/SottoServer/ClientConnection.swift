import Dispatch
import NIOCore
import NIOHTTP1
import NIOPosix
import Sotto
import SottoDatabase
import SottoTransport
import SottoWire

/// One client connection: turns lines into requests, and outcomes into lines.
///
/// All of its state belongs to its event loop, which makes it safe to be Sendable.
final class ClientConnection: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The outcome of a submitted change.
    struct Reply: Sendable {
        let requestID: String?
        let outcome: Outcome
        let weight: Int
        /// Handles the outcome; without it the outcome is written to the client.
        let then: (@Sendable (Outcome) -> Void)?
    }

    /// The most requests that wait for their outcomes, and their bytes; at a limit reading stops.
    private static let pendingLimit = 256
    private static let pendingBytesLimit = 1 << 20
    /// The number of unreadable lines in a row that closes the connection.
    private static let badLineLimit = 10
    /// The number of failed logins that closes the connection.
    private static let failedLoginLimit = 5

    let loop: any EventLoop
    private let channel: any Channel
    let remoteAddress: SocketAddress?
    let services: Services
    /// Whether the connection is served.
    let isServed: Bool
    private var context: ChannelHandlerContext?
    private var splitter = LineSplitter(limit: WireLimits.requestBytes)
    private var out = ByteBuffer()
    private var submissions: [Writer.Entry] = []
    private var pending = 0
    private var pendingBytes = 0
    private var badLines = 0
    private var claims = RateLimit(count: WireLimits.claimsInAMinute, seconds: 60)
    private var failedLogins = 0
    private var isPaused = false
    private(set) var isClosing = false
    private var mayRead = true

    /// Whether each request comes alone, over HTTP: any connection may then use a nonce.
    var isHTTP = false
    private var nonce: (bytes: [UInt8], until: Double)?
    /// The mailboxes that are open on this connection, in the order of their logins.
    var mailboxes = OpenMailboxes()
    /// The last id that logged in as a member itself.
    var member: SessionID?
    /// The last puzzle, and the number of new ids that the solved puzzles still allow.
    var puzzle: (nonce: [UInt8], bits: Int)?
    var solvedPuzzles = 0
    private var requests: TokenBucket?
    /// The next frame, while it waits for the rate limit.
    private var held: IncomingFrame?
    /// The number of WebSocket frames without a line that are not charged yet: pings, pongs, fragments.
    private var emptyFrames = 0

    private var lineSince: Double? = Monotonic.seconds()
    private var lastLine = Monotonic.seconds()
    private var stalledSince: Double?

    /// Creates a connection over a channel. If `isServed` is false, the client gets `busy` and is disconnected.
    init(channel: any Channel, services: Services, isServed: Bool) {
        self.channel = channel
        loop = channel.eventLoop
        remoteAddress = channel.remoteAddress
        let rate = Double(services.connectionRate)
        requests =
            rate > 0
            ? TokenBucket(rate: rate, capacity: rate, at: Monotonic.seconds()) : nil
        self.isServed = isServed
        self.services = services
    }

    // MARK: From the channel

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        // After the protocol detection the channel is already active, and its first bytes follow.
        if context.channel.isActive { mayRead = false }
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelActive(context: ChannelHandlerContext) {
        guard isServed else {
            write(.error(Refusal(.busy)), nil)
            return close()
        }
        context.read()
    }

    func channelInactive(context: ChannelHandlerContext) {
        isClosing = true
        for mailbox in mailboxes.subscribed {
            services.subscribers.unsubscribe(self, from: mailbox)
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isClosing else { return }
        let bytes = unwrapInboundIn(data)
        if bytes.readableBytes == 0 { noteEmptyFrame() }
        bytes.withUnsafeReadableBytes { splitter.append($0) }
        process()
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if isClosing { return context.read() }
        flush()
        mayRead = true
        readMore()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        stalledSince = context.channel.isWritable ? nil : Monotonic.seconds()
        if stalledSince == nil {
            process()
            pumpAll()
            flush()
            readMore()
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // Most likely a connection reset. The error is not logged, because it could name the client.
        guard error is WebSocketViolation else { return context.close(promise: nil) }
        close()
    }

    /// Whether the connection can handle another frame now.
    var canWork: Bool {
        !isClosing && !isPaused && pending < Self.pendingLimit
            && pendingBytes < Self.pendingBytesLimit
            && stalledSince == nil
    }

    private func readMore() {
        guard mayRead, canWork else { return }
        mayRead = false
        context?.read()
    }

    private func process() {
        while canWork {
            if emptyFrames > 0 {
                guard isWithinRate(cost: Double(emptyFrames) * emptyFrameCost) else { return }
                emptyFrames = 0
                continue
            }
            if let frame = held {
                guard isWithinRate(cost: frame.cost(rate: Double(services.connectionRate))) else {
                    return
                }
                held = nil
                take(frame)
                continue
            }
            switch splitter.next() {
            case .incomplete:
                if !splitter.hasPartialLine {
                    lineSince = nil
                } else if lineSince == nil {
                    lineSince = Monotonic.seconds()
                }
                return
            case .tooLong:
                write(.error(Refusal(.tooLarge)), nil)
                close()
            case .line(let line):
                lineSince = nil
                lastLine = Monotonic.seconds()
                held = IncomingFrame(line)
            }
        }
    }

    /// Returns whether another request is within the connection's rate. If not, the connection pauses until it is.
    private func isWithinRate(cost: Double) -> Bool {
        guard var bucket = requests else { return true }
        let isWithin = bucket.take(cost, at: Monotonic.seconds())
        requests = bucket
        if !isWithin {
            isPaused = true
            loop.scheduleTask(in: .nanoseconds(Int64(bucket.wait * 1e9) + 1_000_000)) {
                self.endPause()
            }
        }
        return isWithin
    }

    /// The cost, in requests, of a frame without a line: an honest client sends a few in a minute.
    private var emptyFrameCost: Double { max(1, Double(services.connectionRate) / 100) }

    /// The cost, in requests, of a frame that is refused before it is parsed: one second's worth.
    private var refusedCost: Double { Double(services.connectionRate) }

    private func endPause() {
        isPaused = false
        guard !isClosing else { return }
        process()
        flush()
        readMore()
    }

    /// Enforces the timeouts; called every few seconds.
    func tick(_ now: Double) {
        let limits = services.timeouts
        if let since = lineSince, canWork, now - since > limits.line { return abort() }
        if let since = stalledSince, now - since > limits.stalled { return abort() }
        if pending == 0, now - lastLine > limits.idle { abort() }
    }

    // MARK: To the channel

    func write(_ response: Response, _ requestID: String?) {
        out.writeBytes(response.line(requestID: requestID))
    }

    /// Sends what this turn of the event loop produced: changes to the writer, lines to the socket.
    private func flush() {
        if !submissions.isEmpty {
            services.writer.submit(submissions)
            submissions = []
        }
        guard out.readableBytes > 0, let context else { return }
        let lines = out
        out = ByteBuffer()
        context.writeAndFlush(wrapOutboundOut(lines), promise: nil)
    }

    /// Closes after the written lines have been sent.
    ///
    /// First it closes only the sending half: a close with unread input would reset the connection, and the client
    /// might never read the reason. Input is dropped for two seconds; then the connection is closed.
    func close() {
        guard !isClosing, let context else { return }
        isClosing = true
        flush()
        context.close(mode: .output, promise: nil)
        context.read()
        loop.scheduleTask(in: .seconds(2)) { self.abort() }
    }

    func abort() {
        isClosing = true
        channel.close(promise: nil)
    }

    /// Notes that a line has begun. HTTP and WebSocket deliver lines whole, so the splitter does not see it.
    func noteBegun() {
        if pending == 0 { lineSince = lineSince ?? Monotonic.seconds() }
    }

    /// Notes a WebSocket frame without a line, which is charged before the next request.
    func noteEmptyFrame() { emptyFrames += 1 }

    /// Tells the client that another connection consumes the mailbox now, and closes.
    private func replace() {
        guard !isClosing else { return }
        write(.replaced, nil)
        close()
    }

    // MARK: Requests

    /// Handles a frame. A frame that takes long is parsed and verified on another thread.
    private func take(_ frame: IncomingFrame) {
        if let reason = frame.refusal(hasMailbox: mailboxes.find(nil) != nil) {
            badLines += 1
            _ = requests?.take(refusedCost, at: Monotonic.seconds())
            settle(frame.outline.requestID) { () throws(Reason) in throw reason }
            if badLines >= Self.badLineLimit { close() }
            return
        }
        guard frame.isHeavy else { return take(frame.content()) }
        verify {
            frame.content()
        } then: {
            self.take($0)
        }
    }

    private func take(_ content: IncomingFrame.Content) {
        switch content {
        case .unreadable(let reason):
            badLines += 1
            write(.error(Refusal(reason)), nil)
            if badLines >= Self.badLineLimit { close() }
        case .frame(let requestID, let asked):
            badLines = 0
            settle(requestID) { () throws(Reason) in try serve(try asked.get(), requestID) }
        }
    }

    /// Runs `body`, and tells the client the reason if it fails.
    func settle(_ requestID: String?, _ body: () throws(Reason) -> Void) {
        do throws(Reason) {
            try body()
        } catch {
            services.counters.add(error == .tooMany ? .deferred : .refused)
            let response: Response =
                switch error {
                case .tooLarge: .rejected(Refusal(error))
                case .tooMany: .deferred(Refusal(error))
                default: .error(Refusal(error))
                }
            guard error == .loginFailed || error == .notAdmitted else {
                return write(response, requestID)
            }
            refuseLogin(response, requestID)
        }
    }

    private func serve(_ asked: IncomingFrame.Asked, _ requestID: String?) throws(Reason) {
        switch asked.request {
        case .ping: write(.pong, requestID)
        case .challenge:
            let now = Monotonic.seconds()
            let bytes = services.nonces.make(at: now)
            if !isHTTP { nonce = (bytes, now + WireLimits.nonceSeconds) }
            write(.challenge(nonce: bytes, names: names), requestID)
        case .login(let login): try logIn(login, requestID)
        case .resume(let token): try resume(token, requestID)
        case .send(let envelope):
            guard services.rates.admits(envelope.to, at: Monotonic.seconds()) else {
                throw .tooMany
            }
            submit(.store(envelope), requestID)
        case .fetch(let max, let after, let dead, let mailbox):
            fetch(try owned(mailbox), requestID, max: max, after: after, dead: dead)
        case .subscribe(let mailbox):
            // HTTP could not deliver the pushes: they answer no request.
            guard !isHTTP else { throw .unknownType }
            let mailbox = try owned(mailbox)
            if let older = services.subscribers.subscribe(self, to: mailbox), older !== self {
                older.loop.execute { older.replace() }
            }
            mailboxes[mailbox] = Subscription()
            write(.subscribed, requestID)
            pump(mailbox)
        case .ack(let ids, let handled, let mailbox):
            let mailbox = try owned(mailbox)
            submit(.acknowledge(mailbox, ids: ids, handled), requestID)
            mailboxes[mailbox]?.noteAcknowledged(ids)
            pump(mailbox)
        case .publish(let published):
            guard let head = asked.head else { throw .badSignature }
            let publication = published.publication
            publishIfAdmitted(.publish(publication, head: head), of: publication.owner, requestID)
        case .claim(let owner, let id):
            guard claims.admits(at: Monotonic.seconds()) else { throw .busy }
            submit(.claim(owner: owner, id: id), requestID)
        case .record(let record):
            guard services.clock.isCurrent(record.issued) else { throw .badFields }
            publishIfAdmitted(.update(record.id, AccountUpdate(record)), of: record.id, requestID)
        case .lookup(let id):
            guard claims.admits(at: Monotonic.seconds()) else { throw .busy }
            answer(requestID, weight: WireLimits.cardBytes) { store, _ throws(StoreError) in
                let card = try store.account(of: id)?.card
                return card.map { .card($0) } ?? .error(Refusal(.noCard))
            }
        case .puzzle: write(givePuzzle(), requestID)
        case .solution(let nonce, let counter):
            try takeSolution(nonce, counter)
            write(.accepted, requestID)
        }
    }

    var names: [String] { services.names.accepted(on: context?.channel.localAddress) }

    /// Whether an HTTP request with these headers may be served: no web page of another origin sent it.
    func admitsOrigin(_ headers: HTTPHeaders) -> Bool {
        guard headers.contains(name: "origin") else { return true }
        return services.origins.admit(
            headers, names: services.names.accepted(on: channel.localAddress))
    }

    /// Returns the mailbox that a request names, if it is open on this connection.
    private func owned(_ mailbox: SessionID?) throws(Reason) -> SessionID {
        guard let found = mailboxes.find(mailbox) else { throw .loginRequired }
        return found
    }

    /// Resets the login state before an HTTP request: a proxy may send requests of several clients on one connection.
    func beginRequest() {
        mailboxes = OpenMailboxes()
        member = nil
        failedLogins = 0
    }

    /// Returns whether a nonce was issued on this connection, or for HTTP on any, and uses it up.
    func isKnown(_ bytes: [UInt8]) -> Bool {
        let now = Monotonic.seconds()
        if isHTTP { return services.nonces.take(bytes, at: now) }
        let nonce = nonce
        self.nonce = nil
        guard let nonce, nonce.until > now else { return false }
        return constantTimeEqual(nonce.bytes, bytes)
    }

    /// Delays the answer to a failed login, and closes the connection after too many.
    ///
    /// A signature cannot be guessed, so this only limits the cost of verifying. The count is kept per connection, so
    /// that the failures of others never delay an owner. Over HTTP one connection may serve several clients: only the
    /// answer is delayed there, not other requests.
    private func refuseLogin(_ response: Response, _ requestID: String?) {
        failedLogins += 1
        services.counters.add(.failedLogins)
        if !isHTTP {
            write(response, requestID)
            guard failedLogins < Self.failedLoginLimit else { return close() }
        }
        isPaused = true
        let seconds = services.timeouts.failedLogin * Double(1 << (failedLogins - 1))
        loop.scheduleTask(in: .milliseconds(Int64(seconds * 1000))) {
            if self.isHTTP, !self.isClosing { self.write(response, requestID) }
            self.endPause()
        }
    }

    /// Submits a change. Its outcome goes to `then`, or to the client without one.
    func submit(
        _ change: Change, _ requestID: String?, then: (@Sendable (Outcome) -> Void)? = nil
    ) {
        pending += 1
        pendingBytes += change.weight
        submissions.append(
            Writer.Entry(change: change, connection: self, requestID: requestID, then: then))
    }

    /// Submits a change and calls `then` when it is on disk. The connection pauses until then.
    func commit(_ change: Change, _ requestID: String?, then: @escaping @Sendable () -> Void) {
        isPaused = true
        submit(change, requestID) { outcome in
            self.isPaused = false
            guard outcome == .published else {
                return self.write(outcome.response, requestID)
            }
            then()
        }
        flush()
    }

    /// Reads from the store and calls `then` with the result. The connection pauses until then.
    func readWhilePaused<Value: Sendable>(
        _ body: @escaping @Sendable (any Store, Int64) throws(StoreError) -> Value,
        then: @escaping @Sendable (Value) -> Void
    ) {
        isPaused = true
        pending += 1
        read(body) { value in
            self.pending -= 1
            self.isPaused = false
            guard !self.isClosing else { return }
            then(value)
            self.process()
            self.flush()
            self.readMore()
        }
    }

    /// Runs slow work, such as verifying a signature, on the thread pool and calls `then` with the result. The
    /// connection pauses until then, so each connection has at most one such task.
    func verify<Value: Sendable>(
        _ body: @escaping @Sendable () -> Value, then: @escaping @Sendable (Value) -> Void
    ) {
        isPaused = true
        pending += 1
        let loop = loop
        services.verification.submit { state in
            guard state == .active else { return }
            let value = body()
            loop.execute {
                self.pending -= 1
                self.isPaused = false
                guard !self.isClosing else { return }
                then(value)
                self.process()
                self.flush()
                self.readMore()
            }
        }
    }

    /// Handles the outcomes of changes that are on disk.
    func complete(_ replies: [Reply]) {
        pending -= replies.count
        pendingBytes -= replies.reduce(0) { $0 + $1.weight }
        guard !isClosing else { return }
        for reply in replies {
            if let then = reply.then {
                then(reply.outcome)
            } else {
                write(reply.outcome.response, reply.requestID)
            }
        }
        process()
        flush()
        readMore()
    }

    // MARK: Reading

    /// Sends the state of the owner's prekeys; the connection pauses until it is read.
    func sendSession(_ owner: SessionID, _ requestID: String?, token: String) {
        readWhilePaused { store, minute throws(StoreError) in
            (try store.preKeys(of: owner), try store.account(of: owner), minute)
        } then: { status, account, minute in
            self.write(.session(status, token: token), requestID)
            self.noteSeen(owner, account, minute)
        }
    }

    private func fetch(
        _ mailbox: SessionID, _ requestID: String?, max: Int, after: Int64, dead: Bool
    ) {
        let clock = services.clock
        answer(requestID, weight: WireLimits.fetchBytes) { store, _ throws(StoreError) in
            let page = try store.messages(
                in: mailbox, after: after, limit: max, dead: dead, at: clock.expiry)
            return .messages(page.messages.map(\.delivered), more: page.hasMore)
        }
    }

    /// Answers a request with a response that is read from the store and has about `weight` bytes.
    private func answer(
        _ requestID: String?, weight: Int,
        _ body: @escaping @Sendable (any Store, Int64) throws(StoreError) -> Response
    ) {
        pending += 1
        pendingBytes += weight
        read(body) { response in
            self.pending -= 1
            self.pendingBytes -= weight
            guard !self.isClosing else { return }
            self.write(response, requestID)
            self.process()
            self.flush()
            self.readMore()
        }
    }

    /// Notes arrivals in subscribed mailboxes and pushes them.
    func wake(_ arrived: [SessionID]) {
        for mailbox in arrived {
            mailboxes[mailbox]?.noteArrival()
            pump(mailbox)
        }
        flush()
    }

    private func pumpAll() { for mailbox in mailboxes.subscribed { pump(mailbox) } }

    private func pump(_ mailbox: SessionID) {
        guard !isClosing, stalledSince == nil,
            let (after, limit) = mailboxes[mailbox]?.beginRead()
        else { return }
        let clock = services.clock
        read { store, _ throws(StoreError) in
            try store.messages(
                in: mailbox, after: after, limit: limit, dead: false, at: clock.expiry)
        } then: { page in
            guard !self.isClosing, let pushes = self.mailboxes[mailbox]?.endRead(page) else {
                return
            }
            for push in pushes { self.write(push, nil) }
            self.flush()
            self.pump(mailbox)
        }
    }

    /// Reads from the store on its thread, and calls `then` with the result on the event loop.
    private func read<Value: Sendable>(
        _ body: @escaping @Sendable (any Store, Int64) throws(StoreError) -> Value,
        then: @escaping @Sendable (Value) -> Void
    ) {
        let (services, loop) = (services, loop)
        services.reader.async {
            do throws(StoreError) {
                let value = try body(services.store, services.clock.minute)
                loop.execute { then(value) }
            } catch {
                services.onFailure(error)
            }
        }
    }
}
