public import Sotto

/// The protocol of a connection between a client and a relay.
public enum RelayProtocol: String, Sendable, CaseIterable {
    /// Frames, see ``Frame``.
    case own = "sotto"
    /// The records of Message Flow, see ``FlowWire``, and frames for what it does not have.
    case flow = "message-flow"
}

/// The records that Message Flow's server and its clients exchange.
///
/// | record | meaning |
/// |---|---|
/// | `{"type":"new_message","message":{…}}` | an envelope, in both directions |
/// | `{"type":"ack","messageId","status"}` | `delivered`, `failed` or `read`; over HTTP without `type` |
/// | `{"success":true,"messages":[{…}]}` | the answer to a poll |
/// | `{"success":true}` | the answer to an acknowledgement and to a message |
/// | `{"success":false,"type","code","reason"}` | a refusal: the members of the frame of that type |
///
/// A message is `{"id","from","to","encryptedPayload","timestamp"}`, with `preKey` in the first messages of a session.
/// Its payload has four members: `ciphertext`, `ratchetPublicKey`, `chainLength`, `previousChainLength`. An envelope
/// that has more than these has no form as a message.
public enum FlowWire {
    /// The base path of the protocol at a relay.
    public static let path = "/message-flow"
    /// Returns the base path of the protocol at a relay with this address.
    public static func path(at relay: RelayURL) -> String {
        (relay.path.hasSuffix("/") ? String(relay.path.dropLast()) : relay.path) + path
    }

    /// The paths of HTTP requests, below the base path.
    public static let messages = "/api/messages"
    /// A `GET` asks for the oldest envelopes, at most ``WireLimits/fetchCount``.
    public static let poll = "/api/messages/poll"
    /// The body of a `POST` is one acknowledgement.
    public static let acknowledgements = "/api/messages/ack"

    /// The members of an envelope that a message keeps.
    private static let envelopeMembers = [
        "v", "type", "id", "suite", "to", "from", "time", "payload",
    ]
    private static let texts = ["ciphertext", "ratchetPublicKey"]
    private static let numbers = ["chainLength", "previousChainLength"]

    // MARK: Messages

    /// Returns the message of an envelope, a record on one line, or `nil` if it has no form as a message: it is not of a
    /// classical session, has no sender, has a time to live, or has other members.
    public static func message(of envelope: [UInt8]) -> [UInt8]? {
        guard let record = try? JSON.object(parsing: envelope),
            record.members.count == envelopeMembers.count,
            envelopeMembers.allSatisfy({ record[$0] != nil }),
            record["v"] == .integer(1), record["suite"] == .string(Suite.ratchet.rawValue),
            let time = record["time"]?.string, Timestamp(time)?.description == time,
            let from = record["from"]?.string, KeyID(from)?.description == from,
            let to = record["to"]?.string, KeyID(to)?.description == to,
            var payload = record["payload"]?.object
        else { return nil }
        let preKey = payload["preKey"]
        payload["preKey"] = nil
        guard isPayload(payload), preKey?.object != nil || preKey == nil else { return nil }
        return JSONObject([
            ("id", record["id"]), ("from", .string(from)), ("to", .string(to)),
            ("encryptedPayload", .object(payload)), ("preKey", preKey),
            ("timestamp", .string(time)),
        ]).serialized()
    }

    /// Returns the envelope of a message: of a push, with or without `type`, or of the message alone.
    ///
    /// Throws ``Reason/badFields`` for another record, and ``Reason/tooLarge`` as ``AddressedEnvelope`` does. The id must
    /// be a UUID, and `from` and `to` key ids.
    public static func envelope(of record: JSONObject) throws(Reason) -> AddressedEnvelope {
        if let type = record["type"], type.string != "new_message" { throw .badFields }
        let outer = Fields<Reason>(record)
        let isPush = record["message"] != nil || record["type"] != nil
        let fields = isPush ? try outer["message"].members() : outer
        var payload = try fields["encryptedPayload"].object()
        guard isPayload(payload) else { throw .badFields }
        payload["preKey"] = try fields["preKey"].nullable.map { (preKey) throws(Reason) in
            .object(try preKey.object())
        }
        return try AddressedEnvelope(
            JSONObject([
                ("v", .integer(1)), ("type", .string("envelope")),
                ("id", .string(try fields["id"].uuid())),
                ("suite", .string(Suite.ratchet.rawValue)),
                ("to", .string(try fields["to"].keyID().description)),
                ("from", .string(try fields["from"].keyID().description)),
                ("time", .string(try fields["timestamp"].time().description)),
                ("payload", .object(payload)),
            ]))
    }

