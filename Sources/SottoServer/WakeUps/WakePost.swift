import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Sotto
import SottoNetwork
import Synchronization

/// The address of an HTTP server that receives wake-ups.
public struct WakeAddress: Sendable, Equatable {
    /// The format of the posted body.
    public enum Form: Sendable {
        /// `{"mailbox":…,"count":…}`, posted to the path.
        case json
        /// ntfy: a text, posted to the topic that the path begins.
        case ntfy
    }

    /// The reason why a text is not such an address.
    public enum Invalid: Error, Sendable {
        /// Not `http://host[:port]/path` or `ntfy://host[:port]/prefix`.
        case form
    }

    /// The host, without brackets.
    public let host: String
    /// The port.
    public let port: Int
    /// The path from its slash on, with the query if it has one.
    public let path: String
    /// The format of the posted body.
    public let form: Form
    /// Whether the connection must be TLS.
    public let isSecure: Bool

    /// Parses `http://host:port/path`, `https://…`, `ntfy://host/prefix`, which is ntfy's format over https, or
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
        // Other characters could start a new header.
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

    /// The value of the `Host` header.
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

    /// The TLS context, which trusts the system's certificates, or only those of `$SOTTO_CA` if it is set.
    private static let tls = Result {
        try ClientTLS.context(authorities: getenv("SOTTO_CA").map { String(cString: $0) })
    }

    init(_ address: WakeAddress, timeout: TimeAmount, loop: any EventLoop) {
        self.address = address
        self.timeout = timeout
        self.loop = loop
    }

    func wake(_ wakeUp: WakeUp) -> EventLoopFuture<Bool> {
        let result = loop.makePromise(of: Bool.self)
        let parts = request(wakeUp)
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
                for part in parts { channel.write(part, promise: nil) }
                channel.flush()
            }
        return result.futureResult
    }

    func stop() {}

    /// Adds TLS as the first handler of a channel; the certificate must be that of `host`.
    private static func addTLS(to channel: any Channel, host: String) throws {
        try channel.pipeline.syncOperations.addHandler(
            NIOSSLClientHandler(
                context: tls.get(), serverHostname: ClientTLS.serverName(of: host)))
    }

    private func request(_ wakeUp: WakeUp) -> [HTTPClientRequestPart] {
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
        return HTTPMessage.post(
            to: path, host: address.authority, type: kind, ByteBuffer(string: body),
            headers: ["connection": "close"])
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
