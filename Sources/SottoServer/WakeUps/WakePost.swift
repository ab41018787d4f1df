import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Sotto
import SottoNetwork
import SottoWire

/// Posts each wake-up to an address.
final class WakePost: WakeTarget {
    private let address: WakeAddress
    private let timeout: TimeAmount
    private let loop: any EventLoop

    init(_ address: WakeAddress, timeout: TimeAmount, loop: any EventLoop) {
        self.address = address
        self.timeout = timeout
        self.loop = loop
    }

    func wake(_ wakeUp: WakeUp) -> EventLoopFuture<Bool> {
        let mailbox = wakeUp.mailbox.description
        let request: WakeRequest
        switch address.form {
        case .json:
            request = WakeRequest(
                address,
                record: [
                    "mailbox": .string(mailbox), "count": .integer(Int64(wakeUp.count)),
                ])
        case .ntfy:
            request = WakeRequest(
                address, path: "\(address.path)-\(mailbox.prefix(16))",
                text: "\(wakeUp.count) new \(wakeUp.count == 1 ? "message" : "messages")")
        }
        let address = address
        return request.run(timeout: timeout, on: loop) {
            $0.connect(host: address.host, port: address.port)
        }
    }

    func stop() {}
}

/// A request that is posted to the address of a wake-up.
struct WakeRequest: Sendable {
    private let address: WakeAddress
    private let path: String
    private let type: String
    private let body: String
    private let headers: HTTPHeaders

    /// The TLS context, which trusts the system's certificates, or only those of `$SOTTO_CA` if it is set.
    private static let tls = Result {
        try ClientTLS.context(authorities: getenv("SOTTO_CA").map { String(cString: $0) })
    }

    /// Creates a request with a record as its body.
    init(_ address: WakeAddress, record: JSONObject) {
        (self.address, path, type, headers) = (address, address.path, "application/json", [:])
        body = String(decoding: record.serialized(), as: UTF8.self)
    }

    /// Creates a request with a text as its body.
    init(_ address: WakeAddress, path: String, text: String, headers: HTTPHeaders = [:]) {
        (self.address, self.path, type, body) = (address, path, "text/plain", text)
        self.headers = headers
    }

    /// Connects with `connect`, and posts the request. The future tells whether the status of the answer was 200 to 299, within
    /// `timeout`. An answer that names another address is a failure, because no other address is asked.
    func run(
        timeout: TimeAmount, on loop: any EventLoop,
        _ connect: (ClientBootstrap) -> EventLoopFuture<any Channel>
    ) -> EventLoopFuture<Bool> {
        let result = loop.makePromise(of: Bool.self)
        let parts = parts
        let address = address
        let bootstrap = ClientBootstrap(group: loop)
            .connectTimeout(min(.seconds(10), timeout))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if address.isSecure { try Self.addTLS(to: channel, host: address.host) }
                    try pipeline.addHTTPClientHandlers()
                    try pipeline.addHandler(AnswerHandler(result))
                }
            }
        connect(bootstrap).whenComplete { connected in
            guard case .success(let channel) = connected else { return result.succeed(false) }
            let limit = channel.eventLoop.scheduleTask(in: timeout) {
                channel.close(promise: nil)
            }
            channel.closeFuture.whenComplete { _ in limit.cancel() }
            for part in parts { channel.write(part, promise: nil) }
            channel.flush()
        }
        return result.futureResult
    }

    /// Adds TLS as the first handler of a channel; the certificate must be that of `host`.
    private static func addTLS(to channel: any Channel, host: String) throws {
        try channel.pipeline.syncOperations.addHandler(
            NIOSSLClientHandler(
                context: tls.get(), serverHostname: ClientTLS.serverName(of: host)))
    }

    private var parts: [HTTPClientRequestPart] {
        var all = headers
        all.add(name: "connection", value: "close")
        return HTTPMessage.post(
            to: path, host: address.authority, type: type, ByteBuffer(string: body), headers: all)
    }
}

/// Waits for the status of the response, and closes the connection.
///
/// Used only on its event loop, which makes `@unchecked Sendable` safe.
private final class AnswerHandler: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = HTTPClientResponsePart

    private let result: EventLoopPromise<Bool>
    private var isDone = false

    init(_ result: EventLoopPromise<Bool>) { self.result = result }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(let head) = unwrapInboundIn(data), head.status.code >= 200 else { return }
        isDone = head.status.code < 300
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) { result.succeed(isDone) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
