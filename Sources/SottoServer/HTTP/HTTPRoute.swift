import NIOHTTP1
import Sotto
import SottoWire

/// The refusal of a request that is not a frame.
struct HTTPRefusal: Error {
    let status: HTTPResponseStatus
    let reason: Reason

    init(_ status: HTTPResponseStatus, _ reason: Reason) {
        self.status = status
        self.reason = reason
    }
}

/// Translates an HTTP request to a frame.
///
/// | request | frame |
/// |---|---|
/// | `POST /api/messages` | `send`; the body is an envelope |
/// | `GET /api/messages/poll?max=&after=&dead=` | `fetch` |
/// | `POST /api/messages/ack` | `ack`; the body is `{"ids","status"}` or `{"messageId","status"}` |
/// | `POST /api/frames` | the body |
///
/// The paths of ``FlowWire`` stand below its base path.
enum HTTPRoute {
    /// Returns the frame of a request. The frames of the other paths have the request id `http`.
    static func frame(
        _ head: HTTPRequestHead, _ body: [UInt8]
    ) throws(HTTPRefusal) -> IncomingFrame {
        let parts = head.uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let query = parts.count > 1 ? String(parts[1]) : ""
        switch (head.method, String(parts[0])) {
        case (.POST, "/api/messages"): return try frame(of: body, .envelope)
        case (.GET, "/api/messages/poll"):
            return IncomingFrame(
                Frame(type: "fetch", requestID: requestID, payload: try poll(query)))
        case (.POST, "/api/messages/ack"): return try frame(of: body, .acknowledgement)
        case (.POST, "/api/frames"): return IncomingFrame(body)
        case (.POST, FlowWire.path + FlowWire.messages): return try frame(of: body, .flowMessage)
        case (.GET, FlowWire.path + FlowWire.poll):
            return IncomingFrame(
                .fetch(max: WireLimits.fetchCount, after: 0, dead: false), to: requestID)
        case (.POST, FlowWire.path + FlowWire.acknowledgements):
            return try frame(of: body, .flowAcknowledgement)
        // The handshake of a WebSocket, which was not accepted.
        case (.GET, let path) where path.hasSuffix(FlowWire.path):
            throw head.token == nil
                ? HTTPRefusal(.upgradeRequired, .unknownType)
                : HTTPRefusal(.unauthorized, .loginFailed)
        case (_, "/api/messages"), (_, "/api/messages/poll"), (_, "/api/messages/ack"),
            (_, "/api/frames"), (_, FlowWire.path), (_, FlowWire.path + FlowWire.messages),
            (_, FlowWire.path + FlowWire.poll), (_, FlowWire.path + FlowWire.acknowledgements):
            throw HTTPRefusal(.methodNotAllowed, .unknownType)
        default: throw HTTPRefusal(.notFound, .unknownType)
        }
    }

    /// The paths of requests that may be a `send`.
    static let sends = ["/api/messages", "/api/frames", FlowWire.path + FlowWire.messages]

    /// Returns the protocol of a request.
    static func form(of head: HTTPRequestHead) -> RelayProtocol {
        head.uri.hasPrefix(FlowWire.path + "/") || FlowHandshake.isPath(of: head) ? .flow : .own
    }

    /// The request id of a request whose body is not a frame.
    static let requestID = "http"

    /// Returns the frame of a body with this content. Refuses one with too many values to be parsed.
    private static func frame(
        of body: [UInt8], _ content: IncomingFrame.Body
    ) throws(HTTPRefusal) -> IncomingFrame {
        let frame = IncomingFrame(body, content)
        guard !frame.outline.isOverLimit else { throw HTTPRefusal(.payloadTooLarge, .tooLarge) }
        return frame
    }

    private static func poll(_ query: String) throws(HTTPRefusal) -> JSONObject {
        var payload: JSONObject = [:]
        for parameter in query.split(separator: "&") {
            let pair = parameter.split(separator: "=", maxSplits: 1)
            guard pair.count == 2, payload[String(pair[0])] == nil else {
                throw HTTPRefusal(.badRequest, .badFields)
            }
            switch (pair[0], Int64(pair[1])) {
            case ("max", let number?), ("after", let number?):
                payload[String(pair[0])] = .integer(number)
            case ("dead", _) where ["true", "false"].contains(pair[1]):
                payload["dead"] = .bool(pair[1] == "true")
            default: throw HTTPRefusal(.badRequest, .badFields)
            }
        }
        return payload
    }
}
