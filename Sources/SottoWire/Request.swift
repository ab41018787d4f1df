public import Sotto

/// A client's request to a relay.
public enum Request: Sendable, Equatable {
    /// Tests the connection. Answered by `pong`.
    case ping
    /// Asks for a nonce to log in with. Answered by `challenge`.
    case challenge
    /// Opens a mailbox on this connection. Answered by `session`.
    case login(Login)
    /// Opens a mailbox on this connection with the token of an earlier login. Answered by `session`.
    case resume(token: String)
    /// Stores an envelope; needs no login. Answered by `stored`, `duplicate`, `deferred` or `rejected`;
    /// an envelope with a time to live of 0 is not stored, and always answered by `accepted`.
    case send(AddressedEnvelope)
    /// Reads the oldest envelopes after a sequence number, or dead letters, without deleting them. Answered by
    /// `messages`.
    ///
    /// `of` names one of several open mailboxes, here and in the next cases; `nil` is the first one.
    case fetch(max: Int, after: Int64, dead: Bool, of: SessionID? = nil)
    /// Subscribes to a mailbox: waiting and new envelopes are pushed. Answered by `subscribed`.
    case subscribe(of: SessionID? = nil)
    /// Deletes envelopes that were delivered, or counts a failure. Answered by `acked`.
    case ack(ids: [String], Handled, of: SessionID? = nil)

    /// Publishes prekeys; needs no login, because the record is signed. Answered by `stored`, even if nothing in it is
    /// new.
    case publish(PublishedPreKeys)
    /// Claims a bundle of an owner's prekeys under an id that the client chose: a lower-case UUID. Repeating the id
    /// returns the same bundle. Answered by `bundle`.
    case claim(owner: SessionID, id: String)

    /// Publishes a card or a login key record in the directory; needs no login, because the record is signed. Answered
    /// by `stored`, even if it is older than the stored one.
    case record(OwnersRecord)
    /// Looks up the card of an id. Answered by `card`.
    case lookup(SessionID)
    /// Asks for a proof of work, after ``Reason/workRequired``. Answered by `puzzle`.
    case puzzle
    /// Sends the counter that solves a puzzle (`ProofOfWork`). Answered by `accepted`: this connection may then
    /// publish a new id.
    case solution(nonce: [UInt8], counter: UInt64)

    /// The result of an envelope at its recipient.
    public enum Handled: String, Sendable {
        /// The recipient has stored it.
        case delivered
        /// The recipient could not process it; after ``WireLimits/failures`` failures it is a dead letter.
        case failed
    }

    /// Parses a request. Throws ``Reason/unknownType``, ``Reason/badFields``, ``Reason/tooLarge``, or
    /// ``Reason/loginFailed`` for a malformed login.
    public init(_ frame: Frame) throws(Reason) {
        let payload = frame.payload
        switch frame.type {
        case "ping": self = .ping
        case "challenge": self = .challenge
        case "login":
            guard let login = Login(payload: payload) else { throw .loginFailed }
            self = .login(login)
        case "resume":
            guard let token = payload["token"]?.string, token.utf8.count <= 256 else {
                throw .loginFailed
            }
            self = .resume(token: token)
        case "send":
            guard let record = payload["envelope"]?.object else { throw .badFields }
            self = .send(try AddressedEnvelope(record))
        case "fetch":
            guard let max = Self.integer(payload["max"], default: Int64(WireLimits.fetchCount)),
                let after = Self.integer(payload["after"], default: 0),
                (1...Int64(WireLimits.fetchCount)).contains(max), after >= 0,
                let dead = payload["dead"] == nil ? false : payload["dead"]?.bool
            else { throw .badFields }
            self = .fetch(
                max: Int(max), after: after, dead: dead, of: try Self.mailbox(payload))
        case "subscribe": self = .subscribe(of: try Self.mailbox(payload))
        case "ack":
            guard let list = payload["ids"]?.array,
                (1...WireLimits.ackCount).contains(list.count),
                let handled = payload["status"]?.string.flatMap({ Handled(rawValue: $0) })
            else { throw .badFields }
            let ids = list.compactMap(\.string)
            guard ids.count == list.count, ids.allSatisfy(Envelope.isID) else { throw .badFields }
            self = .ack(ids: ids, handled, of: try Self.mailbox(payload))
        case "prekeys":
            guard let record = payload["publication"]?.object else { throw .badFields }
            self = .publish(try PublishedPreKeys(record))
        case "claim":
            guard let owner = payload["id"]?.string.flatMap({ SessionID($0) }),
                let id = payload["claim"]?.string, Envelope.isID(id)
            else { throw .badFields }
            self = .claim(owner: owner, id: id)
        case "record":
            guard let record = payload["record"]?.object else { throw .badFields }
            self = .record(try OwnersRecord(record))
        case "lookup":
            guard let id = try Self.mailbox(payload) else { throw .badFields }
            self = .lookup(id)
        case "puzzle": self = .puzzle
        case "solution":
            guard let nonce = payload["nonce"]?.string.flatMap({ Base64.standard.decode($0) }),
                nonce.count == WireLimits.nonceBytes,
                let counter = payload["counter"]?.integer, counter >= 0
            else { throw .badFields }
            self = .solution(nonce: nonce, counter: UInt64(counter))
        default: throw .unknownType
        }
    }

