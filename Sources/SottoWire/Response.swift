import Sotto

/// A relay's frame to a client: a reply to a request, or a push.
public enum Response: Sendable, Equatable {
    /// The reply to `ping`.
    case pong
    /// A nonce to sign, and the names of the relay of which the login must contain one.
    case challenge(nonce: [UInt8], names: [String])
    /// A puzzle: find a counter that gives `bits` zero bits with this nonce.
    case puzzle(nonce: [UInt8], bits: Int)
    /// The mailbox is open on this connection. Contains the state of the owner's prekeys, or `nil` if the owner has
    /// published none.
    ///
    /// The token reopens the mailbox on another connection for a while. `other` is the day, since 1970, on which the owner
    /// last logged in with another instance (``Login/instance``), or `nil`.
    case session(PreKeyStatus?, token: String? = nil, other: Int64? = nil)
    /// The envelope is on disk.
    case stored
    /// The same envelope was already on disk.
    case duplicate
    /// The request failed for now; the client tries again later.
    case deferred(Refusal)
    /// The request failed for good.
    case rejected(Refusal)
    /// Envelopes, oldest first; `more` tells whether others follow.
    case messages([Delivered], more: Bool)
    /// The mailbox is subscribed to; pushes follow.
    case subscribed
    /// The ids were acknowledged, whether or not they were known.
    case acked
    /// The request was refused.
    case error(Refusal)
    /// The claimed bundle: a record on one line.
    case bundle([UInt8])
    /// The bundles of a batch of claims in its order: records on one line, or `nil` for a claim without a bundle.
    case bundles([[UInt8]?])
    /// The requested card: a record on one line.
    case card([UInt8])
    /// The cards with the id of an account: records on one line each.
    case cards([[UInt8]])
    /// The requested record of a room, on one line.
    case room([UInt8])
    /// The credentials for TURN servers.
    case turn(TurnCredentials)
    /// The address of the room that the relay offers to everybody, with its phrase.
    case announcements(uri: String)
    /// The number of the new place of a meeting.
    case meeting(number: Int64)
    /// The message of a step of a meeting, or `nil` while the place does not have it.
    case meetingMessage([UInt8]?)
    /// The proof of work was accepted, the meeting has ended, or an envelope with a time to live of 0 was, whether or not
    /// it was pushed.
    case accepted
    /// The state of a blob.
    case blob(BlobState)
    /// Bytes of a blob.
    case blobData([UInt8])
    /// Push: an envelope.
    case newMessage(Delivered)
    /// Push: an envelope with a time to live of 0, on one line. It is not acknowledged.
    case signal([UInt8])
    /// Push: all envelopes that waited at the subscription have been pushed.
    case empty
    /// Push before the connection closes: another connection has subscribed to the mailbox.
    case replaced

    /// Whether the request failed. Over HTTP, only such a response can have a status other than 200.
    public var isRefusal: Bool {
        switch self {
        case .error, .rejected, .deferred: true
        default: false
        }
    }

    /// Parses a frame. Returns `nil` for an unknown type or form.
    public init?(_ frame: Frame) {
        do throws(FieldError) { try self.init(reading: frame) } catch { return nil }
    }

    private init(reading frame: Frame) throws(FieldError) {
        let payload = Fields<FieldError>(frame.payload)
        switch frame.type {
        case "pong": self = .pong
        case "challenge":
            self = .challenge(
                nonce: try payload["nonce"].bytes(count: WireLimits.nonceBytes),
                names: try payload["relay"].array().compactMap(\.string))
        case "puzzle":
            self = .puzzle(
                nonce: try payload["nonce"].bytes(count: WireLimits.nonceBytes),
                bits: try payload["bits"].integer())
        case "session":
            self = .session(
                try? payload["prekeys"].object(PreKeyStatus.init),
                token: frame.payload["token"]?.string,
                other: try? payload["otherInstance"].integer(in: WireLimits.days))
        case "bundle": self = .bundle(try payload["bundle"].object().serialized())
        case "bundles":
            self = .bundles(
                try payload["bundles"].list { (bundle) throws(FieldError) in
                    try bundle.nullable?.object().serialized()
                })
        case "card": self = .card(try payload["card"].object().serialized())
        case "cards":
            self = .cards(
                try payload["cards"].list(counts: 0...WireLimits.cardCount) {
                    (card) throws(FieldError) in try card.object().serialized()
                })
        case "room": self = .room(try payload["room"].object().serialized())
        case "turn": self = .turn(try TurnCredentials(payload))
        case "announcements":
            self = .announcements(
                uri: try payload["uri"].text {
                    $0.utf8.count <= WireLimits.roomURIBytes ? $0 : nil
                })
        case "meeting":
            self = .meeting(number: try payload["number"].integer(in: MeetingCode.numbers))
        case "meeting_message":
            self = .meetingMessage(
                try payload["message"].optional?.bytes { $0 <= WireLimits.meetingBytes })
        case "accepted": self = .accepted
        case "blob":
            self = .blob(
                BlobState(
                    size: try payload["size"].integer(in: 0...Int64.max),
                    have: try payload["have"].integer(in: 0...Int64.max)))
        case "blob_data": self = .blobData(try payload["data"].bytes())
        case "stored": self = .stored
        case "duplicate": self = .duplicate
        case "deferred": self = .deferred(try Refusal(payload))
        case "rejected": self = .rejected(try Refusal(payload))
        case "messages":
            self = .messages(
                try payload["envelopes"].list { (envelope) throws(FieldError) in
                    try Delivered(envelope.members())
                },
                more: try payload["more"].bool())
        case "subscribed": self = .subscribed
        case "acked": self = .acked
        case "error": self = .error(try Refusal(payload))
        case "new_message": self = .newMessage(try Delivered(payload))
        case "signal": self = .signal(try payload["envelope"].object().serialized())
        case "empty": self = .empty
        case "replaced": self = .replaced
        default: throw .member("type")
        }
    }

