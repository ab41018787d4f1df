public import NIOCore
public import NIOHTTP1

/// The parts of HTTP/1.1 messages (RFC 9112) whose body is in memory.
public enum HTTPMessage {
    /// Returns a `POST` of `body`. `host` is the value of the `Host` header.
    public static func post(
        to uri: String, host: String, type: String, _ body: ByteBuffer, headers: HTTPHeaders = [:]
    ) -> [HTTPClientRequestPart] {
        var all = Self.headers(type, body, headers)
        all.add(name: "host", value: host)
        let head = HTTPRequestHead(version: .http1_1, method: .POST, uri: uri, headers: all)
        return [.head(head), .body(.byteBuffer(body)), .end(nil)]
    }

    /// Returns a `GET`. `host` is the value of the `Host` header.
    public static func get(
        _ uri: String, host: String, headers: HTTPHeaders = [:]
    ) -> [HTTPClientRequestPart] {
        var all = headers
        all.add(name: "host", value: host)
        return [
            .head(HTTPRequestHead(version: .http1_1, method: .GET, uri: uri, headers: all)),
            .end(nil),
        ]
    }

    /// Returns a response that no cache stores. Without `keepsAlive` it announces the end of the connection. The
    /// response to a `HEAD` has only the headers of the body.
    public static func response(
        _ status: HTTPResponseStatus, type: String, _ body: ByteBuffer, keepsAlive: Bool,
        hasBody: Bool, headers others: HTTPHeaders = [:]
    ) -> [HTTPServerResponsePart] {
        var all = headers(type, body, ["cache-control": "no-store"])
        all.add(contentsOf: others)
        if !keepsAlive { all.add(name: "connection", value: "close") }
        let head = HTTPResponseHead(version: .http1_1, status: status, headers: all)
        return hasBody
            ? [.head(head), .body(.byteBuffer(body)), .end(nil)] : [.head(head), .end(nil)]
    }

    private static func headers(
        _ type: String, _ body: ByteBuffer, _ others: HTTPHeaders
    ) -> HTTPHeaders {
        var headers: HTTPHeaders = [
            "content-type": type, "content-length": String(body.readableBytes),
        ]
        headers.add(contentsOf: others)
        return headers
    }
}
