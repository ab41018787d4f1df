import Sotto
import SottoWire

/// A frame from a client, before and after it is parsed.
///
/// Its cost is bounded before it is parsed, by its type and by whether a mailbox is open on the connection: an attacker
/// can send it without a login.
struct IncomingFrame: Sendable {
    /// The content of the bytes.
    enum Body: Sendable {
        /// A frame.
        case frame
        /// The envelope of a `send` frame.
        case envelope
        /// The payload of an `ack` frame; `messageId` is the form for one message.
        case acknowledgement
        /// A message of ``RelayProtocol/flow``.
        case flowMessage
        /// An acknowledgement of ``RelayProtocol/flow``, or on a WebSocket an `ack` frame.
        case flowAcknowledgement
        /// None: the frame comes from the head of an HTTP request.
        indirect case parsed(Content)
    }

    /// The bytes, without a line feed at the end.
    let bytes: [UInt8]
    /// The number of values in the bytes; for a frame also its type and request id.
    let outline: FrameOutline
    /// The number of the HTTP request on its connection, which ``HTTPCodec`` finds before the request id of an answer.
    var number: Int?
    private let body: Body

    /// Scans bytes without parsing them.
    init(_ bytes: [UInt8], _ body: Body = .frame) {
        self.bytes = bytes
        outline = FrameOutline(of: bytes, limit: WireLimits.frameValues)
        switch body {
        case .frame, .parsed: self.body = body
        // A body that is not an object is refused like a line that is not a frame.
        case .envelope, .acknowledgement, .flowMessage, .flowAcknowledgement:
            self.body = outline.isOneObject ? body : .frame
        }
    }

    /// Scans a line of a connection with this protocol.
    init(_ line: [UInt8], as form: RelayProtocol) {
        let frame = IncomingFrame(line)
        switch (form, frame.outline.type) {
        case (.flow, "new_message"): self.init(line, .flowMessage)
        case (.flow, "ack"): self.init(line, .flowAcknowledgement)
        case (.own, _), (.flow, _): self = frame
        }
    }

    /// Creates a frame without bytes from a request.
    init(_ request: Request, to requestID: String) {
        self.init([], .parsed(.frame(requestID: requestID, .success(Asked(request: request)))))
    }

    /// Creates a frame without bytes from a frame.
    init(_ frame: Frame) { self.init([], .parsed(Self.content(of: frame))) }

    /// Whether the frame is an envelope to be stored, or a signal, whose answer depends on no login.
    var isSend: Bool { type == "send" }

    /// The type of the frame, as far as it is known before parsing.
    private var type: String? {
        switch body {
        case .frame: outline.type
        case .envelope, .flowMessage: "send"
        case .acknowledgement, .flowAcknowledgement: "ack"
        case .parsed: "parsed"
        }
    }

    /// The id of the request, as far as it is known before parsing.
    var requestID: String? {
        switch body {
        case .frame: numbered(outline.requestID)
        case .flowMessage, .flowAcknowledgement: numbered(nil)
        case .envelope, .acknowledgement, .parsed: numbered(HTTPRoute.requestID)
        }
    }

    private func numbered(_ requestID: String?) -> String? {
        number.map { "\($0) \(requestID ?? "")" } ?? requestID
    }

    /// Returns the reason for refusing the frame unparsed, or `nil` if it may be parsed.
    func refusal(hasMailbox: Bool) -> Reason? {
        let most =
            switch type {
            case "prekeys", "record", "send": WireLimits.frameValues
            case "ping", "challenge", "login", "resume", "fetch", "subscribe", "claim", "lookup",
                "cards", "successions", "room", "turn", "puzzle", "solution", "blob_put", "blob",
                "blob_get",
                "blob_delete",
                "meeting_open", "meeting_get", "meeting_put", "meeting_end", "wake_register",
                "wake_unregister", "invite", "announcements":
                Self.fewValues
            default: Self.listValues
            }
        let limit =
            switch type {
            case "prekeys": WireLimits.publicationBytes + Self.frameBytes
            case "record": WireLimits.roomBytes + Self.frameBytes
            default: WireLimits.requestBytes
            }
        guard outline.values <= most, bytes.count <= limit else { return .tooLarge }
        if type == "ack", !hasMailbox, outline.values > Self.fewValues { return .loginRequired }
        return nil
    }

