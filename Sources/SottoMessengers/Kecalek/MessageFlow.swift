public import Sotto

/// A reason to refuse an object of Message Flow.
public enum MessageFlowError: RecordError, Equatable {
    /// The member with this name is missing or malformed.
    case member(String)
    /// The file is of another version.
    case version(Int64)
    /// The payload is malformed.
    case payload
}

/// The encrypted content of a Message Flow message: a ratchet message, and for the first messages of a session the
/// pre-key message header.
///
/// In Sotto's own envelopes the header is inside the payload; ``init(payload:)`` and ``payload`` convert it.
public struct MessageFlowContent: Sendable, Equatable {
    /// The ratchet message.
    package let message: RatchetMessage
    /// The pre-key message header, or `nil` if the session has begun.
    public let preKeyHeader: PreKeyHeader?

    /// Reads the content from an envelope's payload. Throws ``MessageFlowError/payload``.
    public init(payload: JSONObject) throws(MessageFlowError) {
        try self.init(payload: payload, preKey: payload["preKey"])
    }

    /// The payload for an envelope: the ratchet message with the member `preKey`.
    public var payload: JSONObject {
        var payload = message.payload
        if let preKeyHeader { payload["preKey"] = .object(preKeyHeader.object) }
        return payload
    }

    /// Reads the file form: `{"v":1,"encryptedPayload","preKey"}`.
    public init(file: JSONObject) throws(MessageFlowError) {
        try Fields<MessageFlowError>(file).version()
        try self.init(members: file)
    }

    /// The file form.
    public var file: JSONObject { JSONObject([("v", .integer(1))] + members) }

    fileprivate init(members: JSONObject) throws(MessageFlowError) {
        let payload = Fields<MessageFlowError>(members)["encryptedPayload"]
        try self.init(payload: payload.object(), preKey: members["preKey"])
    }

    fileprivate var members: [(String, JSON?)] {
        [
            ("encryptedPayload", .object(message.payload)),
            ("preKey", (preKeyHeader?.object).map { .object($0) }),
        ]
    }

    private init(payload: JSONObject, preKey: JSON?) throws(MessageFlowError) {
        do throws(RatchetError) {
            message = try RatchetMessage(payload: payload)
            switch preKey {
            case nil, .null: preKeyHeader = nil
            case .object(let object): preKeyHeader = try PreKeyHeader(object)
            default: throw .payload
            }
        } catch {
            throw .payload
        }
    }
}

/// A message as Message Flow's server carries it:
/// `{"type":"new_message","message":{"id","from","to","encryptedPayload","timestamp"}}`.
///
/// Only `encryptedPayload` is authenticated.
public struct MessageFlowMessage: Sendable, Equatable {
    /// The longest id of a message or a user, in bytes.
    public static let idLimit = 255

    /// The message's id.
    public let id: String
    /// The sender's id.
    public let from: String
    /// The recipient's id.
    public let to: String
    /// The encrypted content.
    public let content: MessageFlowContent
    /// The time of sending, without a fraction of a second.
    public let time: Timestamp

    /// Creates a message. Each id has 1 to 255 bytes. Throws ``MessageFlowError/member(_:)``.
    public init(
        id: String, from: String, to: String, content: MessageFlowContent, time: Timestamp
    ) throws(MessageFlowError) {
        for (name, value) in [("id", id), ("from", from), ("to", to)] {
            guard (1...Self.idLimit).contains(value.utf8.count) else { throw .member(name) }
        }
        self.id = id
        self.from = from
        self.to = to
        self.content = content
        self.time = time
    }

    /// Returns the object. The HTTP form has no `type`.
    public func record(http: Bool = false) -> JSONObject {
        let message = JSONObject(
            [("id", .string(id)), ("from", .string(from)), ("to", .string(to))]
                + content.members + [("timestamp", .string(time.description))])
        return JSONObject([
            ("type", http ? nil : .string("new_message")), ("message", .object(message)),
        ])
    }

    /// Reads the object, with or without `type`, or only its `message`.
    public init(record: JSONObject) throws(MessageFlowError) {
        if let type = record["type"], type.string != "new_message" { throw .member("type") }
        var members = record
        if let message = record["message"] {
            guard let object = message.object else { throw .member("message") }
            members = object
        } else if record["type"] != nil {
            throw .member("message")
        }
        let fields = Fields<MessageFlowError>(members)
        try self.init(
            id: fields["id"].text(), from: fields["from"].text(), to: fields["to"].text(),
            content: MessageFlowContent(members: members), time: fields["timestamp"].time())
    }

    /// Whether both have the same record.
    public static func == (a: MessageFlowMessage, b: MessageFlowMessage) -> Bool {
        a.record() == b.record()
    }
}

/// The answer of the server to a poll: `{"success":true,"messages":[…]}`, the messages without a `type`.
public enum MessageFlowPoll {
    /// Returns the messages, or `nil` if the record is not such an answer.
    public static func messages(in record: JSONObject) -> [JSON]? {
        record["success"] == .bool(true) ? record["messages"]?.array : nil
    }
}

