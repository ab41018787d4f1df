/// The members that every content may have.
public struct ContentMembers: Sendable, Hashable {
    /// The message that this one replies to.
    public var reply: Reply?
    /// The ids of the people who are mentioned, at most ``BodyLimits/mentions``.
    public var mentions: [KeyID]
    /// The origin of a forwarded message.
    public var forwarded: Forwarded?
    /// The time after which the message is deleted.
    public var expires: Expiry?

    /// A reference to an earlier message.
    public struct Reply: Sendable, Hashable {
        /// The earlier message.
        public let target: MessageTarget
        /// The earlier message's text as the writer claims it, at most ``BodyLimits/quotation`` bytes.
        public let text: String?

        /// Creates a reply.
        public init(_ target: MessageTarget, text: String? = nil) {
            self.target = target
            self.text = text
        }
    }

    /// The origin of a forwarded message, as its writer claims it.
    public struct Forwarded: Sendable, Hashable {
        /// The first author.
        public let from: KeyID?
        /// The time of the first message.
        public let time: Timestamp?

        /// Creates an origin.
        public init(from: KeyID? = nil, time: Timestamp? = nil) {
            self.from = from
            self.time = time
        }
    }

    /// The lifetime of a message.
    public struct Expiry: Sendable, Hashable {
        /// The lifetime in seconds, from 1 to ``BodyLimits/timer``.
        public let after: Int64
        /// The beginning of the lifetime.
        public let start: Start

        /// The beginning of a lifetime.
        public enum Start: String, Sendable { case sent, read }

        /// Creates a lifetime.
        public init(after: Int64, from start: Start) {
            self.after = after
            self.start = start
        }
    }

    /// Creates the members.
    public init(
        reply: Reply? = nil, mentions: [KeyID] = [], forwarded: Forwarded? = nil,
        expires: Expiry? = nil
    ) {
        self.reply = reply
        self.mentions = mentions
        self.forwarded = forwarded
        self.expires = expires
    }

    init(_ reader: inout BodyReader) throws(BodyError) {
        reply = try reader.object("reply") { reader throws(BodyError) in
            Reply(
                try MessageTarget(&reader),
                text: try reader.text("text", limit: BodyLimits.quotation))
        }
        mentions =
            try reader.list("mentions", limit: BodyLimits.mentions) {
                $0.string.flatMap { KeyID($0) }
            } ?? []
        forwarded = try reader.object("forwarded") { reader throws(BodyError) in
            Forwarded(
                from: try reader.take("from")?.keyID(), time: try reader.take("time")?.time())
        }
        expires = try reader.object("expires") { reader throws(BodyError) in
            Expiry(
                after: try reader.require("after").integer(in: 1...BodyLimits.timer),
                from: try reader.require("from").text { Expiry.Start(rawValue: $0) })
        }
    }

    var members: [(String, JSON?)] {
        [
            (
                "reply",
                reply.map { reply in
                    var record = reply.target.record
                    record["text"] = reply.text.map { .string($0) }
                    return .object(record)
                }
            ),
            (
                "mentions",
                mentions.isEmpty ? nil : .array(mentions.map { .string($0.description) })
            ),
            (
                "forwarded",
                forwarded.map {
                    .object(
                        JSONObject([
                            ("from", $0.from.map { .string($0.description) }),
                            ("time", $0.time.map { .string($0.description) }),
                        ]))
                }
            ),
            (
                "expires",
                expires.map {
                    .object(["after": .integer($0.after), "from": .string($0.start.rawValue)])
                }
            ),
        ]
    }
}