    /// Returns the response as a line; `requestID` is that of the request, and `nil` in a push.
    public func line(requestID: String? = nil) -> [UInt8] {
        func line(_ type: String, _ payload: JSONObject = [:]) -> [UInt8] {
            Frame(type: type, requestID: requestID, payload: payload).line
        }
        func plain(_ type: String) -> [UInt8] {
            Frame.line(type: type, requestID: requestID, payload: Array("{}".utf8))
        }
        switch self {
        case .pong: return plain("pong")
        case .challenge(let nonce, let names):
            return line(
                "challenge",
                [
                    "nonce": .base64(nonce),
                    "relay": .array(names.map { .string($0) }),
                ])
        case .puzzle(let nonce, let bits):
            return line(
                "puzzle",
                [
                    "nonce": .base64(nonce),
                    "bits": .integer(Int64(bits)),
                ])
        case .session(let status, let token, let other):
            return line(
                "session",
                JSONObject([
                    ("prekeys", (status?.object).map { .object($0) }),
                    ("token", token.map { .string($0) }),
                    ("otherInstance", other.map { .integer($0) }),
                ]))
        case .bundle(let record):
            return Frame.line(
                type: "bundle", requestID: requestID,
                payload: Frame.payload(member: "bundle", record: record))
        case .bundles(let records):
            return Frame.line(
                type: "bundles", requestID: requestID,
                payload: Frame.payload(
                    member: "bundles", records: records.map { $0 ?? Array("null".utf8) }))
        case .card(let record):
            return Frame.line(
                type: "card", requestID: requestID,
                payload: Frame.payload(member: "card", record: record))
        case .cards(let records):
            return Frame.line(
                type: "cards", requestID: requestID,
                payload: Frame.payload(member: "cards", records: records))
        case .room(let record):
            return Frame.line(
                type: "room", requestID: requestID,
                payload: Frame.payload(member: "room", record: record))
        case .turn(let credentials): return line("turn", credentials.payload)
        case .announcements(let uri): return line("announcements", ["uri": .string(uri)])
        case .meeting(let number): return line("meeting", ["number": .integer(number)])
        case .meetingMessage(let message):
            return line("meeting_message", JSONObject([("message", message.map { .base64($0) })]))
        case .accepted: return plain("accepted")
        case .blob(let state):
            return line("blob", ["size": .integer(state.size), "have": .integer(state.have)])
        case .blobData(let bytes): return line("blob_data", ["data": .base64(bytes)])
        case .stored: return plain("stored")
        case .duplicate: return plain("duplicate")
        case .deferred(let refusal): return line("deferred", refusal.payload)
        case .rejected(let refusal): return line("rejected", refusal.payload)
        case .messages(let envelopes, let more):
            var payload = Array("{\"envelopes\":[".utf8)
            for (index, envelope) in envelopes.enumerated() {
                if index > 0 { payload.append(UInt8(ascii: ",")) }
                payload += envelope.serialized
            }
            payload += "],\"more\":\(more)}".utf8
            return Frame.line(type: "messages", requestID: requestID, payload: payload)
        case .subscribed: return plain("subscribed")
        case .acked: return plain("acked")
        case .error(let refusal): return line("error", refusal.payload)
        case .newMessage(let delivered):
            return Frame.line(type: "new_message", requestID: nil, payload: delivered.serialized)
        case .signal(let envelope):
            return Frame.line(
                type: "signal", requestID: nil,
                payload: Frame.payload(member: "envelope", record: envelope))
        case .empty: return plain("empty")
        case .replaced: return plain("replaced")
        }
    }
}
