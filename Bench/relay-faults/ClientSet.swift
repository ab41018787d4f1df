import Glibc
import Sotto
import SottoDatabase
import SottoWire

/// Many connections to one relay, served by the thread that calls ``run(for:until:)``.
final class ClientSet {
    /// An event of a connection.
    enum Event {
        case opened
        case frame(Frame)
        /// The connection ended, or could not be made.
        case ended
    }

    private struct Member {
        var splitter = LineSplitter(limit: WireLimits.responseBytes)
        var out: [UInt8] = []
        var isConnecting = false
        var isDeaf = false
        var descriptor: Int32 = -1
    }

    /// Handles the events of connections.
    var onEvent: (Int, Event) -> Void = { _, _ in }
    /// Called some hundred times a second.
    var onTick: (Double) -> Void = { _ in }

    private let address: String
    private var members: [Member]
    /// The poll entry of each connection.
    private var polls: [pollfd]

    /// Creates `count` connections, which are not connected yet.
    init(_ count: Int, of address: String) {
        self.address = address
        members = [Member](repeating: Member(), count: count)
        polls = [pollfd](repeating: pollfd(fd: -1, events: 0, revents: 0), count: count)
    }

    deinit { for member in members where member.descriptor >= 0 { close(member.descriptor) } }

    /// The number of connections that are open or being opened.
    var count: Int { members.count { $0.descriptor >= 0 } }

    /// Starts a connection. With `window`, its socket buffers only that number of unread bytes.
    func connect(_ index: Int, window: Int32? = nil) {
        let parts = address.split(separator: ":")
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(AF_INET, kind, 0)
        guard descriptor >= 0, parts.count == 2, let port = UInt16(parts[1]) else {
            return onEvent(index, .ended)
        }
        if var window {
            setsockopt(
                descriptor, SOL_SOCKET, SO_RCVBUF, &window, socklen_t(MemoryLayout<Int32>.size))
        }
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = port.bigEndian
        inet_pton(AF_INET, String(parts[0]), &name.sin_addr)
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, size)
            }
        }
        guard result == 0 || errno == EINPROGRESS else {
            close(descriptor)
            return onEvent(index, .ended)
        }
        members[index] = Member()
        members[index].descriptor = descriptor
        members[index].isConnecting = true
        watch(index)
    }

    /// Sends a request on a connection.
    func send(_ index: Int, _ request: Request, _ requestID: String = "0") {
        send(index, request.line(requestID: requestID))
    }

    /// Sends bytes on a connection as soon as its socket takes them.
    func send(_ index: Int, _ bytes: [UInt8]) {
        guard members[index].descriptor >= 0 else { return }
        members[index].out += bytes
        flush(index)
    }

    /// Stops reading from a connection.
    func stopReading(_ index: Int) {
        members[index].isDeaf = true
        watch(index)
    }

    /// Closes a connection, without an event.
    func disconnect(_ index: Int) {
        guard members[index].descriptor >= 0 else { return }
        close(members[index].descriptor)
        members[index] = Member()
        watch(index)
    }

    /// Serves all connections until `isDone`; returns `false` if that takes longer than `seconds`.
    @discardableResult
    func run(for seconds: Double, until isDone: () -> Bool = { false }) -> Bool {
        let end = Monotonic.seconds() + seconds
        while !isDone() {
            let now = Monotonic.seconds()
            guard now < end else { return false }
            onTick(now)
            guard poll(&polls, nfds_t(polls.count), 2) > 0 else { continue }
            for index in polls.indices where polls[index].revents != 0 {
                serve(index, Int32(polls[index].revents))
            }
        }
        return true
    }

    /// Updates the poll entry of a connection.
    private func watch(_ index: Int) {
        let member = members[index]
        let input = member.isDeaf ? 0 : POLLIN
        let output = member.isConnecting || !member.out.isEmpty ? POLLOUT : 0
        // Without reading, poll would report the end of the connection again and again.
        polls[index].fd = member.isDeaf && output == 0 ? -1 : member.descriptor
        polls[index].events = Int16(input | output)
    }

    private func serve(_ index: Int, _ events: Int32) {
        guard members[index].descriptor >= 0 else { return }
        if members[index].isConnecting, events & POLLOUT != 0, events & POLLERR == 0 {
            members[index].isConnecting = false
            watch(index)
            onEvent(index, .opened)
        } else if events & POLLOUT != 0 {
            flush(index)
        }
        if events & (POLLIN | POLLHUP | POLLERR) != 0 { receive(index) }
    }

    private func flush(_ index: Int) {
        guard !members[index].isConnecting, !members[index].out.isEmpty else { return }
        let descriptor = members[index].descriptor
        let count = members[index].out.withUnsafeBytes {
            Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        if count > 0 { members[index].out.removeFirst(count) }
        watch(index)
    }

    private func receive(_ index: Int) {
        let hasEnded = withUnsafeTemporaryAllocation(byteCount: 64 << 10, alignment: 8) { block in
            let descriptor = members[index].descriptor
            let count = recv(descriptor, block.baseAddress, block.count, 0)
            if count < 0, errno == EAGAIN { return false }
            guard count > 0 else { return true }
            members[index].splitter.append(UnsafeRawBufferPointer(rebasing: block[..<count]))
            return false
        }
        if hasEnded {
            disconnect(index)
            return onEvent(index, .ended)
        }
        while members[index].descriptor >= 0, case .line(let line) = members[index].splitter.next()
        {
            guard let frame = try? Frame(parsing: line) else { continue }
            onEvent(index, .frame(frame))
        }
    }
}

/// Subscribers: each logs in and subscribes once it is connected.
struct Consumers {
    private let keys: [SigningKey]

    /// Creates the keys of `count` mailboxes.
    init(_ count: Int) {
        keys = (0..<count).map { _ in SigningKey(seed: SecretBytes(randomCount: 32)) }
    }

    /// Returns the mailbox of a subscriber.
    func mailbox(_ index: Int) -> KeyID { KeyID(publicKey: keys[index].publicKey) }

    /// Advances a subscriber after an event. Returns whether it has just subscribed.
    func advance(_ index: Int, _ event: ClientSet.Event, in clients: ClientSet) -> Bool {
        switch event {
        case .opened: clients.send(index, .challenge)
        case .frame(let frame):
            switch Response(frame) {
            case .challenge(let nonce, let names):
                let login = Login(key: keys[index], nonce: nonce, relay: names.first ?? "")
                clients.send(index, .login(login))
            case .session: clients.send(index, .subscribe())
            case .subscribed: return true
            default: break
            }
        case .ended: break
        }
        return false
    }
}
