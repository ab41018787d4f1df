import Glibc
import NIOCore
import NIOHTTP1
import NIOSSL
import NIOTLS
import NIOWebSocket
import SottoNetwork
import SottoWire

/// The layers of a connection to a relay: optional TLS, and lines, WebSocket or HTTP in it.
struct LinkPlan: Sendable {
    private let relay: RelayURL
    private let tls: NIOSSLContext?

    /// Time limit in seconds for the handshakes.
    private let seconds: Int64

    /// Prepares TLS with the certificates that the address names or the system trusts, and handshakes within `seconds`. Throws
    /// ``ClientError/certificates(_:)``.
    init(to relay: RelayURL, within seconds: Int64) throws(ClientError) {
        (self.relay, self.seconds) = (relay, seconds)
        guard relay.scheme.isSecure else {
            tls = nil
            return
        }
        do {
            tls = try ClientTLS.context(
                authorities: relay.authorities,
                protocols: relay.transport == .tls ? [] : ["http/1.1"],
                isPinned: relay.pin != nil || relay.acceptsAnyCertificate)
        } catch {
            guard let file = relay.authorities else {
                throw .certificates("the system's certificates")
            }
            throw access(file, R_OK) == 0 ? .certificates(file) : .noCertificates(file)
        }
    }

    static func noAnswer(within seconds: Int64) -> String { "no answer within \(seconds) seconds" }

    /// Sets up a channel's pipeline. `ready` succeeds when lines can be sent, or fails.
    func open(
        _ channel: any Channel, ready: EventLoopPromise<Void>, _ makeHandler: () -> LinkHandler
    ) throws {
        let pipeline = channel.pipeline.syncOperations
        let gate = try openTLS(channel, ready: ready)
        let handler = makeHandler()
        switch relay.transport {
        case .tcp, .tls: try pipeline.addHandlers([gate, handler])
        case .http, .https:
            try pipeline.addHTTPClientHandlers()
            try pipeline.addHandlers([
                HTTPLines(relay: relay), gate, handler,
            ])
        case .ws, .wss:
            gate.waitsForUpgrade = true
            let translators = relay.form == .flow ? [FlowLines()] : []
            let upgrader = NIOWebSocketClientUpgrader(
                maxFrameSize: WireLimits.responseBytes,
                upgradePipelineHandler: { channel, _ in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandlers(
                            WebSocketPipeline.client(messageBytes: WireLimits.responseBytes)
                                + translators + [gate, handler])
                        gate.open()
                    }
                })
            let asking = UpgradeRequest(relay: relay, ready: ready)
            let upgrade: NIOHTTPClientUpgradeSendableConfiguration = (
                upgraders: [upgrader],
                completionHandler: { context in
                    context.pipeline.syncOperations.removeHandler(asking, promise: nil)
                }
            )
            try pipeline.addHTTPClientHandlers(
                leftOverBytesStrategy: .forwardBytes, withClientUpgrade: upgrade)
            try pipeline.addHandler(asking)
        }
    }

    /// Sets up a channel's pipeline for HTTP requests about blobs. A relay serves them on its port, whatever the scheme
    /// of its address is.
    func open(
        _ channel: any Channel, ready: EventLoopPromise<Void>, blobs handler: BlobLinkHandler
    ) throws {
        let gate = try openTLS(channel, ready: ready)
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(gate)
        try pipeline.addHTTPClientHandlers()
        try pipeline.addHandler(handler)
    }

    /// Adds TLS if the address asks for it. Returns the gate, which is not in the pipeline yet.
    private func openTLS(
        _ channel: any Channel, ready: EventLoopPromise<Void>
    ) throws -> LinkGate {
        if let tls {
            try channel.pipeline.syncOperations.addHandler(
                ClientTLS.handler(
                    tls, host: relay.host, pin: relay.pin,
                    acceptsAny: relay.acceptsAnyCertificate))
        }
        let timeout = channel.eventLoop.scheduleTask(in: .seconds(seconds)) {
            ready.fail(
                ClientError.unreachable(
                    relay: relay.description, cause: Self.noAnswer(within: seconds)))
        }
        ready.futureResult.whenComplete { _ in timeout.cancel() }
        return LinkGate(relay: relay.description, ready: ready, waitsForTLS: tls != nil)
    }
}

/// Completes the promise of a link when all layers below it are connected.
///
/// Used only on its event loop, so it may be Sendable.
final class LinkGate: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer

    private let relay: String
    private let ready: EventLoopPromise<Void>
    private var waitsForTLS: Bool
    var waitsForUpgrade = false

    init(relay: String, ready: EventLoopPromise<Void>, waitsForTLS: Bool) {
        self.relay = relay
        self.ready = ready
        self.waitsForTLS = waitsForTLS
    }

    func channelActive(context: ChannelHandlerContext) {
        if !waitsForTLS, !waitsForUpgrade { ready.succeed() }
        context.fireChannelActive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted = event as? TLSUserEvent { ready.succeed() }
        context.fireUserInboundEventTriggered(event)
    }

    /// The upgrade is complete.
    func open() { ready.succeed() }

    func channelInactive(context: ChannelHandlerContext) {
        ready.fail(ClientError.lost(relay: relay))
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        ready.fail(ClientError.of(error, relay: relay))
        context.fireErrorCaught(error)
    }
}

/// Requests the upgrade to WebSocket (RFC 6455 §4.1), and reports a refusal.
///
/// Used only on its event loop, so it may be Sendable.
final class UpgradeRequest: ChannelInboundHandler, RemovableChannelHandler, @unchecked Sendable {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    private let relay: RelayURL
    private let ready: EventLoopPromise<Void>

    init(relay: RelayURL, ready: EventLoopPromise<Void>) {
        self.relay = relay
        self.ready = ready
    }

    func channelActive(context: ChannelHandlerContext) {
        let head = HTTPRequestHead(
            version: .http1_1, method: .GET,
            uri: relay.form == .flow ? FlowWire.path(at: relay) : relay.path,
            headers: ["host": relay.hostHeader])
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // A response that arrives here refused the upgrade.
        ready.fail(ClientError.notARelay(relay: relay.description))
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        ready.fail(ClientError.lost(relay: relay.description))
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        ready.fail(ClientError.of(error, relay: relay.description))
        context.close(promise: nil)
    }
}

extension ClientError {
    /// Returns the client error for an error of the connection.
    static func of(_ error: any Error, relay: String) -> ClientError {
        switch error {
        case NIOSSLError.handshakeFailed(let reason):
            let text = String(describing: reason)
            if text.contains("CERTIFICATE_VERIFY_FAILED") {
                return .untrusted(relay: relay, .unknown)
            }
            return .unreachable(relay: relay, cause: "the TLS handshake failed")
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError:
            return .untrusted(relay: relay, .unknown)
        case is NIOHTTPClientUpgradeError, is HTTPParserError: return .notARelay(relay: relay)
        case let error as ClientError: return error
        default: return .lost(relay: relay)
        }
    }
}