    /// The most values of a frame without a list.
    private static let fewValues = 64
    /// The most values of a frame with a list of ids, or of a type that this relay does not know.
    private static let listValues = 320
    /// The bytes allowed for the frame around a record, and for white space.
    private static let frameBytes = 4 << 10

    /// Whether the frame is parsed and verified on the thread pool instead of the event loop.
    var isHeavy: Bool { isSigned || outline.values > Self.heavyValues }

    private static let heavyValues = 128

    /// Whether the frame contains a signed record.
    private var isSigned: Bool { type == "prekeys" || type == "record" }

    /// The cost of the frame in requests, on a connection with a limit of `rate` requests a second: at least one, more
    /// for many bytes and values, and much more for a signature.
    func cost(rate: Double) -> Double {
        var cost = 1 + bytes.count / (16 << 10) + outline.values / 64
        if case .parsed(.frame(_, .success(let asked))) = body, case .putBlob = asked.request {
            cost += 1
        }
        if isSigned || type == "login" { cost += 20 }
        return min(Double(cost), max(1, rate / 4))
    }

    /// The result of parsing the frame.
    enum Content: Sendable {
        /// The bytes are not a frame.
        case unreadable(Reason)
        /// The frame's id, and its request or the reason for refusing it.
        case frame(requestID: String?, Result<Asked, Reason>)
    }

    /// A request. For a publication, `head` is the beginning of its bundles' lines.
    struct Asked: Sendable {
        let request: Request
        var head: [UInt8]?
    }

    /// Parses the frame, and verifies its signature if it has one.
    func content() -> Content {
        switch parsed() {
        case .frame(let requestID, let asked): .frame(requestID: numbered(requestID), asked)
        case .unreadable(let reason): .unreadable(reason)
        }
    }

    private func parsed() -> Content {
        do throws(Reason) {
            switch body {
            case .frame: return Self.content(of: try Frame(parsing: bytes))
            case .envelope:
                let envelope = try object()
                return Self.content(HTTPRoute.requestID) { () throws(Reason) in
                    .send(try AddressedEnvelope(envelope))
                }
            case .acknowledgement:
                let body = try object()
                var payload: JSONObject = [:]
                payload["ids"] = body["ids"] ?? body["messageId"].map { .array([$0]) }
                payload["status"] = body["status"]
                return Self.content(
                    of: Frame(type: "ack", requestID: HTTPRoute.requestID, payload: payload))
            case .flowMessage:
                let record = try object()
                let id = (record["message"]?.object ?? record)["id"]?.string
                return Self.content(id.flatMap(Self.requestID)) { () throws(Reason) in
                    .send(try FlowWire.envelope(of: record))
                }
            case .flowAcknowledgement:
                let record = try object()
                guard record["payload"] == nil else {
                    // The cost of another type was not counted.
                    let frame = try Frame(parsing: bytes)
                    guard frame.type == "ack" else { throw Reason.badFrame }
                    return Self.content(of: frame)
                }
                let id = record["messageId"]?.string
                return Self.content(id.flatMap(Self.requestID)) { () throws(Reason) in
                    try FlowWire.request(of: record)
                }
            case .parsed(let content): return content
            }
        } catch {
            return .unreadable(error)
        }
    }

    /// Returns the id of a message as the id of its request.
    private static func requestID(_ id: String) -> String? { Frame.isRequestID(id) ? id : nil }

    private func object() throws(Reason) -> JSONObject {
        let value: JSON
        do throws(JSONError) { value = try JSON(parsing: bytes) } catch { throw .badJSON }
        guard case .object(let object) = value else { throw .badFrame }
        return object
    }

    private static func content(of frame: Frame) -> Content {
        content(frame.requestID) { () throws(Reason) in try Request(frame) }
    }

    private static func content(
        _ requestID: String?, _ request: () throws(Reason) -> Request
    ) -> Content {
        do throws(Reason) {
            var asked = Asked(request: try request())
            if case .publish(let published) = asked.request {
                asked.head = published.publication.bundleHead
            }
            return .frame(requestID: requestID, .success(asked))
        } catch {
            return .frame(requestID: requestID, .failure(error))
        }
    }
}
