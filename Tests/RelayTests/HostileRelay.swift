import Dispatch
import Glibc
import Sotto
import SottoWire
import Synchronization
import TestSupport

/// A server of a hostile or broken relay, which treats each connection with a closure, on a thread of its own.
final class HostileRelay: Sendable {
    /// A connection of a client.
    struct Connection: Sendable {
        let descriptor: Int32

        /// Returns the next line without its line feed, or `nil` at the end of the connection.
        func line() -> [UInt8]? {
            var line: [UInt8] = []
            var byte: UInt8 = 0
            while read(descriptor, &byte, 1) == 1 {
                if byte == 0x0A { return line }
                line.append(byte)
            }
            return nil
        }

        /// Sends bytes. Returns whether the connection took all of them.
        @discardableResult
        func write(_ bytes: [UInt8]) -> Bool {
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes {
                    send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                if count <= 0 { return false }
                rest = rest.dropFirst(count)
            }
            return true
        }

        /// Waits for the client to close the connection, and takes what it sends, for at most a second. Returns whether
        /// it is still open.
        func isOpen() -> Bool {
            var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&request, 1, 1_000) > 0 else { return true }
            var block = [UInt8](repeating: 0, count: 4_096)
            return recv(descriptor, &block, block.count, Int32(MSG_DONTWAIT)) > 0
        }

        /// Answers each request with the responses that `answer` returns.
        func answer(_ answer: (Request, _ id: String?) -> [(Response, id: String?)]) {
            while let line = line() {
                guard let frame = try? Frame(parsing: line), let request = try? Request(frame)
                else { return }
                for (response, id) in answer(request, frame.requestID) {
                    guard write(response.line(requestID: id)) else { return }
                }
            }
        }

        /// Answers each HTTP request, whose body is a frame, with a status and a response.
        func answerHTTP(_ answer: (Request) -> (status: Int, Response)) {
            while let (frame, request) = httpFrame() {
                let (status, response) = answer(request)
                let body = response.line(requestID: frame.requestID)
                let head = "HTTP/1.1 \(status) X\r\nContent-Length: \(body.count)\r\n\r\n"
                guard write(Array(head.utf8) + body) else { return }
            }
        }

        /// Reads an HTTP request, or returns `nil` at the end of the connection.
        private func httpFrame() -> (Frame, Request)? {
            var length = 0
            while let line = line(), line != [0x0D] {
                let words = String(decoding: line, as: UTF8.self).lowercased().split(separator: " ")
                if words.first == "content-length:", let value = words.last?.dropLast() {
                    length = Int(value) ?? 0
                }
            }
            var body: [UInt8] = []
            var byte: UInt8 = 0
            while body.count < length, read(descriptor, &byte, 1) == 1 { body.append(byte) }
            guard let frame = try? Frame(parsing: body.filter { $0 != 0x0A }),
                let request = try? Request(frame)
            else { return nil }
            return (frame, request)
        }
    }

    /// `127.0.0.1:port`.
    let address: String
    private let listener: Int32
    private let connected = DispatchSemaphore(value: 0)

    init(_ treat: @escaping @Sendable (Connection) -> Void) {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var name = HTTP.loopback(0)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, size) == 0 && listen(listener, 64) == 0
                    && getsockname(listener, $0, &size) == 0
            }
        }
        precondition(isBound, "cannot listen")
        self.listener = listener
        address = "127.0.0.1:\(InternetSocket.port(of: listener))"
        DispatchQueue(label: "hostile relay").async { [connected] in
            while true {
                let descriptor = accept(listener, nil, nil)
                guard descriptor >= 0 else { return }
                _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
                connected.signal()
                DispatchQueue(label: "hostile relay \(descriptor)").async {
                    treat(Connection(descriptor: descriptor))
                    close(descriptor)
                }
            }
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    func url(_ scheme: String = "tcp") throws -> RelayURL { try RelayURL("\(scheme)://\(address)") }

    /// Waits for the next connection. Returns whether it came within a minute.
    func waitForConnection() -> Bool { connected.wait(timeout: .now() + 60) == .success }

    /// Forgets the connections that were not waited for.
    func forgetConnections() { while connected.wait(timeout: .now()) == .success {} }

    /// What the relay does on each connection.
    enum Behaviour: String, Sendable {
        /// Says nothing.
        case silent
        /// Answers an HTTP request with a long body, one byte a second.
        case dripping
        /// Sends lines that are no frames.
        case rubbish
        /// Pushes frames without end, and answers nothing.
        case flood
        /// Answers about requests that nobody made.
        case wrongIDs
        /// Closes the connection after the first request.
        case hangUp
    }

    convenience init(_ behaviour: Behaviour) {
        self.init { connection in
            switch behaviour {
            case .silent: while connection.isOpen() {}
            case .dripping:
                while let line = connection.line(), !line.allSatisfy({ $0 <= 0x20 }) {}
                let head = "HTTP/1.1 206 Partial Content\r\nContent-Length: 65536\r\n\r\n"
                guard connection.write(Array(head.utf8)) else { return }
                while connection.write([0x78]), connection.isOpen() {}
            case .rubbish:
                while connection.write(Array("{\"type\":17}\nnonsense\n".utf8)) {}
            case .flood:
                let frames = Array((0..<500).map { _ in Response.empty.line() }.joined())
                while connection.write(frames) {}
            case .wrongIDs:
                let frame = Response.stored.line(requestID: "999999")
                while connection.write(frame), connection.isOpen() {}
            case .hangUp: _ = connection.line()
            }
        }
    }
}
