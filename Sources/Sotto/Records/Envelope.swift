/// Why a record is not an envelope.
public enum EnvelopeError: Error, Sendable, Equatable {
    /// A member is missing, or not of its form.
    case member(String)
    /// The record is of a later version.
    case version(Int64)
    /// A suite that this version does not have.
    case suite(String)
}

/// An encrypted message on its way, one line of JSON. Everything in it but `payload` is for the carrier,
/// and is believed only after it has been compared with what the payload authenticates.
public struct Envelope: Sendable, Hashable {
    /// A lower-case UUID.
    public let id: String
    /// How the payload is protected.
    public let suite: Suite
    /// Whose mailbox it is for; absent where it is nobody's, as with a message of a chat that no relay carries.
    public let to: SessionID?
    /// Who says to have sent it. Absent with `sealed`, so that the relay does not learn it; with `ratchet` it
    /// finds the session.
    public let from: SessionID?
    /// When it was made.
    public let time: Timestamp
    /// What the suite made.
    public let payload: JSONObject
    /// What it stands for if not for an envelope of ours; not written.
    var stand: Stand?

    /// A messenger's own record or file, whose text need not be a record of ours.
    enum Stand {
        /// A record with an id and a time.
        case record
        /// A file without either: those of the text are taken.
        case file
    }

    /// An envelope of these parts.
    public init(
        id: String, suite: Suite, to: SessionID?, from: SessionID? = nil, time: Timestamp,
        payload: JSONObject
    ) {
        self.id = id
        self.suite = suite
        self.to = to
        self.from = from
        self.time = time
        self.payload = payload
    }

    /// The record.
    public var record: JSONObject {
        JSONObject([
            ("v", .integer(1)), ("type", .string("envelope")), ("id", .string(id)),
            ("suite", .string(suite.rawValue)),
            ("to", to.map { .string($0.description) }),
            ("from", from.map { .string($0.description) }), ("time", .string(time.description)),
            ("payload", .object(payload)),
        ])
    }

    /// Whether it stands for a messenger's own record or file, and is not what came in.
    public var isForeign: Bool { stand != nil }

    /// SHA-256 over what is authenticated or has a meaning: the envelope without members that this version
    /// does not know, which anybody on the way may have added; of a suite that does not bind its envelope, the payload
    /// alone.
    ///
    /// Of a file, which has no time, the time is left out: it is that of the reading, and differs each time.
    public var digest: [UInt8] {
        // Each part with its length before it, so that no two envelopes are the same bytes.
        var bytes: [UInt8] = []
        func add(_ part: [UInt8]) {
            bytes += UInt32(part.count).bigEndianBytes
            bytes += part
        }
        let outer =
            suite.traits.bindsEnvelope
            ? [
                id, suite.rawValue, to?.description ?? "", from?.description ?? "",
                stand == .file ? "" : time.description,
            ]
            : [suite.rawValue]
        for text in outer { add(Array(text.utf8)) }
        for name in suite.traits.payloadMembers {
            add(payload[name].map { $0.string.map { Array($0.utf8) } ?? $0.canonical() } ?? [])
        }
        return sha256(bytes)
    }

    /// What a message has in common with its repeats: the envelope's id, or what its suite has in place of one.
    public var repeatID: String { suite.messageSuite?.repeatID(of: self) ?? id }

    /// Reads an envelope record.
    public init(record: JSONObject) throws(EnvelopeError) {
        guard record["type"]?.string == "envelope" else { throw .member("type") }
        guard let version = record["v"]?.integer else { throw .member("v") }
        guard version == 1 else { throw .version(version) }
        guard let id = record["id"]?.string, Self.isID(id) else { throw .member("id") }
        guard let name = record["suite"]?.string else { throw .member("suite") }
        guard let suite = Suite(rawValue: name) else { throw .suite(name) }
        let to = record["to"]?.string.flatMap { SessionID($0) }
        guard to != nil || record["to"] == nil && suite.traits.isOfChat else { throw .member("to") }
        let from = record["from"]?.string.flatMap { SessionID($0) }
        guard record["from"] == nil || from != nil else { throw .member("from") }
        guard let time = record["time"]?.string.flatMap({ Timestamp($0) }) else {
            throw .member("time")
        }
        guard let payload = record["payload"]?.object else { throw .member("payload") }
        self.init(id: id, suite: suite, to: to, from: from, time: time, payload: payload)
    }

    /// A fresh id: a random UUID (RFC 9562 §5.4) in lower case.
    public static func newID() -> String { uuid(randomBytes(16)) }

    /// An id for a record that has none: it comes from what is encrypted in it, and so is the same each time.
    static func id(of bytes: [UInt8]) -> String { uuid(Array(sha256(bytes)[..<16])) }

    private static func uuid(_ bytes: [UInt8]) -> String {
        var bytes = bytes
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        let digits = hex(bytes)
        var text = ""
        for (index, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(index) { text += "-" }
            text.append(digit)
        }
        return text
    }

    /// Whether `text` has the form of an id: 36 characters, lower-case hexadecimal with hyphens at the
    /// places of a UUID.
    public static func isID(_ text: String) -> Bool {
        let characters = Array(text.utf8)
        guard characters.count == 36 else { return false }
        return characters.enumerated().allSatisfy { index, character in
            [8, 13, 18, 23].contains(index)
                ? character == UInt8(ascii: "-")
                : (0x30...0x39).contains(character) || (0x61...0x66).contains(character)
        }
    }
}
