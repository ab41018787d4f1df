import NIOCore
import NIOHTTP1
import NIOSSL
import NIOWebSocket
import Sotto
import SottoNetwork
import SottoWire

/// Detects the protocol of a connection by its first bytes: TLS, lines of JSON, or HTTP, which may become WebSocket.
/// It then adds the handlers of that protocol before the ``ClientConnection``.
///
/// Used only on its event loop, which makes `@unchecked Sendable` safe.
final class ProtocolDetector: ChannelInboundHandler, RemovableChannelHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let connection: ClientConnection
    /// The certificate for TLS; `nil` without one, and inside a TLS connection.
    private let tls: TLSCertificate?
    private let acceptsPlain: Bool
    private var isOpen = false

    /// Creates a detector for a connection that is not in the pipeline yet.
    /// With `acceptsPlain` the connection need not use TLS.
    init(to connection: ClientConnection, tls: TLSCertificate?, acceptsPlain: Bool) {
        self.connection = connection
        self.tls = tls
        self.acceptsPlain = acceptsPlain
    }

    func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { context.read() }
    }

    func channelActive(context: ChannelHandlerContext) {
        context.read()
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isOpen else { return context.fireChannelRead(data) }
        guard let first = unwrapInboundIn(data).readableBytesView.first else { return }
        do {
            guard try open(for: first, context) else { return context.close(promise: nil) }
        } catch {
            return context.close(promise: nil)
        }
        isOpen = true
        context.fireChannelRead(data)
        context.fireChannelReadComplete()
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if isOpen { context.fireChannelReadComplete() } else { context.read() }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    /// Adds the handlers of the protocol that begins with `first`. Returns false for an unknown protocol.
    private func open(for first: UInt8, _ context: ChannelHandlerContext) throws -> Bool {
        let pipeline = context.pipeline.syncOperations
        switch first {
        case 0x16:
            guard let tls else { return false }
            let handlers: [any ChannelHandler] = [
                NIOSSLServerHandler(context: tls.context),
                ProtocolDetector(to: connection, tls: nil, acceptsPlain: true),
            ]
            try pipeline.addHandlers(handlers, position: .after(self))
        case _ where !acceptsPlain: return false
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): try openHTTP(pipeline)
        case 0x09, 0x0A, 0x0D, 0x20...0x7E:
            try pipeline.addHandler(connection, position: .after(self))
        default: return false
        }
        return true
    }

    private func openHTTP(_ pipeline: ChannelPipeline.SynchronousOperations) throws {
        let connection = connection
        let http = HTTPCodec(to: connection)
        let upgrader = NIOWebSocketServerUpgrader(
            maxFrameSize: WireLimits.requestBytes, automaticErrorHandling: false,
            shouldUpgrade: { channel, head in
                // The upgrade of a foreign page's handshake is declined here; HTTPCodec then refuses the request.
                let isGood =
                    Self.isHandshake(head) && connection.admitsOrigin(head.headers)
                    && Self.isKnown(head, to: connection)
                return channel.eventLoop.makeSucceededFuture(isGood ? [:] : nil)
            },
            upgradePipelineHandler: { channel, head in
                connection.http = nil
                return channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers(
                        WebSocketPipeline.server(
                            messageBytes: WireLimits.requestBytes,
                            counter: FragmentCount(of: connection)) + [connection])
                    if FlowHandshake.isPath(of: head) {
                        connection.begin(FlowHandshake(token: head.token))
                    }
                }
            })
        let upgrade: NIOHTTPServerUpgradeSendableConfiguration = (
            upgraders: [upgrader],
            completionHandler: { context in
                context.pipeline.syncOperations.removeHandler(http, promise: nil)
            }
        )
        try pipeline.configureHTTPServerPipeline(
            position: .after(self), withPipeliningAssistance: false, withServerUpgrade: upgrade,
            withErrorHandling: false)
        let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
        let decoded = HTTPPartCount()
        try pipeline.addHandler(decoded, position: .after(decoder))
        try pipeline.addHandler(HTTPGuard(of: connection, decoded), position: .after(self))
        try pipeline.addHandler(http)
    }

    /// Whether the token of a handshake is valid, in the protocol that takes one there. Without one the client may log in
    /// later.
    private static func isKnown(_ head: HTTPRequestHead, to connection: ClientConnection) -> Bool {
        guard FlowHandshake.isPath(of: head), let token = head.token else { return true }
        return connection.knows(token: token)
    }

    /// Whether a request is a WebSocket handshake (RFC 6455 §4.2.1): a `GET` of HTTP/1.1 with a key of 16 bytes. The
    /// upgrader checks the other headers.
    private static func isHandshake(_ head: HTTPRequestHead) -> Bool {
        let key = head.headers.first(name: "sec-websocket-key")
        let connection = head.headers[canonicalForm: "connection"]
        return head.method == .GET && head.version == .http1_1
            && connection.contains { $0.lowercased() == "upgrade" }
            && key.flatMap { Base64.standard.decode($0) }?.count == 16
    }
}
