import Dispatch
import NIOCore
import NIOHTTP1
import NIOPosix
import Sotto
import SottoDatabase
import SottoNetwork
import SottoWire

/// The end of a client's channel: passes frames to a ``ConnectionState``, and performs its effects.
///
/// All of its state belongs to its event loop, which makes it safe to be Sendable.
final class ClientConnection: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The outcome of a change.
    struct Reply: Sendable {
        let requestID: String?
        let outcome: Outcome
        let weight: Int
        let then: CommitStep?
    }

    let loop: any EventLoop
    private let channel: any Channel
    let remoteAddress: SocketAddress?
    let services: Services
    /// Whether the connection is served.
    let isServed: Bool
    private var context: ChannelHandlerContext?
    private let lines = LineCodec()
    /// The codec of HTTP, until the connection becomes one of WebSocket.
    var http: HTTPCodec? { didSet { state.isHTTP = http != nil } }
    private var state: ConnectionState
    private var submissions: [Writer.Entry] = []
    private var signals: [SottoWire.AddressedEnvelope] = []
    private var mayRead = true
    /// Whether the state has asked for the end of the connection.
    private var mustClose = false

    /// Creates a connection over a channel. If `isServed` is false, the client gets `busy` and is disconnected.
    init(channel: any Channel, services: Services, isServed: Bool) {
        self.channel = channel
        loop = channel.eventLoop
        remoteAddress = channel.remoteAddress
        self.isServed = isServed
        self.services = services
        state = ConnectionState(
            services.policy, network: channel.remoteAddress?.network, at: Monotonic.seconds(),
            names: { services.names.accepted(on: channel) })
    }

    /// Whether requests come over HTTP.
    var isHTTP: Bool { state.isHTTP }
    /// Whether the connection is closing: input is dropped.
    var isClosing: Bool { state.isClosing }
    /// Whether the connection can handle another frame now.
    var canWork: Bool { state.canWork }

    // MARK: From the channel

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        // After the protocol detection the channel is already active, and its first bytes follow.
        if context.channel.isActive { mayRead = false }
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelActive(context: ChannelHandlerContext) {
        guard isServed else {
            lines.add(.error(Refusal(.busy)), to: nil)
            return close()
        }
        context.read()
    }

    func channelInactive(context: ChannelHandlerContext) {
        state.noteEnd()
        for mailbox in state.mailboxes.subscribed {
            services.subscribers.unsubscribe(self, from: mailbox)
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isClosing else { return }
        let bytes = unwrapInboundIn(data)
        if bytes.readableBytes == 0 { state.noteEmptyFrame() }
        lines.receive(bytes)
        process()
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if isClosing { return context.read() }
        flush()
        mayRead = true
        readMore()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        let isWritable = context.channel.isWritable
        state.noteWritable(isWritable, at: Monotonic.seconds())
        guard isWritable else { return }
        process()
        state.pumpAll(to: self)
        flush()
        readMore()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // Most likely a connection reset. The error is not logged, because it could name the client.
        guard error is WebSocketViolation else { return context.close(promise: nil) }
        close()
    }

    // MARK: From the codecs

    /// Handles the frames of an HTTP request with this protocol.
    func receiveRequest(as form: RelayProtocol = .own) {
        guard !isClosing else { return }
        state.beginRequest()
        state.form = form
        process()
    }

    /// Notes that a line has begun, which HTTP and WebSocket deliver whole.
    func noteBegun() { state.noteBegun(at: Monotonic.seconds()) }

    /// Notes a WebSocket frame without a line, which is charged before the next request.
    func noteEmptyFrame() { state.noteEmptyFrame() }

    /// Begins a WebSocket connection with ``RelayProtocol/flow``.
    func begin(_ handshake: FlowHandshake) {
        lines.flow = handshake
        state.form = .flow
        process()
        flush()
    }

    /// Whether a token is one that the relay gave and is still valid.
    func knows(token: String) -> Bool {
        services.policy.tokens.session(token, at: Monotonic.seconds()) != nil
    }

    /// Whether an HTTP request with these headers may be served: no web page of another origin sent it.
    func admitsOrigin(_ headers: HTTPHeaders) -> Bool {
        guard headers.contains(name: "origin") else { return true }
        return services.origins.admit(
            headers, names: services.names.accepted(on: channel))
    }

    // MARK: Turns of the event loop

    private func process() {
        let codec: any ClientCodec = if let http { http } else { lines }
        state.process(at: Monotonic.seconds(), to: self) { codec.next() }
        if mustClose { flush() }
    }

    /// Passes a result to the state, and continues with the frames that wait.
    private func resume(_ body: (inout ConnectionState, Double) -> Void) {
        body(&state, Monotonic.seconds())
        guard !isClosing || mustClose else { return }
        process()
        flush()
        readMore()
    }

    private func readMore() {
        guard mayRead, canWork else { return }
        mayRead = false
        context?.read()
    }

    /// Sends what this turn of the event loop produced: changes to the writer, responses to the socket, and then
    /// envelopes to their subscribers, so that these do not delay the responses.
    private func flush() {
        defer {
            if !signals.isEmpty {
                services.signals.pass(signals)
                signals = []
            }
        }
        submit()
        guard let context else { return }
        if let http { http.flush(context) } else { lines.flush(context) }
        // A response over HTTP can let the next request be taken.
        submit()
        if mustClose { finish(context) }
    }

    private func submit() {
        guard !submissions.isEmpty else { return }
        services.writer.submit(submissions)
        submissions = []
    }

    /// Closes the sending half; a close with unread input would reset the connection, and the client might never read
    /// the reason. Input is dropped for two seconds; then the connection is closed.
    private func finish(_ context: ChannelHandlerContext) {
        mustClose = false
        context.close(mode: .output, promise: nil)
        context.read()
        loop.scheduleTask(in: .seconds(2)) { self.abort() }
    }

    // MARK: From other threads' results, on the event loop

    /// Handles the outcomes of changes that are on disk.
    func complete(_ replies: [Reply]) {
        resume { state, now in
            for reply in replies {
                state.take(
                    reply.outcome, reply.requestID, weight: reply.weight, then: reply.then,
                    at: now, to: self)
            }
        }
    }

    /// Pushes arrivals in subscribed mailboxes.
    func wake(_ arrived: [KeyID]) {
        state.noteArrivals(arrived, to: self)
        flush()
    }

    /// Pushes envelopes with a time to live of 0 to subscribed mailboxes.
    func push(_ signals: [SottoWire.AddressedEnvelope]) {
        let count = signals.count { state.push(signal: $0, to: self) }
        services.policy.counters.add(.pushedSignals, count)
        flush()
    }

    /// Enforces the timeouts; called every few seconds.
    func tick(_ now: Double) {
        if state.isTimedOut(at: now) { abort() }
    }

    /// Closes after the written responses have been sent.
    func close() {
        guard context != nil else { return }
        state.close(self)
        flush()
    }

    /// Closes at once.
    func abort() {
        state.noteEnd()
        channel.close(promise: nil)
    }
}

