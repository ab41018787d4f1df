import Dispatch
import Glibc
import Sotto
import SottoWire
import Synchronization
import TestHarness

/// A proxy before a relay that cuts the connection instead of passing on every `period`th reply.
private final class LossyProxy: Sendable {
    /// The address of the proxy, `host:port`.
    let address: String
    private let relay: String
    private let listener: Int32
    private let period: Int
    private let replies = Atomic(0)
    private let cuts = Atomic(0)

    /// Creates a proxy before a relay; it loses one of `period` replies.
    init?(before relay: String, losing period: Int) {
        (self.relay, self.period) = (relay, period)
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        inet_pton(AF_INET, "127.0.0.1", &name.sin_addr)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let (listener, isListening) = (
            listener,
            withUnsafeMutablePointer(to: &name) { [listener] in
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(listener, $0, size) == 0 && listen(listener, 64) == 0
                        && getsockname(listener, $0, &size) == 0
                }
            }
        )
        address = "127.0.0.1:\(UInt16(bigEndian: name.sin_port))"
        guard isListening else { return nil }
        DispatchQueue(label: "proxy").async { self.accept(from: listener) }
    }

    /// The number of lost replies.
    var lost: Int { cuts.load(ordering: .relaxed) }

    /// Accepts no more connections.
    func stop() { shutdown(listener, Int32(SHUT_RDWR)) }

    private func accept(from listener: Int32) {
        while true {
            let client = Glibc.accept(listener, nil, nil)
            guard client >= 0 else { break }
            DispatchQueue(label: "connection").async { self.serve(client) }
        }
        close(listener)
    }

    /// Passes data on in both directions until one side ends or a reply is lost.
    private func serve(_ client: Int32) {
        defer { close(client) }
        guard let connection = RawClient(reaching: relay) else { return }
        // One thread only sends with it, the other only receives.
        nonisolated(unsafe) let server = connection
        let requests = DispatchGroup()
        DispatchQueue(label: "requests").async(group: requests) {
            var block = [UInt8](repeating: 0, count: 64 << 10)
            while true {
                let count = recv(client, &block, block.count, 0)
                guard count > 0, server.send(Array(block[..<count])) else { break }
            }
            server.finish()
        }
        while let line = server.line() {
            let isLost = replies.wrappingAdd(1, ordering: .relaxed).newValue.isMultiple(of: period)
            // Pushes count too: they are also lost with the connection.
            guard !isLost else {
                cuts.wrappingAdd(1, ordering: .relaxed)
                break
            }
            let bytes = Array((line + "\n").utf8)
            guard send(client, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
                break
            }
        }
        shutdown(client, Int32(SHUT_RDWR))
        requests.wait()
    }
}

extension Row {
    /// Replies are lost after the commit, and the clients repeat their requests.
    static let lostReplies = Row(
        name: "lost-replies",
        fault: "replies lost after the commit, one of ten",
        goal: "0 lost, 0 twice"
    ) { scale in
        let goal = scale.pick(small: 200, full: 20_000)
        guard var subject = RelayUnderTest(),
            let proxy = LossyProxy(before: subject.address, losing: 10)
        else { return .broken("no relay") }
        let load = Load(on: proxy.address, senders: 8, inFlight: 4)
        while proxy.lost < goal { usleep(10_000) }
        // The last requests are answered through the proxy too.
        guard let counts = subject.settle(load) else { return .broken("no start") }
        proxy.stop()
        subject.relay.end()
        return Outcome(
            proxy.lost,
            "\(counts.lost) of \(counts.acknowledged) lost, \(counts.twice) twice",
            isGood: counts.lost == 0 && counts.twice == 0 && counts.acknowledged > 0)
    }
}