/// An acknowledgement for the server: `{"type":"ack","messageId","status"}`.
///
/// `failed` tells the server that decryption failed, which makes the client a decryption oracle. Do not send it, or
/// send it for every cause.
public struct MessageFlowAck: Sendable, Equatable {
    /// The result for the message.
    public enum Status: String, Sendable, CaseIterable {
        case delivered
        case failed
        /// The recipient has seen the message.
        case read
    }

    /// The message's id.
    public let messageID: String
    /// The result for the message.
    public let status: Status

    /// Creates an acknowledgement. The id has 1 to 255 bytes. Throws ``MessageFlowError/member(_:)``.
    public init(messageID: String, status: Status) throws(MessageFlowError) {
        guard (1...MessageFlowMessage.idLimit).contains(messageID.utf8.count) else {
            throw .member("messageId")
        }
        self.messageID = messageID
        self.status = status
    }

    /// Returns the object. The HTTP form has no `type`.
    public func record(http: Bool = false) -> JSONObject {
        JSONObject([
            ("type", http ? nil : .string("ack")), ("messageId", .string(messageID)),
            ("status", .string(status.rawValue)),
        ])
    }

    /// Reads the object, with or without `type`.
    public init(record: JSONObject) throws(MessageFlowError) {
        if let type = record["type"], type.string != "ack" { throw .member("type") }
        let fields = Fields<MessageFlowError>(record)
        try self.init(
            messageID: fields["messageId"].text(),
            status: fields["status"].text { Status(rawValue: $0) })
    }
}

extension MessageFlowMessage {
    /// Creates the messenger's record of a session's envelope. `from` and `to` are the user ids in the messenger.
    public init(
        envelope: Envelope, from: String, to: String
    ) throws(MessageFlowError) {
        try self.init(
            id: envelope.id, from: from, to: to,
            content: MessageFlowContent(payload: envelope.payload), time: envelope.time)
    }

    /// Returns the envelope to open. `sender` is the peer of the session; nothing outside the payload authenticates the
    /// sender.
    public func envelope(to owner: KeyID, from sender: KeyID) -> Envelope {
        content.envelope(
            id: Envelope.isID(id) ? id : Envelope.id(of: content.message.combined), to: owner,
            from: sender, time: time, decoder: Self.decoder)
    }
}

extension MessageFlowMessage {
    /// Reads a plaintext: a message record of the envelope, or plain text.
    private static let decoder = PlaintextDecoder(name: "flow") { plaintext, envelope in
        isRecord(plaintext)
            ? MessageContent(plaintext, of: envelope)
            : distribution(plaintext).map {
                MessageContent(body: $0, id: envelope.id, time: envelope.time)
            }
                ?? String(validating: plaintext, as: UTF8.self).map {
                    MessageContent(text: $0, id: envelope.id, time: envelope.time)
                }
    }
}

extension MessageFlowContent {
    /// Returns the envelope of a file, which has no id and no time. The envelope's time is `time`; no digest and no
    /// message contains it.
    public func envelope(
        to owner: KeyID, from sender: KeyID, at time: Timestamp = .now()
    ) -> Envelope {
        envelope(
            id: Envelope.id(of: message.combined), to: owner, from: sender, time: time,
            decoder: Self.decoder)
    }

    /// Returns the digest of the envelope of a file, without the time at which the file is read.
    public func digest(of envelope: Envelope) -> [UInt8] {
        Envelope.digest(
            [
                envelope.id, envelope.suite.rawValue, envelope.to?.description ?? "",
                envelope.from?.description ?? "",
            ], envelope.suite.traits.payloadMembers, of: envelope.payload)
    }

    /// Reads a plaintext: a message record, whose id and time count, or plain text, which has no time.
    private static let decoder = PlaintextDecoder(name: "flow file") { plaintext, envelope in
        if let distribution = distribution(plaintext) {
            return MessageContent(body: distribution, id: envelope.id, time: nil)
        }
        guard isRecord(plaintext) else {
            return String(validating: plaintext, as: UTF8.self).map {
                MessageContent(text: $0, id: envelope.id, time: nil)
            }
        }
        return (try? JSON.object(parsing: plaintext)).flatMap {
            MessageContent(record: $0, to: envelope.to)
        }
    }

    fileprivate func envelope(
        id: String, to owner: KeyID, from sender: KeyID, time: Timestamp,
        decoder: PlaintextDecoder
    ) -> Envelope {
        var envelope = Envelope(
            id: id, suite: .ratchet, to: owner, from: sender, time: time, payload: payload)
        envelope.decoder = decoder
        return envelope
    }
}

/// Returns the object of a plaintext that is the distribution of a group's key chain alone, or `nil`.
private func distribution(_ plaintext: [UInt8]) -> JSONObject? {
    let object = try? JSON.object(parsing: plaintext)
    return object?["type"]?.string == SenderKeyDistribution.type ? object : nil
}

/// Whether a plaintext is a message record, and no plain text.
private func isRecord(_ plaintext: [UInt8]) -> Bool {
    (try? JSON.object(parsing: plaintext))?["type"]?.string == "message"
}
