import Glibc
import NIOCore
import NIOPosix
import SottoWire
import Synchronization

/// A connection to a relay. Lines are sent, and events are received on NIO's thread.
final class RelayLink: Sendable {
    /// An event of a link.
    enum Event: Sendable {
        /// The relay sent a response.
        case response(Response, requestID: String?)
        /// The connection ended, or the relay sent something that is not a response.
        case closed(ClientError)
    }

    private let channel: any Channel

    private init(channel: any Channel) { self.channel = channel }

    /// Creates the event loop group of a client, with one thread.
    static func makeGroup() -> MultiThreadedEventLoopGroup {
        MultiThreadedEventLoopGroup(numberOfThreads: 1)
    }

    /// Seconds for a connection with its handshakes.
    static let connectionSeconds: Int64 = 10

    /// Connects within `seconds`, including TLS and WebSocket, and calls `done` with the link or the error on any thread. While
    /// `isFull` is true, nothing is read. A link without a sign of life for `quiet` and then `patience` is closed.
    static func connect(
        to relay: RelayURL, group: MultiThreadedEventLoopGroup,
        within seconds: Int64 = connectionSeconds,
        quiet: TimeAmount = LinkPulse.quiet, patience: TimeAmount = LinkPulse.patience,
        onEvent: @escaping @Sendable (Event) -> Void,
        isFull: @escaping @Sendable () -> Bool,
        done: @escaping @Sendable (Result<RelayLink, ClientError>) -> Void
    ) {
        connect(to: relay, group: group, within: seconds) { plan, channel, ready in
            try plan.open(channel, ready: ready) {
                LinkHandler(
                    relay: relay.description,
                    pulse: LinkPulse(at: .now(), quiet: quiet, patience: patience),
                    onEvent: onEvent, isFull: isFull)
            }
        } done: { result in
            done(result.map { RelayLink(channel: $0) })
        }
    }

    /// Connects within `seconds`, with the layers that `open` adds, and calls `done` on any thread.
    static func connect(
        to relay: RelayURL, group: MultiThreadedEventLoopGroup,
        within seconds: Int64 = connectionSeconds,
        open: @escaping @Sendable (LinkPlan, any Channel, EventLoopPromise<Void>) throws -> Void,
        done: @escaping @Sendable (Result<any Channel, ClientError>) -> Void
    ) {
        let name = relay.description
        let plan: LinkPlan
        do throws(ClientError) {
            plan = try LinkPlan(to: relay, within: seconds)
        } catch {
            return done(.failure(error))
        }
        // A host with several addresses may start several channels; one of them connects.
        let readiness = Mutex<[ObjectIdentifier: EventLoopFuture<Void>]>([:])
        ClientBootstrap(group: group)
            .connectTimeout(.seconds(seconds))
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelOption(.socketOption(.so_keepalive), value: 1)
            .channelInitializer { channel in
                let ready = channel.eventLoop.makePromise(of: Void.self)
                channel.closeFuture.whenComplete { _ in ready.fail(ClientError.lost(relay: name)) }
                readiness.withLock { $0[ObjectIdentifier(channel)] = ready.futureResult }
                return channel.eventLoop.makeCompletedFuture {
                    try open(plan, channel, ready)
                }
            }
            .connect(host: relay.host, port: Int(relay.port))
            .flatMap { channel in
                let ready = readiness.withLock { $0[ObjectIdentifier(channel)] }
                return (ready ?? channel.eventLoop.makeSucceededVoidFuture()).map { channel }
                    .flatMapErrorThrowing { error in
                        channel.close(promise: nil)
                        throw error
                    }
            }
            .whenComplete { (result: Result<any Channel, any Error>) in
                switch result {
                case .success(let channel): done(.success(channel))
                case .failure(ClientError.untrusted) where relay.pin != nil:
                    done(.failure(.otherKey(relay: name)))
                case .failure(ClientError.untrusted):
                    CertificateProbe.run(relay, group) { flaw in
                        done(.failure(.untrusted(relay: name, flaw)))
                    }
                case .failure(let error as ClientError): done(.failure(error))
                case .failure(let error) where isRefusal(error):
                    done(.failure(.connectionRefused(relay: name)))
                case .failure(let error):
                    done(.failure(.unreachable(relay: name, cause: cause(error))))
                }
            }
    }

    /// Sends lines. Each ends with a line feed.
    func write(_ lines: [UInt8]) {
        channel.writeAndFlush(ByteBuffer(bytes: lines), promise: nil)
    }

    /// Closes the connection after the pending lines are written.
    func close() { channel.close(promise: nil) }

    /// Whether each address of the host refused the connection.
    private static func isRefusal(_ error: any Error) -> Bool {
        switch error {
        case let error as NIOConnectionError:
            !error.connectionErrors.isEmpty
                && error.connectionErrors.allSatisfy { isRefusal($0.error) }
        case let error as IOError: error.errnoCode == ECONNREFUSED
        default: false
        }
    }

    private static func cause(_ error: any Error) -> String {
        switch error {
        case let error as NIOConnectionError:
            if let first = error.connectionErrors.first { return cause(first.error) }
            return "no such host"
        case let error as IOError:
            var buffer = [CChar](repeating: 0, count: 256)
            strerror_r(error.errnoCode, &buffer, buffer.count)
            let text = buffer.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
            return text.prefix(1).lowercased() + text.dropFirst()
        case ChannelError.connectTimeout(let time):
            return LinkPlan.noAnswer(within: time.nanoseconds / 1_000_000_000)
        default: return "the connection failed"
        }
    }
}
