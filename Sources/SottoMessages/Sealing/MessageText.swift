import SottoContacts
package import Sotto
package import SottoTool

/// The content of a message, and the members of its line that are passed through.
package struct MessageText: Sendable {
    package let body: JSONObject
    package let extra: [(name: String, value: JSON)]

    /// The recipient that the line names: an id, the name of a contact, or a URI. `nil` if it names none.
    package let to: String?
    /// The group that the line names: an id, or a name. `nil` if it names none.
    package let group: String?
    /// The time to live that the line has, in seconds, or `nil`.
    package let ttl: Int64?
    /// Makes the ids of the body's blob, which `send` uploads; `nil` without such a blob.
    package let upload: BlobIDs?

    package init(
        body: JSONObject, extra: [(name: String, value: JSON)], to: String? = nil,
        group: String? = nil, ttl: Int64? = nil, upload: BlobIDs? = nil
    ) {
        self.body = body
        self.extra = extra
        self.to = to
        self.group = group
        self.ttl = ttl
        self.upload = upload
    }

    /// Returns the time to live of the message if `asked` is given: that of a signal is 0, so that it is pushed to a connected
    /// recipient or dropped, and a call does not ring later, whatever is asked.
    func ttl(asked: Int64?) -> Int64? {
        switch body["type"]?.string {
        case "typing", "presence": asked ?? 0
        case CallSignal.type: max(1, min(asked ?? .max, CallSignal.lifetime))
        default: asked
        }
    }

    /// Throws a failure with status 64 if the text or the data of the message is a secret key, or has recovery words.
    package func checkSecrets() throws(Failure) {
        let content = body["body"]?.object ?? body
        let bytes: [UInt8]
        if let text = content["text"]?.string {
            bytes = Array(text.utf8)
        } else if content["type"]?.string == "data", let data = content["data"]?.string {
            let count = (SecretText.searched + 2) / 3 * 4
            bytes = Base64.standard.decode(data.prefix(count)) ?? []
        } else {
            return
        }
        if let secret = SecretContent(beginning: bytes) { throw .secret(secret, in: nil) }
    }

    /// Whether the message is about the devices of its author.
    var isAboutDevices: Bool { body["type"]?.string == DeviceBody.type }

    /// Whether the message is a signal of a call.
    var isOfCall: Bool { body["type"]?.string == CallSignal.type }

    /// Whether the message has candidates of a call, which the history does not keep.
    package var isTransient: Bool {
        isOfCall && body["kind"]?.string == CallSignal.Kind.candidates.rawValue
    }

    /// All of an input.
    package enum Whole {
        case message(MessageText)
        /// A content that is too long for a message.
        case long(Attachment.Content)
    }

    /// The bytes that remain for a message's id, time and other members beside its body.
    private static let otherMembers = 1_024

    /// Reads all of the input as one message; see ``content(ofWhole:)``. Throws a failure with status 1 if it is empty
    /// and `mayBeEmpty` is false, and ``SealedError/tooLong(limit:)`` if it is too long and `allowsLong` is false. A file with a
    /// name that is no text counts as too long.
    package static func readWhole(
        _ input: Input, mayBeEmpty: Bool = false, allowsLong: Bool = false
    ) throws -> Whole {
        let limit = Sotto.Sealed.recordLimit
        let bytes = try input.readAll(limit: Int(Blob.maximumFileSize))
        guard !bytes.isEmpty || mayBeEmpty else { throw Failure(.no, "the message is empty") }
        guard allowsLong || bytes.count <= limit else { throw SealedError.tooLong(limit: limit) }
        guard bytes.count <= limit else { return .long(file(bytes)) }
        let message = try content(ofWhole: bytes)
        if allowsLong, input.hasName, message.body["type"]?.string == "data" {
            return .long(.data(bytes))
        }
        let isLong = message.body.serialized().count > limit - otherMembers
        return allowsLong && isLong ? .long(file(bytes)) : .message(message)
    }

    private static func file(_ bytes: [UInt8]) -> Attachment.Content {
        String(validating: bytes, as: UTF8.self) == nil ? .data(bytes) : .text(bytes)
    }

    /// Reads all of stdin as text, without a byte order mark and one line end, or as data if it is not UTF-8.
    package static func content(ofWhole bytes: [UInt8]) throws -> MessageText {
        guard String(validating: bytes, as: UTF8.self) != nil else {
            return MessageText(body: Message.body(of: bytes), extra: [])
        }
        var text = bytes
        ByteOrderMark.remove(from: &text)
        if text.last == UInt8(ascii: "\n") {
            text.removeLast()
            if text.last == UInt8(ascii: "\r") { text.removeLast() }
        }
        return MessageText(body: Message.textBody(String(decoding: text, as: UTF8.self)), extra: [])
    }

    /// Reads a line: a record with a body or a text, or plain text.
    package static func content(ofLine bytes: [UInt8]) throws -> MessageText {
        guard bytes.first == UInt8(ascii: "{") else {
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw Failure(
                    .malformed, "the line is not UTF-8 text",
                    hint: "convert a file in another encoding: iconv -f UTF-16 -t UTF-8")
            }
            return MessageText(body: Message.textBody(text), extra: [])
        }
        let record = try JSON.object(parsing: bytes)
        let (to, group, ttl) = try route(of: record)
        let extra = Message.extra(of: record)
        try Message.checkExtra(extra)
        if let body = record["body"]?.object, body["type"]?.string != nil {
            _ = try MessageBody(body)
            return MessageText(
                body: body, extra: extra, to: to, group: group, ttl: ttl)
        }
        if let text = record["text"]?.string {
            var members = record
            members["text"] = nil
            return MessageText(
                body: Message.textBody(text), extra: Message.extra(of: members), to: to,
                group: group, ttl: ttl)
        }
        if let failure = Failure(errorRecord: record) { throw failure }
        throw Failure(
            .malformed, "the record has neither a body with a type nor a text",
            hint: #"a message line is {"text":"…"} or {"body":{"type":"text","text":"…"}}"#)
    }

    /// Returns the recipient, the group and the time to live of a record. Those of a message that was received or sent before, with
    /// `from` or `suite`, are not used: they belong to that message's own way.
    private static func route(
        of record: JSONObject
    ) throws(Failure) -> (to: String?, group: String?, ttl: Int64?) {
        guard record["from"] == nil, record["suite"] == nil else { return (nil, nil, nil) }
        let to = record["to"]?.string
        guard (record["to"] == nil) == (to == nil) else {
            throw Failure(.malformed, "the record's member to is not a text")
        }
        let group = record["group"]?.string
        guard (record["group"] == nil) == (group == nil) else {
            throw Failure(.malformed, "the record's member group is not a text")
        }
        let ttl = record["ttl"]?.integer
        guard (record["ttl"] == nil) == (ttl == nil),
            ttl.map({ (0...Envelope.maximumTTL).contains($0) }) ?? true
        else {
            throw Failure(
                .malformed, "the record's member ttl is not 0 to \(Envelope.maximumTTL) seconds")
        }
        return (to, group, ttl)
    }
}

extension Failure {
    /// The refusal of a secret in a message. `path` is the file with it, or `nil` for the text of a message.
    static func secret(_ secret: SecretContent, in path: String?) -> Failure {
        let what =
            switch secret {
            case .key(.identity): "an identity, with its secret keys"
            case .key(.secretKey): "a secret key"
            case .words: "recovery words, with which others become you"
            }
        return Failure(
            .usage, "\(path ?? "the message") is \(what): it is not sent",
            hint: "to send it all the same: --anyway")
    }
}