    private static func isPayload(_ payload: JSONObject) -> Bool {
        payload.members.count == texts.count + numbers.count
            && texts.allSatisfy { payload[$0]?.string != nil }
            && numbers.allSatisfy { payload[$0]?.integer != nil }
    }

    /// Returns the push of a message, a record on one line, with a line feed. The HTTP form has no `type`.
    public static func push(_ message: [UInt8], http: Bool = false) -> [UInt8] {
        Array((http ? #"{"message":"# : #"{"type":"new_message","message":"#).utf8) + message
            + Array("}\n".utf8)
    }

    // MARK: Acknowledgements

    /// Returns an acknowledgement on one line, with a line feed. The HTTP form has no `type`.
    public static func acknowledgement(
        of id: String, _ handled: Request.Handled, http: Bool = false
    ) -> [UInt8] {
        JSONObject([
            ("type", http ? nil : .string("ack")), ("messageId", .string(id)),
            ("status", .string(handled.rawValue)),
        ]).serialized() + [UInt8(ascii: "\n")]
    }

    /// Returns the request of an acknowledgement. `read` counts as delivered. Throws ``Reason/badFields``.
    public static func request(of acknowledgement: JSONObject) throws(Reason) -> Request {
        if let type = acknowledgement["type"], type.string != "ack" { throw .badFields }
        let fields = Fields<Reason>(acknowledgement)
        let handled: Request.Handled = try fields["status"].text {
            $0 == "read" ? .delivered : Request.Handled(rawValue: $0)
        }
        return .ack(ids: [try fields["messageId"].uuid()], handled)
    }

    // MARK: Answers over HTTP

    /// Returns the answer to a request over HTTP, with a line feed. The envelopes of ``Response/messages(_:more:)`` must be
    /// messages already.
    public static func answer(_ response: Response) -> [UInt8] {
        let line: [UInt8]
        switch response {
        case .messages(let messages, _):
            line =
                Array(#"{"success":true,"messages":["#.utf8)
                + messages.map(\.envelope).joined(separator: [UInt8(ascii: ",")])
                + Array("]}".utf8)
        case .error(let refusal): line = answer("error", refusal)
        case .rejected(let refusal): line = answer("rejected", refusal)
        case .deferred(let refusal): line = answer("deferred", refusal)
        default: line = Array(#"{"success":true}"#.utf8)
        }
        return line + [UInt8(ascii: "\n")]
    }

    private static func answer(_ type: String, _ refusal: Refusal) -> [UInt8] {
        let members: [(String, JSON?)] = [("success", .bool(false)), ("type", .string(type))]
        return JSONObject(members + refusal.payload.members.map { ($0.name, $0.value) })
            .serialized()
    }

    /// Reads an answer over HTTP: ``Response/messages(_:more:)`` with envelopes numbered from 1, ``Response/acked`` for
    /// another success, or a refusal. Returns `nil` for another record. A message that cannot be read is left out.
    public static func response(_ bytes: [UInt8]) -> Response? {
        guard let record = try? JSON.object(parsing: bytes), let success = record["success"]?.bool
        else { return nil }
        guard success else {
            let type = record["type"]?.string ?? ""
            let response = Response(Frame(type: type, requestID: nil, payload: record))
            return response?.isRefusal == true ? response : nil
        }
        guard let messages = record["messages"] else { return .acked }
        guard let messages = messages.array, messages.count <= WireLimits.fetchCount else {
            return nil
        }
        let envelopes = messages.compactMap { message in
            message.object.flatMap { try? envelope(of: $0) }
        }
        return .messages(
            envelopes.enumerated().map {
                Delivered(sequence: Int64($0.offset) + 1, envelope: $0.element.bytes)
            }, more: false)
    }
}
