import Dispatch
import Glibc
import Sotto
import SottoDatabase
import SottoWire
import Synchronization
import TestHarness

extension Row {
    /// Costly frames from connections without a login.
    static let hostileFrames = Row(
        name: "hostile-frames",
        fault:
            "hostile frames before a login: members, false signatures, escapes, pings, fragments",
        goal: "others connect and send in 0.3 s, 99 of 100"
    ) { scale in
        let connections = scale.pick(small: 20, full: 400)
        var figures: [String] = []
        var (isGood, isWithin) = (true, true)
        for kind in HostileKind.allCases {
            guard let subject = RelayUnderTest(listen: "0.0.0.0:0"),
                let port = subject.address.split(separator: ":").last
            else { return .broken("no relay") }
            // The attacker is another network, if this machine has an address in one: loopback has no limits.
            let attack = Attack(kind, connections, on: "\(machineAddress() ?? "127.0.0.1"):\(port)")
            let times = Self.connectAndSend(
                "127.0.0.1:\(port)", times: scale.pick(small: 10, full: 300))
            let answered = attack.stop()
            subject.relay.end()
            guard let times else {
                figures.append("\(kind): not stored")
                return .broken(figures.joined(separator: "; "), after: connections)
            }
            let sorted = times.sorted()
            let (median, p99) = (sorted[sorted.count / 2], sorted[sorted.count * 99 / 100])
            figures.append(
                "\(kind.rawValue): \(text(median * 1000)), p99 \(text(p99 * 1000)) ms, "
                    + "\(answered) answered")
            isGood = isGood && answered > 0
            isWithin = isWithin && p99 < 0.3
        }
        return Outcome(
            connections, figures.joined(separator: "; "), isGood: isGood, isWithin: isWithin)
    }

    /// Connects and sends repeatedly. Returns the seconds of each, or `nil` if an envelope was not stored.
    private static func connectAndSend(_ address: String, times: Int) -> [Double]? {
        let bob = Sample.identity().id
        var all: [Double] = []
        for _ in 0..<times {
            let start = Monotonic.seconds()
            guard let client = RawClient(reaching: address),
                client.ask(.send(Sample.envelope(to: bob))) == .stored
            else { return nil }
            all.append(Monotonic.seconds() - start)
        }
        return all
    }
}

