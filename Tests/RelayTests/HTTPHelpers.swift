import Glibc
import Sotto
import SottoState
import TestSupport

/// A minimal HTTP client.
enum HTTP {
    /// The answer of a server.
    struct Answer {
        let status: Int
        let body: String
    }

    /// Requests a path; returns `nil` without an answer.
    static func get(_ address: String, _ path: String, method: String = "GET") -> Answer? {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        setTimeout(descriptor)
        var name = loopback(UInt16(address.split(separator: ":")[1])!)
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, size) }
        }
        guard result == 0 else { return nil }
        let request = Array("\(method) \(path) HTTP/1.1\r\nHost: \(address)\r\n\r\n".utf8)
        guard Glibc.send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) > 0 else {
            return nil
        }
        let text = String(decoding: read(descriptor) { _ in false }, as: UTF8.self)
        guard let end = text.firstRange(of: "\r\n\r\n") else { return nil }
        let words = text.split(separator: " ", maxSplits: 2)
        return Answer(
            status: Int(words[1]) ?? 0, body: String(text[end.upperBound...]))
    }

    /// Reads to the end, or until `isEnough` returns true.
    static func read(_ descriptor: Int32, until isEnough: ([UInt8]) -> Bool) -> [UInt8] {
        var bytes: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 1 << 16)
        while !isEnough(bytes) {
            let count = recv(descriptor, &block, block.count, 0)
            if count <= 0 { break }
            bytes += block[..<count]
        }
        return bytes
    }

    static func setTimeout(_ descriptor: Int32) {
        var timeout = timeval(tv_sec: 20, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, size)
    }

    static func loopback(_ port: UInt16) -> sockaddr_in {
        InternetSocket.loopback(port)
    }
}

/// A server that handles one request at a time.
final class HTTPListener {
    fileprivate let descriptor: Int32
    let port: UInt16

    init() {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        HTTP.setTimeout(descriptor)
        var name = HTTP.loopback(0)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 && listen(descriptor, 16) == 0
                    && getsockname(descriptor, $0, &size) == 0
            }
        }
        self.descriptor = descriptor
        precondition(isBound, "cannot listen")
        port = InternetSocket.port(of: descriptor)
    }

    deinit { close(descriptor) }

    /// Whether a connection waits.
    var hasConnection: Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, 0) > 0
    }

    /// Returns the first line and the body of the next request, and answers it with a status and header lines.
    func request(
        answering status: Int = 200, headers: String = ""
    ) -> (line: String, body: String)? {
        let connection = accept(descriptor, nil, nil)
        guard connection >= 0 else { return nil }
        defer { close(connection) }
        HTTP.setTimeout(connection)
        var parts: (String, String)?
        _ = HTTP.read(connection) { bytes in
            parts = Self.parse(bytes)
            return parts != nil
        }
        let answer = Array("HTTP/1.1 \(status) X\r\nContent-Length: 0\r\n\(headers)\r\n".utf8)
        _ = Glibc.send(connection, answer, answer.count, Int32(MSG_NOSIGNAL))
        return parts
    }

    private static func parse(_ bytes: [UInt8]) -> (String, String)? {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let end = text.firstRange(of: "\r\n\r\n") else { return nil }
        let lines = text[..<end.lowerBound].split(separator: "\r\n")
        let length = lines.first { $0.lowercased().hasPrefix("content-length: ") }
            .flatMap { Int($0.dropFirst(16)) }
        let body = text[end.upperBound...]
        guard body.utf8.count >= length ?? 0 else { return nil }
        return (String(lines[0]), String(body))
    }
}

extension RelayProcess {
    /// Returns the address of the relay's monitor, from its log.
    func monitor(_ scratch: TemporaryDirectory) -> String? {
        let mark = "relay: monitor on "
        return scratch.lines("relay.log").first { $0.hasPrefix(mark) }
            .map { String($0.dropFirst(mark.count)) }
    }
}

extension HTTPListener {
    /// Returns the first bytes of the next connection, which gets no answer.
    func firstBytes() -> [UInt8] {
        let connection = accept(descriptor, nil, nil)
        guard connection >= 0 else { return [] }
        defer { close(connection) }
        HTTP.setTimeout(connection)
        return HTTP.read(connection) {
            $0.count > 5 && $0.count >= 5 + (Int($0[3]) << 8 | Int($0[4]))
        }
    }
}
