import Dispatch
import NIOCore
import Sotto
import SottoState
import SottoTransport
import SottoWire

/// One client: lines to requests, outcomes to lines.
///
/// Everything in it belongs to its event loop, which is why it may call itself Sendable.
final class ClientConnection: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// What came of a change that was submitted.
    struct Reply: Sendable {
        let requestID: String?
        let outcome: Outcome
        let weight: Int
    }

    /// The most requests that wait for their outcome, and their bytes; beyond that nothing is read.
    private static let pendingLimit = 256
    private static let pendingBytesLimit = 1 << 20
    /// The `bad_json` that closes the connection.
    private static let badLineLimit = 10
    /// The failed login that closes the connection.
    private static let failedLoginLimit = 5

    let loop: any EventLoop
    private let channel: any Channel
    private let services: Services
    private let isWelcome: Bool
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
    private var isClosing = false
    private var mayRead = true

    /// Where requests come one by one, on any connection: nonces are then known to all of them.
    var isOfRequests = false
    private var nonce: (bytes: [UInt8], until: Double)?
    /// The mailboxes that are open here, in the order in which they were.
    private var mailboxes = OpenMailboxes()

    private var lineSince: Double? = Monotonic.seconds()
    private var lastLine = Monotonic.seconds()
    private var stalledSince: Double?

    /// A connection over a channel; one that is not welcome is told so and closed.
    init(channel: any Channel, services: Services, isWelcome: Bool) {
        self.channel = channel
        loop = channel.eventLoop
        self.isWelcome = isWelcome
        self.services = services
    }

    // MARK: From the channel

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        // Behind a doorway the channel is active already, and its first bytes are on their way.
        if context.channel.isActive { mayRead = false }
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelActive(context: ChannelHandlerContext) {
        guard isWelcome else {
            write(.error(Refusal(.busy)), nil)
            return close()
        }
        context.read()
    }

    func channelInactive(context: ChannelHandlerContext) {
        isClosing = true
        for mailbox in mailboxes.subscribed { services.hub.unsubscribe(self, from: mailbox) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isClosing else { return }
        unwrapInboundIn(data).withUnsafeReadableBytes { splitter.append($0) }
        process()
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if isClosing { return context.read() }
        flush()
        mayRead = true
        readOn()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        stalledSince = context.channel.isWritable ? nil : Monotonic.seconds()
        if stalledSince == nil {
            process()
            pumpAll()
            flush()
            readOn()
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // A reset connection, most likely; whose it was is nobody's business.
        guard error is WebSocketViolation else { return context.close(promise: nil) }
        close()
    }

    private var canWork: Bool {
        !isClosing && !isPaused && pending < Self.pendingLimit
            && pendingBytes < Self.pendingBytesLimit
            && stalledSince == nil
    }

    private func readOn() {
        guard mayRead, canWork else { return }
        mayRead = false
        context?.read()
    }

    private func process() {
        while canWork {
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
                take(line)
            }
        }
    }

    /// Looks at the clock; called every few seconds.
    func tick(_ now: Double) {
        let limits = services.timeouts
        if let since = lineSince, canWork, now - since > limits.line { return abort() }
        if let since = stalledSince, now - since > limits.stalled { return abort() }
        if pending == 0, now - lastLine > limits.idle { abort() }
    }

    // MARK: To the channel

    private func write(_ response: Response, _ requestID: String?) {
        out.writeBytes(response.line(requestID: requestID))
    }

    /// Hands over what this turn of the event loop made: changes to the writer, lines to the socket.
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

    /// Closes after what is written has left.
    ///
    /// Only the sending half at first: closing with unread input would reset the connection, and the other
    /// side might never read why. What still comes is dropped, for two seconds.
    func close() {
        guard !isClosing, let context else { return }
        isClosing = true
        flush()
        context.close(mode: .output, promise: nil)
        context.read()
        loop.scheduleTask(in: .seconds(2)) { self.abort() }
    }

    /// Closes at once.
    func abort() {
        isClosing = true
        channel.close(promise: nil)
    }

    /// A line has begun that is not seen here yet: HTTP and WebSocket hand it over whole.
    func noteBegun() {
        if pending == 0 { lineSince = lineSince ?? Monotonic.seconds() }
    }

    /// Says that another connection consumes the mailbox now, and closes.
    private func replace() {
        guard !isClosing else { return }
        write(.replaced, nil)
        close()
    }

    // MARK: Requests

    private func take(_ line: [UInt8]) {
        let frame: Frame
        do throws(Reason) {
            frame = try Frame(parsing: line)
        } catch {
            badLines += 1
            write(.error(Refusal(error)), nil)
            if badLines >= Self.badLineLimit { close() }
            return
        }
        badLines = 0
        do throws(Reason) {
            try serve(try Request(frame), frame.requestID)
        } catch {
            services.counters.add(.refused)
            let isTooLarge = error == .tooLarge
            write(
                isTooLarge ? .rejected(Refusal(error)) : .error(Refusal(error)), frame.requestID)
            if error == .loginFailed { pauseAfterFailedLogin() }
        }
    }

    private func serve(_ request: Request, _ requestID: String?) throws(Reason) {
        switch request {
        case .ping: write(.pong, requestID)
        case .challenge:
            let bytes = randomBytes(WireLimits.nonceBytes)
            let now = Monotonic.seconds()
            if isOfRequests {
                services.nonces.add(bytes, at: now)
            } else {
                nonce = (bytes, now + WireLimits.nonceSeconds)
            }
            write(.challenge(nonce: bytes, names: names), requestID)
        case .login(let login):
            try accept(login)
            welcome(login.id, requestID)
        case .resume(let token):
            let now = Monotonic.seconds()
            guard let owner = services.tokens.mailbox(token, at: now), mailboxes.open(owner) else {
                throw .loginFailed
            }
            welcome(owner, requestID)
        case .send(let envelope): submit(.store(envelope), requestID)
        case .fetch(let max, let after, let dead, let mailbox):
            fetch(try owned(mailbox), requestID, max: max, after: after, dead: dead)
        case .subscribe(let mailbox):
            // What it pushes would have no request to answer.
            guard !isOfRequests else { throw .unknownType }
            let mailbox = try owned(mailbox)
            if let older = services.hub.subscribe(self, to: mailbox), older !== self {
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
            guard let head = published.publication.bundleHead else { throw .badSignature }
            submit(.publish(published.publication, head: head), requestID)
        case .claim(let owner, let id):
            guard claims.admits(at: Monotonic.seconds()) else { throw .busy }
            submit(.claim(owner: owner, id: id), requestID)
        }
    }

    private var names: [String] { services.names.accepted(on: context?.channel.localAddress) }

    /// The mailbox that a request is about, if it is open here.
    private func owned(_ mailbox: SessionID?) throws(Reason) -> SessionID {
        guard let found = mailboxes.find(mailbox) else { throw .loginRequired }
        return found
    }

    /// Over HTTP each request says anew whose it is: a proxy may send those of several people here.
    func beginRequest() { mailboxes = OpenMailboxes() }

    /// Opens the mailbox, or refuses without a word on why.
    private func accept(_ login: Login) throws(Reason) {
        guard isKnown(login.nonce), names.contains(login.relay.lowercased()), login.isSigned,
            mailboxes.open(login.id)
        else { throw .loginFailed }
    }

    /// Whether a nonce was given out, here or, over HTTP, anywhere; it is used up with that.
    private func isKnown(_ bytes: [UInt8]) -> Bool {
        let now = Monotonic.seconds()
        if isOfRequests { return services.nonces.take(bytes, at: now) }
        let nonce = nonce
        self.nonce = nil
        guard let nonce, nonce.until > now else { return false }
        return constantTimeEqual(nonce.bytes, bytes)
    }

    /// After a failed login: reads nothing for a while, and closes when it has happened too often.
    ///
    /// A signature cannot be guessed, so this only bounds the work that somebody can make of verifying. It
    /// is kept by connection, because whoever proves a key must get in whatever others did with it before.
    private func pauseAfterFailedLogin() {
        failedLogins += 1
        services.counters.add(.failedLogins)
        guard failedLogins < Self.failedLoginLimit else { return close() }
        isPaused = true
        let seconds = services.timeouts.failedLogin * Double(1 << (failedLogins - 1))
        loop.scheduleTask(in: .milliseconds(Int64(seconds * 1000))) {
            self.isPaused = false
            guard !self.isClosing else { return }
            self.process()
            self.flush()
            self.readOn()
        }
    }

    private func submit(_ change: Change, _ requestID: String?) {
        pending += 1
        pendingBytes += change.weight
        submissions.append(Writer.Entry(change: change, connection: self, requestID: requestID))
    }

    /// Takes the outcomes of changes that are on disk.
    func complete(_ replies: [Reply]) {
        pending -= replies.count
        pendingBytes -= replies.reduce(0) { $0 + $1.weight }
        guard !isClosing else { return }
        for reply in replies { write(reply.outcome.response, reply.requestID) }
        process()
        flush()
        readOn()
    }

    // MARK: Reading

    private func welcome(_ owner: SessionID, _ requestID: String?) {
        let token = services.tokens.issue(owner, at: Monotonic.seconds())
        answer(requestID) { store, _ throws(StateError) in
            .session(try store.preKeys(of: owner), token: token)
        }
    }

    private func fetch(
        _ mailbox: SessionID, _ requestID: String?, max: Int, after: Int64, dead: Bool
    ) {
        answer(requestID) { store, minute throws(StateError) in
            let page = try store.messages(
                in: mailbox, after: after, limit: max, dead: dead, at: minute)
            return .messages(page.messages.map(\.delivered), more: page.hasMore)
        }
    }

    /// Answers a request with what is read from the store.
    private func answer(
        _ requestID: String?,
        _ body: @escaping @Sendable (any Store, Int64) throws(StateError) -> Response
    ) {
        pending += 1
        read(body) { response in
            self.pending -= 1
            guard !self.isClosing else { return }
            self.write(response, requestID)
            self.process()
            self.flush()
            self.readOn()
        }
    }

    /// Looks again for something to push.
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
        read { store, minute throws(StateError) in
            try store.messages(in: mailbox, after: after, limit: limit, dead: false, at: minute)
        } then: { page in
            guard !self.isClosing, let pushes = self.mailboxes[mailbox]?.endRead(page) else {
                return
            }
            for push in pushes { self.write(push, nil) }
            self.flush()
            self.pump(mailbox)
        }
    }

    /// Reads from the store on its thread, and goes on with that here.
    private func read<Value: Sendable>(
        _ body: @escaping @Sendable (any Store, Int64) throws(StateError) -> Value,
        then: @escaping @Sendable (Value) -> Void
    ) {
        let (services, loop) = (services, loop)
        services.reader.async {
            do throws(StateError) {
                let value = try body(services.store, services.clock.minute)
                loop.execute { then(value) }
            } catch {
                services.onFailure(error)
            }
        }
    }
}