/// An IPv4 address of this machine that is not loopback, or `nil` without one.
private func machineAddress() -> String? {
    var first: UnsafeMutablePointer<ifaddrs>?
    guard getifaddrs(&first) == 0 else { return nil }
    defer { freeifaddrs(first) }
    for entry in sequence(first: first, next: { $0?.pointee.ifa_next }) {
        guard let entry, let address = entry.pointee.ifa_addr,
            address.pointee.sa_family == sa_family_t(AF_INET),
            entry.pointee.ifa_flags & UInt32(IFF_LOOPBACK) == 0
        else { continue }
        var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        guard
            getnameinfo(
                address, socklen_t(MemoryLayout<sockaddr_in>.size), &text, socklen_t(text.count),
                nil,
                0, NI_NUMERICHOST) == 0
        else { continue }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
    return nil
}

/// The frames of an attacker.
private enum HostileKind: String, CaseIterable {
    /// A publication of 55 KB with 5,500 members.
    case members
    /// A publication of the usual form with a false signature.
    case signatures
    /// A string of escapes, in a frame without a type.
    case escapes
    /// WebSocket pings, 300 at a time.
    case pings
    /// WebSocket messages of 200 empty fragments.
    case fragments

    /// The handshake of a WebSocket connection.
    private static let handshake = Array(
        ("GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
            .utf8)

    /// The first bytes of a connection, and those that are repeated after them.
    var bytes: (first: [UInt8], again: [UInt8]) {
        switch self {
        case .members:
            let members = (0..<5_500).map { "\"m\($0)\":1" }.joined(separator: ",")
            let line = #"{"type":"prekeys","request_id":"h","payload":{"publication":{"#
            return ([], Array((line + members + "}}}\n").utf8))
        case .signatures:
            let publication = Sample.preKeys(of: Sample.identity(), oneTime: 1..<101)
            var record = publication.record
            record["id"] = .string(Sample.identity().id.description)
            let line = Request.publishLine(record.serialized(), requestID: "h")
            return ([], line)
        case .escapes:
            let escapes = String(repeating: #"\u0041"#, count: 15_000)
            return ([], Array("{\"request_id\":\"h\",\"x\":\"\(escapes)\"}\n".utf8))
        case .pings:
            let ping: [UInt8] = [0x89, 0x80, 1, 2, 3, 4]
            return (Self.handshake, Array(repeatElement(ping, count: 300).joined()))
        case .fragments:
            let (first, next): ([UInt8], [UInt8]) = (
                [0x01, 0x80, 1, 2, 3, 4], [0x00, 0x80, 1, 2, 3, 4]
            )
            let last: [UInt8] = [0x80, 0x80, 1, 2, 3, 4]
            return (
                Self.handshake, first + Array(repeatElement(next, count: 198).joined()) + last
            )
        }
    }
}

/// Connections that send without a pause until they are stopped.
private final class Attack: Sendable {
    private let thread = DispatchGroup()
    private let isOver = Atomic(false)
    private let answered = Atomic(0)

    /// Starts the attack, and waits until the connections are made.
    init(_ kind: HostileKind, _ connections: Int, on address: String) {
        let ready = DispatchSemaphore(value: 0)
        DispatchQueue(label: "attack").async(group: thread) { [self] in
            Self.run(
                kind, connections, address, ready, isOver: { self.isOver.load(ordering: .relaxed) },
                noteAnswers: { self.answered.add($0, ordering: .relaxed) })
        }
        _ = ready.wait(timeout: .now() + 30)
    }

    /// Stops the attack. Returns the number of answers that were read.
    func stop() -> Int {
        isOver.store(true, ordering: .relaxed)
        thread.wait()
        return answered.load(ordering: .relaxed)
    }

    /// One connection, and the bytes of its current frame that were sent.
    private struct Member {
        var descriptor: Int32 = -1
        var sent = 0
        var hasBegun = false
    }

    private static func run(
        _ kind: HostileKind, _ count: Int, _ address: String, _ ready: DispatchSemaphore,
        isOver: () -> Bool, noteAnswers: (Int) -> Void
    ) {
        let (first, again) = kind.bytes
        var members = [Member](repeating: Member(), count: count)
        var polls = [pollfd](repeating: pollfd(fd: -1, events: 0, revents: 0), count: count)
        var block = [UInt8](repeating: 0, count: 64 << 10)
        var isReady = false
        defer { for member in members where member.descriptor >= 0 { close(member.descriptor) } }
        while !isOver() {
            for index in members.indices where members[index].descriptor < 0 {
                members[index] = Member(descriptor: connected(address))
                polls[index] = pollfd(
                    fd: members[index].descriptor, events: Int16(POLLIN | POLLOUT), revents: 0)
            }
            if !isReady {
                isReady = true
                ready.signal()
            }
            guard poll(&polls, nfds_t(polls.count), 10) > 0 else { continue }
            for index in polls.indices where polls[index].revents != 0 {
                let events = Int32(polls[index].revents)
                if events & POLLOUT != 0 {
                    let bytes = members[index].hasBegun ? again : first + again
                    let rest = bytes[members[index].sent...]
                    let sent = rest.withUnsafeBytes {
                        Glibc.send(
                            members[index].descriptor, $0.baseAddress, $0.count,
                            Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
                    }
                    members[index].sent += max(0, sent)
                    if members[index].sent == bytes.count {
                        members[index].sent = 0
                        members[index].hasBegun = true
                    }
                }
                guard events & (POLLIN | POLLHUP | POLLERR) != 0 else { continue }
                let received = recv(
                    members[index].descriptor, &block, block.count, Int32(MSG_DONTWAIT))
                if received > 0 {
                    noteAnswers(1)
                } else if received == 0 || errno != EAGAIN {
                    close(members[index].descriptor)
                    members[index] = Member()
                }
            }
        }
    }

    private static func connected(_ address: String) -> Int32 {
        let parts = address.split(separator: ":")
        let descriptor = socket(
            AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = (UInt16(parts.last ?? "") ?? 0).bigEndian
        inet_pton(AF_INET, String(parts[0]), &name.sin_addr)
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, size)
            }
        }
        return descriptor
    }
}
