import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Sotto
import SottoTransport
import Synchronization

/// Where wake-ups are posted.
public struct WakeAddress: Sendable, Equatable {
    /// What is posted.
    public enum Form: Sendable {
        /// `{"mailbox":…,"count":…}` to the path as it is.
        case json
        /// ntfy's: text, to the topic that begins with the path's last part.
        case ntfy
    }

    /// Why a text is not such an address.
    public enum Invalid: Error, Sendable {
        /// Not `http://host[:port]/path` or `ntfy://host[:port]/prefix`.
        case form
    }

    /// The host, without brackets.
    public let host: String
    /// The port.
    public let port: Int
    /// The path, from its slash, with a query if there is one.
    public let path: String
    /// What is posted.
    public let form: Form
    /// Whether the connection must be TLS.
    public let isSecure: Bool

    /// Reads `http://host:port/path`, `https://…`, `ntfy://host/prefix`, which is ntfy's form over https, or
    /// `ntfy+http://…`.
    public init(_ text: String) throws(Invalid) {
        let parts = text.pieces(between: "://")
        guard parts.count > 1 else { throw .form }
        switch parts[0].lowercased() {
        case "http": (form, isSecure) = (.json, false)
        case "https": (form, isSecure) = (.json, true)
        case "ntfy": (form, isSecure) = (.ntfy, true)
        case "ntfy+http": (form, isSecure) = (.ntfy, false)
        default: throw .form
        }
        let rest = text[parts[1].startIndex...]
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        let tail = rest[authority.endIndex...]
        // What is not a plain character of a URL could begin a header of its own.
        guard tail.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), !tail.contains("#") else {
            throw .form
        }
        path = tail.hasPrefix("/") ? String(tail) : "/" + tail
        var name = authority
        var number = isSecure ? 443 : 80
        if let colon = authority.lastIndex(of: ":"), !authority.hasSuffix("]") {
            guard let port = UInt16(authority[authority.index(after: colon)...]), port > 0 else {
                throw .form
            }
            number = Int(port)
            name = authority[..<colon]
        }
        if name.hasPrefix("["), name.hasSuffix("]") { name = name.dropFirst().dropLast() }
        let isHost = name.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x3A, 0x5F: true
            default: false
            }
        }
        guard !name.isEmpty, isHost, form == .json || path.count > 1 else { throw .form }
        host = String(name)
        port = number
    }

    /// The host as a request names it.
    var authority: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
    }
}

/// Posts each wake-up to an address.
final class WakePost: WakeTarget {
    private let address: WakeAddress
    private let timeout: TimeAmount
    private let loop: any EventLoop

    /// What TLS begins with: the system's certificates are trusted, and `$SOTTO_CA` in their place.
    private static let tls = Result {
        try ClientTLS.context(authorities: getenv("SOTTO_CA").map { String(cString: $0) })
    }

    /// Posts to an address.
    init(_ address: WakeAddress, timeout: TimeAmount, loop: any EventLoop) {
        self.address = address
        self.timeout = timeout
        self.loop = loop
    }

    func wake(_ wakeUp: WakeUp) -> EventLoopFuture<Bool> {
        let result = loop.makePromise(of: Bool.self)
        let (head, body) = request(wakeUp)
        let (address, timeout) = (address, timeout)
        ClientBootstrap(group: loop)
            .connectTimeout(min(.seconds(10), timeout))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if address.isSecure { try Self.addTLS(to: channel, host: address.host) }
                    try pipeline.addHTTPClientHandlers()
                    try pipeline.addHandler(AnswerHandler(result))
                }
            }
            .connect(host: address.host, port: address.port)
            .whenComplete { connected in
                guard case .success(let channel) = connected else { return result.succeed(false) }
                let limit = channel.eventLoop.scheduleTask(in: timeout) {
                    channel.close(promise: nil)
                }
                channel.closeFuture.whenComplete { _ in limit.cancel() }
                channel.write(HTTPClientRequestPart.head(head), promise: nil)
                channel.write(
                    HTTPClientRequestPart.body(.byteBuffer(ByteBuffer(string: body))),
                    promise: nil)
                channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
            }
        return result.futureResult
    }

    func stop() {}

    /// Puts TLS before everything else in a channel to `host`, whose certificate must be that host's.
    private static func addTLS(to channel: any Channel, host: String) throws {
        try channel.pipeline.syncOperations.addHandler(
            NIOSSLClientHandler(
                context: tls.get(), serverHostname: ClientTLS.serverName(of: host)))
    }

    private func request(_ wakeUp: WakeUp) -> (HTTPRequestHead, String) {
        let mailbox = wakeUp.mailbox.description
        let (path, kind, body): (String, String, String)
        switch address.form {
        case .json:
            let record: JSONObject = [
                "mailbox": .string(mailbox), "count": .integer(Int64(wakeUp.count)),
            ]
            (path, kind) = (address.path, "application/json")
            body = String(decoding: record.serialized(), as: UTF8.self)
        case .ntfy:
            (path, kind) = ("\(address.path)-\(mailbox.prefix(16))", "text/plain")
            body = "\(wakeUp.count) new \(wakeUp.count == 1 ? "message" : "messages")"
        }
        let headers: HTTPHeaders = [
            "Host": address.authority, "Content-Type": kind,
            "Content-Length": "\(body.utf8.count)", "Connection": "close",
        ]
        return (
            HTTPRequestHead(version: .http1_1, method: .POST, uri: path, headers: headers), body
        )
    }
}

/// Waits for the status of the answer, and closes.
///
/// Everything in it belongs to its event loop, which is why it may call itself Sendable.
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
