import Glibc
import NIOCore
import NIOPosix
import Sotto
import SottoState
import SottoWire
import Synchronization

/// `relay-load HOST:PORT [DIRECTORY] [SECONDS]`: how many 1 KB envelopes a relay stores each second, and
/// beside it how often the disk under DIRECTORY synchronises.
///
/// Each connection keeps a number of requests under way: it is a closed loop, so the times are those of a
/// relay under full load, not of one that is idle.
@main
struct RelayLoad {
    static func main() throws {
        let arguments = CommandLine.arguments
        guard arguments.count >= 2, let relay = try? RelayURL(name: arguments[1]) else {
            print("usage: relay-load HOST:PORT [DIRECTORY] [SECONDS]")
            exit(64)
        }
        let seconds = arguments.count > 3 ? Double(arguments[3]) ?? 5 : 5
        try Calibration.run(directory: arguments.count > 2 ? arguments[2] : ".", seconds: 2)
        for (connections, inFlight) in [(1, 1), (64, 1), (64, 16)] {
            try Load(relay: relay, connections: connections, inFlight: inFlight).run(seconds)
        }
    }
}

/// How often the disk takes 4 KB and says that it is safe.
enum Calibration {
    static func run(directory: String, seconds: Double) throws {
        var template = Array((directory + "/relay-load.XXXXXX").utf8CString)
        let file = mkstemp(&template)
        guard file >= 0 else { return print("fdatasync: cannot write in \(directory)") }
        defer { close(file) }
        unlink(template)
        let page = [UInt8](repeating: 0x5A, count: 4096)
        var times: [Double] = []
        let end = Monotonic.seconds() + seconds
        while Monotonic.seconds() < end {
            let start = Monotonic.seconds()
            guard write(file, page, page.count) == page.count, fdatasync(file) == 0 else { return }
            times.append(Monotonic.seconds() - start)
        }
        print(line("fdatasync of 4 KB, appended", times, seconds))
    }

    static func line(_ name: String, _ times: [Double], _ seconds: Double) -> String {
        let sorted = times.sorted()
        func millis(_ part: Double) -> String {
            guard !sorted.isEmpty else { return "-" }
            let value = sorted[min(sorted.count - 1, Int(Double(sorted.count) * part))] * 1000
            return "\((value * 100).rounded() / 100) ms"
        }
        let rate = Int(Double(times.count) / seconds)
        return "\(name): \(rate)/s, p50 \(millis(0.5)), p99 \(millis(0.99))"
    }
}

/// So many connections with so many requests under way on each.
struct Load {
    let relay: RelayURL
    let connections: Int
    let inFlight: Int

    func run(_ seconds: Double) throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let times = Mutex<[Double]>([])
        let end = Monotonic.seconds() + seconds
        let channels = try (0..<connections).map { number in
            try ClientBootstrap(group: group)
                .channelOption(.tcpOption(.tcp_nodelay), value: 1)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(
                            Sender(number: number, inFlight: inFlight, end: end) { list in
                                times.withLock { $0 += list }
                            })
                    }
                }
                .connect(host: relay.host, port: Int(relay.port)).wait()
        }
        for channel in channels { try channel.closeFuture.wait() }
        times.withLock {
            print(Calibration.line("\(connections) × \(inFlight), 1 KB", $0, seconds))
        }
        try group.syncShutdownGracefully()
    }
}

/// One connection: a request for each reply, until the time is over.
private final class Sender: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let inFlight: Int
    private let end: Double
    private let done: ([Double]) -> Void
    private var splitter = LineSplitter(limit: WireLimits.responseBytes)
    private var started: [Double] = []
    private var times: [Double] = []
    private var pending = 0
    private var count: UInt64 = 0
    private let run = hex(randomBytes(6))
    private let number: Int
    private let padding = String(repeating: "A", count: 720)
    private let recipients = (0..<16).map { _ in
        SessionID(publicKey: randomBytes(32)).description
    }

    init(number: Int, inFlight: Int, end: Double, done: @escaping ([Double]) -> Void) {
        self.number = number
        self.inFlight = inFlight
        self.end = end
        self.done = done
    }

    func channelActive(context: ChannelHandlerContext) { send(inFlight, context) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        unwrapInboundIn(data).withUnsafeReadableBytes { splitter.append($0) }
        let now = Monotonic.seconds()
        var replies = 0
        while case .line(let line) = splitter.next() {
            guard line.starts(with: "{\"type\":\"stored\"".utf8) else {
                print("unexpected: \(String(decoding: line, as: UTF8.self))")
                exit(1)
            }
            times.append(now - started[times.count])
            replies += 1
        }
        pending -= replies
        if now < end { send(replies, context) } else if pending == 0 { context.close(promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) { done(times) }

    private func send(_ number: Int, _ context: ChannelHandlerContext) {
        guard number > 0 else { return }
        var buffer = context.channel.allocator.buffer(capacity: number * 1200)
        for _ in 0..<number {
            let tail = hex(count.bigEndianBytes[4...])
            buffer.writeString(
                "{\"type\":\"send\",\"request_id\":\"\(count)\",\"payload\":{\"envelope\":"
                    + "{\"v\":1,\"type\":\"envelope\",\"id\":\"\(tail)-\(run.prefix(4))-4000-8000-"
                    + "\(run)\",\"suite\":\"sealed\",\"to\":\"\(recipients[Int(count % 16)])\","
                    + "\"time\":\"2026-01-01T00:00:00Z\",\"payload\":{\"age\":\"\(padding)\"}}}}\n")
            started.append(Monotonic.seconds())
            count += 1
        }
        pending += number
        context.writeAndFlush(wrapOutboundOut(buffer), promise: nil)
    }
}
