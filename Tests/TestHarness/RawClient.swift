import Glibc
package import Sotto
package import SottoWire

/// A client that sends arbitrary lines.
package final class RawClient {
    private let descriptor: Int32
    private var splitter = LineSplitter(limit: 4 << 20)
    private var requests = 0

    package convenience init(_ address: String) {
        self.init(reaching: address)!
    }

    /// Creates a client, or `nil` if the relay does not accept the connection.
    package init?(reaching address: String) {
        let parts = address.split(separator: ":")
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = UInt16(parts[1])!.bigEndian
        inet_pton(AF_INET, String(parts[0]), &name.sin_addr)
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, size) }
        }
        guard result == 0 else { return nil }
        var timeout = timeval(tv_sec: 20, tv_usec: 0)
        setsockopt(
            descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout,
            socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(descriptor) }

    /// Sends bytes. Returns whether the connection took all of them.
    @discardableResult
    package func send(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count <= 0 { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// Closes the sending half of the connection.
    package func finish() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Sends a line.
    package func send(_ line: String) { send(Array((line + "\n").utf8)) }

    /// Returns the next line, or `nil` at the end of the connection.
    package func line() -> String? {
        while true {
            if case .line(let line) = splitter.next() {
                return String(decoding: line, as: UTF8.self)
            }
            var block = [UInt8](repeating: 0, count: 1 << 16)
            let count = recv(descriptor, &block, block.count, 0)
            if count <= 0 { return nil }
            block[..<count].withUnsafeBytes { splitter.append($0) }
        }
    }

    /// Returns the next frame.
    package func frame() -> Frame? {
        line().flatMap { try? Frame(parsing: Array($0.utf8)) }
    }

    /// Returns the next response.
    package func response() -> Response? { frame().flatMap { Response($0) } }

    /// Sends a request and returns the next response.
    package func ask(_ request: Request) -> Response? {
        requests += 1
        send(request.line(requestID: "r\(requests)"))
        return response()
    }

    /// Publishes prekeys.
    package func publish(_ publication: PreKeyPublication) -> Response? {
        ask(.publish(PublishedPreKeys(publication)))
    }

    /// Claims a bundle of an owner's prekeys, and again with a proof of work if it has no one-time prekey.
    package func claim(_ owner: KeyID, _ id: String = Envelope.newID()) -> PreKeyBundle? {
        let bundle = claimWithoutWork(owner, id)
        guard let bundle, bundle.oneTimePreKey == nil, doWork() else { return bundle }
        return claimWithoutWork(owner, id)
    }

    /// Claims a bundle of an owner's prekeys without a proof of work.
    package func claimWithoutWork(
        _ owner: KeyID, _ id: String = Envelope.newID()
    ) -> PreKeyBundle? {
        guard case .bundle(let line) = ask(.claim(owner: owner, id: id)),
            let record = try? JSON.object(parsing: line)
        else { return nil }
        return try? PreKeyBundle(record: record)
    }

    /// Solves a puzzle. Returns whether the relay accepts the solution.
    package func doWork() -> Bool {
        guard case .puzzle(let nonce, let bits) = ask(.puzzle),
            let counter = try? ProofOfWork.solve(nonce, bits: bits)
        else { return false }
        return ask(.solution(nonce: nonce, counter: counter)) == .accepted
    }

    /// Logs in under the first name that the relay reports.
    package func login(_ identity: Identity) -> Response? {
        guard case .challenge(let nonce, let names) = ask(.challenge) else { return nil }
        return ask(.login(Login(key: identity.signingKey, nonce: nonce, relay: names[0])))
    }
}
