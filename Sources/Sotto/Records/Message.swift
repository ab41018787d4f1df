/// A decrypted message: the line of JSON that `decrypt` prints.
public struct Message: Sendable, Hashable {
    /// The trust in the sender's key.
    public enum Trust: String, Sendable {
        /// The signature is valid, but the key is not known.
        case unverified
        /// The key is that of a contact, or of a card that was given.
        case trusted
        /// The user has compared the key with its owner, by safety number or by scanning a code.
        case verified
    }

    /// The members that this version interprets, those of the history at the end. All others are passed through.
    private static let ownMembers = [
        "v", "type", "id", "from", "to", "name", "time", "ttl", "suite", "authenticated", "trust",
        "seen",
        "details", "legacy", "body", "number",
        "direction", "received", "status", "unread", "deleted", "damaged", "expired", "expires",
        "edited", "versions", "reactions", "pinned", "dropped", "receipts", "imported",
        "digest", "quotation", "group", "role", "place", "card", "fileExpired",
        "ringing", "device", "original", "list", "lacking", "invited",
    ]

    /// The id of the message: that of its envelope, or of the envelope for the first device if this is a copy for another one.
    public package(set) var id: String
    /// The sender, or `nil` if they are not authenticated.
    public package(set) var from: KeyID?
    /// The sender's device, if it is not the first one; see ``DeviceList``.
    public package(set) var device: KeyID?
    /// The mailbox that the message was sent to, if it is known.
    public package(set) var to: KeyID?
    /// The sender's name, from a card that was given.
    public var name: String?
    /// The time of creation, or `nil` if it is not authenticated.
    public let time: Timestamp?
    /// The envelope's time to live at the relay, in seconds, or `nil` for no limit.
    public let ttl: Int64?
    /// The suite or format that protected it.
    public let suite: SuiteName
    /// The reason to use the format only for exchange with its messenger, or `nil` for Sotto's own suites.
    public let legacy: String?
    /// Whether the suite authenticates the sender.
    public let authenticated: Bool
    /// The trust in the sender's key.
    public var trust: Trust
    /// Further values from the suite, such as a chat or a group. Its member `untrusted` has values that the suite does
    /// not authenticate.
    public var details: JSONObject?
    /// The content: an object with a `type`, such as `{"type":"text","text":…}`.
    public var body: JSONObject
    /// The id of the group that the message is for, 64 hexadecimal digits, or `nil`.
    public var group: String?
    /// The rank of the sender in the group, or `nil`.
    public var role: String?
    /// The card that the message carries for its reader, not verified; `nil` without one. It is not part of the record.
    public let card: JSONObject?
    /// The id of the message of which the envelope has a copy for a device, as its sender says; `nil` in another envelope. It is
    /// not part of the record.
    public let original: String?
    /// The number of the recipient's list of devices to which the sender wrote copies; `nil` if the sender knew none. It is not part
    /// of the record.
    public let list: Int64?
    /// The members that this version does not know.
    public let extra: [(name: String, value: JSON)]

    /// The record.
    public var record: JSONObject {
        var record = JSONObject([
            ("v", .integer(1)), ("type", .string("message")), ("id", .string(id)),
            ("from", from.map { .string($0.description) }), ("name", name.map { .string($0) }),
            ("to", to.map { .string($0.description) }),
            ("time", time.map { .string($0.description) }), ("ttl", ttl.map { .integer($0) }),
            ("suite", .string(suite.rawValue)),
            ("authenticated", .bool(authenticated)),
            ("legacy", legacy.map { .string($0) }),
            ("trust", .string(trust.rawValue)),
            ("details", details.map { .object($0) }), ("body", .object(body)),
            ("group", group.map { .string($0) }), ("role", role.map { .string($0) }),
            ("device", device.map { .string($0.description) }),
        ])
        for (name, value) in extra { record[name] = value }
        return record
    }

    /// Creates a message. Of `members`, `ttl` is used, and those that this version does not interpret are kept.
    public init(
        id: String, from: KeyID?, to: KeyID?, name: String? = nil, time: Timestamp?,
        suite: SuiteName, authenticated: Bool, trust: Trust = .unverified,
        details: JSONObject? = nil, legacy: String? = nil, body: JSONObject,
        members: JSONObject = JSONObject()
    ) {
        self.id = id
        self.from = from
        self.to = to
        self.name = name
        self.time = time
        ttl = members["ttl"]?.integer
        self.suite = suite
        self.legacy = legacy
        self.authenticated = authenticated
        self.trust = trust
        self.details = details
        self.body = body
        card = members["card"]?.object
        original = members["original"]?.string
        list = members["list"]?.integer
        extra = Self.extra(of: members)
    }

    /// Reads a message record, or returns `nil` if it is malformed.
    public init?(record: JSONObject) {
        guard record["type"]?.string == "message" else { return nil }
        let fields = Fields<FieldError>(record)
        do throws(FieldError) {
            self.init(
                id: try fields["id"].text(), from: try fields["from"].optional?.keyID(),
                to: try fields["to"].optional?.keyID(), name: record["name"]?.string,
                time: try fields["time"].optional?.time(),
                suite: SuiteName(rawValue: try fields["suite"].text()),
                authenticated: try fields["authenticated"].bool(),
                trust: try fields["trust"].text { Trust(rawValue: $0) },
                details: record["details"]?.object, legacy: record["legacy"]?.string,
                body: try fields["body"].object(), members: record)
        } catch {
            return nil
        }
        group = record["group"]?.string
        role = record["role"]?.string
        device = record["device"]?.string.flatMap { KeyID($0) }
    }

    /// Returns the members of a record that are passed through unchanged.
    public static func extra(of members: JSONObject) -> [(name: String, value: JSON)] {
        members.members.filter { member in
            !ownMembers.contains { $0.isSameBytes(as: member.name) }
        }
    }

    /// Returns the body of a text.
    public static func textBody(_ text: String) -> JSONObject {
        ["type": .string("text"), "text": .string(text)]
    }

    /// Returns the body for bytes: a text if they are UTF-8, else data.
    public static func body(of bytes: [UInt8]) -> JSONObject {
        String(validating: bytes, as: UTF8.self).map { textBody($0) } ?? [
            "type": .string("data"), "data": .base64(bytes),
        ]
    }

    /// Whether both messages have the same record.
    public static func == (a: Message, b: Message) -> Bool { a.record == b.record }

    /// Hashes the record.
    public func hash(into hasher: inout Hasher) { hasher.combine(record) }
}
