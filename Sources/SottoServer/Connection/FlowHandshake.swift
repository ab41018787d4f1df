import NIOHTTP1
import SottoWire

/// The beginning of a WebSocket connection with ``RelayProtocol/flow``.
///
/// A client with a token in the header `Authorization` is logged in and subscribed at once, and gets only pushes
/// and refusals. A client without one logs in with frames, and gets the answers to them.
struct FlowHandshake {
    /// The id of the requests that are made for the client.
    static let requestID = "authorization"

    private let hasToken: Bool
    private var frames: [IncomingFrame]

    /// Creates the beginning of a connection whose handshake had this token.
    init(token: String?) {
        hasToken = token != nil
        frames = (token.map { [.resume(token: $0), .subscribe()] } ?? []).map {
            IncomingFrame($0, to: Self.requestID)
        }
    }

    /// Returns the next request that is made for the client.
    mutating func next() -> IncomingFrame? { frames.isEmpty ? nil : frames.removeFirst() }

    /// Whether a response is written.
    func shows(_ response: Response, to requestID: String?) -> Bool {
        guard hasToken else { return true }
        switch response {
        case .session, .subscribed: return requestID != Self.requestID
        case .acked, .empty, .replaced: return false
        default: return true
        }
    }

    /// Whether a response refuses the login of the handshake, which ends the connection.
    static func ends(_ response: Response, to requestID: String?) -> Bool {
        response.isRefusal && requestID == Self.requestID
    }

    /// Whether the path of a handshake ends with that of the protocol: a proxy may leave its own path before it, which the
    /// other protocol allows too.
    static func isPath(of head: HTTPRequestHead) -> Bool {
        head.uri.prefix { $0 != "?" }.hasSuffix(FlowWire.path)
    }
}

extension HTTPRequestHead {
    /// The token in the header `Authorization: Bearer TOKEN` (RFC 6750 §2.1), or `nil`.
    var token: String? {
        guard let value = headers.first(name: "authorization") else { return nil }
        let words = value.split(separator: " ")
        guard words.count == 2, words[0].lowercased() == "bearer" else { return nil }
        return String(words[1])
    }
}