    /// Returns the optional member `id`.
    private static func mailbox(_ payload: JSONObject) throws(Reason) -> SessionID? {
        guard let value = payload["id"] else { return nil }
        guard let id = value.string.flatMap({ SessionID($0) }) else { throw .badFields }
        return id
    }

    private static func integer(_ value: JSON?, default absent: Int64) -> Int64? {
        value == nil ? absent : value?.integer
    }

    /// Returns the request as a line.
    public func line(requestID: String) -> [UInt8] {
        func line(_ type: String, _ payload: JSONObject = [:]) -> [UInt8] {
            Frame(type: type, requestID: requestID, payload: payload).line
        }
        switch self {
        case .ping: return line("ping")
        case .challenge: return line("challenge")
        case .login(let login): return line("login", login.payload)
        case .resume(let token): return line("resume", ["token": .string(token)])
        case .send(let envelope): return Self.sendLine(envelope.bytes, requestID: requestID)
        case .fetch(let max, let after, let dead, let mailbox):
            return line(
                "fetch",
                JSONObject([
                    ("id", Self.json(mailbox)), ("max", .integer(Int64(max))),
                    ("after", .integer(after)), ("dead", .bool(dead)),
                ]))
        case .subscribe(let mailbox):
            return line("subscribe", JSONObject([("id", Self.json(mailbox))]))
        case .ack(let ids, let handled, let mailbox):
            return line(
                "ack",
                JSONObject([
                    ("id", Self.json(mailbox)), ("ids", .array(ids.map { .string($0) })),
                    ("status", .string(handled.rawValue)),
                ]))
        case .publish(let published):
            return Self.publishLine(published.bytes, requestID: requestID)
        case .claim(let owner, let id):
            return line("claim", ["id": .string(owner.description), "claim": .string(id)])
        case .record(let record): return Self.recordLine(record.bytes, requestID: requestID)
        case .lookup(let id): return line("lookup", ["id": .string(id.description)])
        case .puzzle: return line("puzzle")
        case .solution(let nonce, let counter):
            return line(
                "solution",
                [
                    "nonce": .string(Base64.standard.encode(nonce)),
                    "counter": .integer(Int64(clamping: counter)),
                ])
        }
    }

    private static func json(_ mailbox: SessionID?) -> JSON? {
        mailbox.map { .string($0.description) }
    }

    /// Returns the line that sends an envelope, which must be on one line.
    public static func sendLine(_ envelope: [UInt8], requestID: String) -> [UInt8] {
        line("send", "envelope", envelope, requestID)
    }

    /// Returns the line that publishes prekeys; the record must be on one line.
    public static func publishLine(_ publication: [UInt8], requestID: String) -> [UInt8] {
        line("prekeys", "publication", publication, requestID)
    }

    /// Returns the line that publishes a record in the directory; the record must be on one line.
    public static func recordLine(_ record: [UInt8], requestID: String) -> [UInt8] {
        line("record", "record", record, requestID)
    }

    private static func line(_ type: String, _ member: String, _ record: [UInt8], _ id: String)
        -> [UInt8]
    {
        Frame.line(
            type: type, requestID: id, payload: Frame.payload(member: member, record: record))
    }
}