extension ClientConnection: ConnectionEffects {
    func perform(_ effect: ConnectionEffect) {
        switch effect {
        case .respond(let response, let requestID):
            if let http {
                http.add(response, to: requestID)
            } else {
                lines.add(response, to: requestID)
                if lines.flow != nil, FlowHandshake.ends(response, to: requestID) {
                    loop.execute { self.close() }
                }
            }
        case .commit(let change, let requestID, let step):
            submissions.append(
                Writer.Entry(change: change, connection: self, requestID: requestID, then: step))
        case .note(let change): services.writer.note([change])
        case .pass(let envelope): signals.append(envelope)
        case .read(let query): read(query)
        case .blob(let work, let requestID): perform(work, requestID)
        case .verify(let work): verify(work)
        case .subscribe(let mailbox):
            if let older = services.subscribers.subscribe(self, to: mailbox), older !== self {
                older.loop.execute { older.replace() }
            }
        case .pause(let seconds, let response):
            loop.scheduleTask(in: .nanoseconds(Int64(seconds * 1e9))) {
                self.resume { state, _ in
                    state.endPause()
                    if let (response, requestID) = response, !state.isClosing {
                        self.perform(.respond(response, to: requestID))
                    }
                }
            }
        case .close: mustClose = true
        }
    }

    private func replace() {
        state.replace(self)
        flush()
    }

    /// Reads from the store on its thread.
    private func read(_ query: StoreQuery) {
        let (services, loop) = (services, loop)
        services.reader.async {
            do throws(StoreError) {
                let result = try query.run(services.store, services.policy.clock)
                loop.execute { self.resume { $0.take(result, at: $1, to: self) } }
            } catch .full {
                loop.execute { self.resume { $0.take(.full(query), at: $1, to: self) } }
            } catch {
                services.onFailure(error)
            }
        }
    }

    /// Reads or writes a blob on its threads.
    private func perform(_ work: BlobWork, _ requestID: String?) {
        let (services, loop) = (services, loop)
        services.blobThreads.submit { state in
            guard state == .active else { return }
            do throws(StoreError) {
                let response = try work.response(services)
                loop.execute {
                    self.resume { state, _ in state.take(blob: response, requestID, to: self) }
                }
            } catch {
                services.onFailure(error)
            }
        }
    }

    /// Parses or verifies on the thread pool.
    private func verify(_ work: Verification) {
        let loop = loop
        services.verification.submit { state in
            guard state == .active else { return }
            let result = work.run()
            loop.execute { self.resume { $0.take(result, at: $1, to: self) } }
        }
    }
}
