import Dispatch
import Glibc
import Synchronization
import TestHarness

/// A proxy before a relay that counts the bytes which it passes on. The relay may be restarted meanwhile.
final class CountingProxy: Sendable {
    /// The address of the proxy, `host:port`.
    let address: String
    private let relay: String
    private let listener: Int32
    private let requests = Atomic(0)
    private let replies = Atomic(0)

    /// Creates a proxy before a relay.
    init?(before relay: String) {
        self.relay = relay
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        inet_pton(AF_INET, "127.0.0.1", &name.sin_addr)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &name) { [listener] in
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, size) == 0 && listen(listener, 64) == 0
                    && getsockname(listener, $0, &size) == 0
            }
        }
        address = "127.0.0.1:\(UInt16(bigEndian: name.sin_port))"
        guard isListening else { return nil }
        DispatchQueue(label: "proxy").async { [listener] in self.accept(from: listener) }
    }

    /// The bytes from the clients to the relay so far.
    var sent: Int { requests.load(ordering: .relaxed) }

    /// The bytes from the relay to the clients so far.
    var received: Int { replies.load(ordering: .relaxed) }

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

    /// Passes bytes on in both directions until one side ends.
    private func serve(_ client: Int32) {
        defer { close(client) }
        guard let server = Self.connect(to: relay) else { return }
        defer { close(server) }
        let other = DispatchGroup()
        DispatchQueue(label: "requests").async(group: other) {
            Self.pass(from: client, to: server, counting: self.requests)
        }
        Self.pass(from: server, to: client, counting: replies)
        other.wait()
    }

    private static func connect(to address: String) -> Int32? {
        let parts = address.split(separator: ":")
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(AF_INET, kind, 0)
        guard descriptor >= 0, parts.count == 2, let port = UInt16(parts[1]) else { return nil }
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
        if result == 0 { return descriptor }
        close(descriptor)
        return nil
    }

    private static func pass(
        from source: Int32, to target: Int32, counting count: borrowing Atomic<Int>
    ) {
        var block = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            let some = recv(source, &block, block.count, 0)
            guard some > 0 else { break }
            count.wrappingAdd(some, ordering: .relaxed)
            var place = 0
            while place < some {
                let written = block.withUnsafeBytes {
                    send(target, $0.baseAddress! + place, some - place, Int32(MSG_NOSIGNAL))
                }
                guard written > 0 else { break }
                place += written
            }
            guard place == some else { break }
        }
        shutdown(source, Int32(SHUT_RDWR))
        shutdown(target, Int32(SHUT_RDWR))
    }
}
