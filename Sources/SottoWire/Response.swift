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
    /// The token reopens the mailbox on another connection for a while.
    case session(PreKeyStatus?, token: String? = nil)
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
    /// The requested card: a record on one line.
    case card([UInt8])
    /// The proof of work was accepted, or an envelope with a time to live of 0, whether or not it was pushed.
    case accepted
    /// Push: an envelope.
    case newMessage(Delivered)
    /// Push: an envelope with a time to live of 0, on one line. It is not acknowledged.
    case signal([UInt8])
    /// Push: all envelopes that waited at the subscription have been pushed.
    case empty
    /// Push before the connection closes: another connection has subscribed to the mailbox.
    case replaced

    /// Parses a frame. Returns `nil` for an unknown type or form.
    public init?(_ frame: Frame) {
        let payload = frame.payload
        switch frame.type {
        case "pong": self = .pong
        case "challenge":
            guard let nonce = payload["nonce"]?.string.flatMap({ Base64.standard.decode($0) }),
                nonce.count == WireLimits.nonceBytes, let names = payload["relay"]?.array
            else { return nil }
            self = .challenge(nonce: nonce, names: names.compactMap(\.string))
        case "puzzle":
            guard let nonce = payload["nonce"]?.string.flatMap({ Base64.standard.decode($0) }),
                nonce.count == WireLimits.nonceBytes,
                let bits = payload["bits"]?.integer.flatMap({ Int(exactly: $0) })
            else { return nil }
            self = .puzzle(nonce: nonce, bits: bits)
        case "session":
            self = .session(
                payload["prekeys"]?.object.flatMap { PreKeyStatus($0) },
                token: payload["token"]?.string)
        case "bundle":
            guard let record = payload["bundle"]?.object else { return nil }
            self = .bundle(record.serialized())
        case "card":
            guard let record = payload["card"]?.object else { return nil }
            self = .card(record.serialized())
        case "accepted": self = .accepted
        case "stored": self = .stored
        case "duplicate": self = .duplicate
        case "deferred":
            guard let refusal = Refusal(payload: payload) else { return nil }
            self = .deferred(refusal)
        case "rejected":
            guard let refusal = Refusal(payload: payload) else { return nil }
            self = .rejected(refusal)
        case "messages":
            guard let list = payload["envelopes"]?.array, let more = payload["more"]?.bool else {
                return nil
            }
            let envelopes = list.compactMap { $0.object.flatMap { Delivered($0) } }
            guard envelopes.count == list.count else { return nil }
            self = .messages(envelopes, more: more)
        case "subscribed": self = .subscribed
        case "acked": self = .acked
        case "error":
            guard let refusal = Refusal(payload: payload) else { return nil }
            self = .error(refusal)
        case "new_message":
            guard let delivered = Delivered(payload) else { return nil }
            self = .newMessage(delivered)
        case "signal":
            guard let envelope = payload["envelope"]?.object else { return nil }
            self = .signal(envelope.serialized())
        case "empty": self = .empty
        case "replaced": self = .replaced
        default: return nil
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
                    "nonce": .string(Base64.standard.encode(nonce)),
                    "relay": .array(names.map { .string($0) }),
                ])
        case .puzzle(let nonce, let bits):
            return line(
                "puzzle",
                [
                    "nonce": .string(Base64.standard.encode(nonce)),
                    "bits": .integer(Int64(bits)),
                ])
        case .session(let status, let token):
            return line(
                "session",
                JSONObject([
                    ("prekeys", (status?.object).map { .object($0) }),
                    ("token", token.map { .string($0) }),
                ]))
        case .bundle(let record):
            return Frame.line(
                type: "bundle", requestID: requestID,
                payload: Frame.payload(member: "bundle", record: record))
        case .card(let record):
            return Frame.line(
                type: "card", requestID: requestID,
                payload: Frame.payload(member: "card", record: record))
        case .accepted: return plain("accepted")
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
