/// A statement that messages were decrypted or read.
public struct Receipt: Sendable, Hashable {
    /// The event that the receipt reports.
    public let status: Status
    /// The ids of the messages, from 1 to ``BodyLimits/receiptIDs``, each once.
    public let ids: [String]
    /// The time of the last of these events.
    public let time: Timestamp
    /// The id of the group to which the messages were sent, 64 hexadecimal digits in lower case; `nil` for messages to one
    /// recipient.
    public let group: String?

    /// An event on the way of a message.
    public enum Status: String, Sendable {
        /// The recipient's program decrypted it.
        case delivered
        /// The recipient saw it.
        case read
    }

    /// Creates a receipt.
    public init(_ status: Status, ids: [String], time: Timestamp, group: String? = nil) {
        self.status = status
        self.ids = ids
        self.time = time
        self.group = group
    }

    init(_ reader: inout BodyReader) throws(BodyError) {
        status = try reader.require("status").text { Status(rawValue: $0) }
        let ids = try reader.list("ids", limit: BodyLimits.receiptIDs) {
            $0.string.flatMap { Envelope.isID($0) ? $0 : nil }
        }
        guard let ids, !ids.isEmpty else { throw reader.malformed("ids") }
        self.ids = ids
        time = try reader.require("time").time()
        group = try reader.take("group")?.text(Self.group)
    }

    /// Returns a text of 64 hexadecimal digits in lower case, or `nil`.
    private static func group(_ text: String) -> String? {
        guard let id = bytes(hex: text), id.count == 32, hex(id) == text else { return nil }
        return text
    }

    var members: [(String, JSON?)] {
        [
            ("status", .string(status.rawValue)), ("ids", .array(ids.map { .string($0) })),
            ("time", .string(time.description)),
            ("group", group.map { .string($0) }),
        ]
    }
}

/// A signal that sets up or ends a call. A call is between two people.
public struct CallSignal: Sendable, Hashable {
    /// The value of ``MessageBody``'s member `type`.
    public static let type = "call"
    /// The longest time to live of a signal at the relay, in seconds.
    public static let lifetime: Int64 = 60

    /// The id of the call: a UUID in lower case.
    public let call: String
    /// The kind of the signal.
    public let kind: Kind
    /// The media of the call.
    public let media: Media?
    /// The session description (RFC 8866), at most ``BodyLimits/sdp`` bytes. An offer and an answer have one.
    public let sdp: String?
    /// Candidates (RFC 8839 §5.1), at most ``BodyLimits/candidates``: texts, or objects of WebRTC.
    public let candidates: [JSON]
    /// The reason for the end.
    public let reason: Reason?

    /// The kind of a signal.
    public enum Kind: String, Sendable { case offer, answer, candidates, hangup, busy }
    /// The media of a call.
    public enum Media: String, Sendable { case audio, video }
    /// The reason for the end of a call.
    public enum Reason: String, Sendable, CaseIterable {
        case accepted, declined, busy, timeout, failed
    }

    /// Creates a signal. An offer and an answer need a session description, which tells the media; see ``media(of:)``.
    ///
    /// - Parameter call: A UUID in lower case.
    public init(
        _ kind: Kind, call: String, sdp: String? = nil, candidates: [JSON] = [],
        reason: Reason? = nil
    ) {
        self.call = call
        self.kind = kind
        self.media = sdp.flatMap(Self.media)
        self.sdp = sdp
        self.candidates = candidates
        self.reason = reason
    }

    /// Returns the media of a session description: video if it has a stream of it, or audio; `nil` without both (RFC 8866
    /// §5.14).
    public static func media(of sdp: String) -> Media? {
        let lines = sdp.split(whereSeparator: \.isNewline)
        func has(_ media: Media) -> Bool { lines.contains { $0.hasPrefix("m=\(media.rawValue) ") } }
        return has(.video) ? .video : has(.audio) ? .audio : nil
    }

    /// The body that the history keeps: it has no network addresses and no keys of the call. An offer and an answer keep an
    /// empty session description.
    public var kept: JSONObject {
        JSONObject([
            ("type", .string(Self.type)), ("call", .string(call)), ("kind", .string(kind.rawValue)),
            ("media", media.map { .string($0.rawValue) }), ("sdp", sdp.map { _ in .string("") }),
            ("reason", reason.map { .string($0.rawValue) }),
        ])
    }

    init(_ reader: inout BodyReader) throws(BodyError) {
        call = try reader.require("call").uuid()
        kind = try reader.require("kind").text { Kind(rawValue: $0) }
        media = try reader.take("media")?.text { Media(rawValue: $0) }
        sdp = try reader.text("sdp", limit: BodyLimits.sdp)
        let candidates = try reader.list("candidates", limit: BodyLimits.candidates) {
            ($0.string != nil || $0.object != nil)
                && $0.serialized().count <= BodyLimits.candidate ? $0 : nil
        }
        self.candidates = candidates ?? []
        reason = try reader.take("reason")?.text { Reason(rawValue: $0) }
        switch kind {
        case .offer, .answer: if sdp == nil { throw reader.malformed("sdp") }
        case .candidates: if self.candidates.isEmpty { throw reader.malformed("candidates") }
        case .hangup, .busy: break
        }
    }

    var members: [(String, JSON?)] {
        [
            ("call", .string(call)), ("kind", .string(kind.rawValue)),
            ("media", media.map { .string($0.rawValue) }), ("sdp", sdp.map { .string($0) }),
            ("candidates", candidates.isEmpty ? nil : .array(candidates)),
            ("reason", reason.map { .string($0.rawValue) }),
        ]
    }
}
