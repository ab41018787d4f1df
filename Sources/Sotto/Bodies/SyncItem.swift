/// A reason to refuse an item of a body `sync`.
public enum SyncError: UnversionedRecordError, Equatable {
    /// A member is missing or malformed.
    case member(String)
}

/// A change that one device of a person tells the others, in the body
/// `{"type":"sync","items":[{"counter","device","kind",…}]}`. sotto-formats(5), DEVICES.
///
/// All devices must agree in the end, in whatever order items arrive. Messages, read marks and deletions only accumulate. Of
/// two items with one ``subject`` the later one counts, see ``wins(over:)``.
public struct SyncItem: Sendable, Hashable {
    /// A setting of a conversation.
    public enum Setting: Sendable, Hashable {
        case favourite(Bool)
        case muted(Bool)
        /// The owner's name for the conversation, or `nil` for none.
        case name(String?)
    }

    /// A decision about a contact.
    public enum Decision: Sendable, Hashable {
        /// The contact is in the address book under this name. It is empty for one that is only blocked.
        case name(String)
        /// The contact was removed.
        case removed
        /// The trust in the signing key, which is the contact's id, and in the encryption key that was known, or `nil`.
        case trust(Message.Trust, key: String?)
        case blocked(Bool)
        /// The keys of a signed card were accepted for the contact with a former id, which is the same one if only the encryption
        /// keys are new.
        case replaces(KeyID, card: JSONObject)
        /// The contact's signed card.
        case card(JSONObject)
    }

    /// The change.
    public enum Change: Sendable, Hashable {
        /// A message that was sent or received on another device, as the record of its history, with the time at which it was
        /// stored there.
        case message(JSONObject, isSent: Bool, received: Timestamp)
        /// A message that was written on a device of a private list, as the record of its history, with the time at which it was
        /// stored there. The first device sends it.
        case unsent(JSONObject, received: Timestamp)
        /// Messages of a conversation, by their ids, were read at a time.
        case read(JSONObject, ids: [String], Timestamp)
        /// Messages of a conversation were deleted by their owner.
        case delete(JSONObject, ids: [String])
        case conversation(JSONObject, Setting)
        case contact(KeyID, Decision)
        /// The signed record of a revocation or a succession, which proves itself.
        case news(JSONObject)
    }

    /// The time of the change in milliseconds since 1970, or one more than the greatest counter that the device had seen if that is
    /// greater; at most ``greatestCounter``. So what was decided later counts, also on a device that saw no item yet, and a wrong
    /// clock puts no decision before one that its device had seen.
    public let counter: Int64
    /// The device that made the change.
    public let device: KeyID
    /// The change.
    public let change: Change

    /// The greatest counter. Later changes have the same one, so that a device with a wrong counter stops no other.
    public static let greatestCounter: Int64 = JSON.largestSafeInteger
    /// The most ids in an item.
    public static let mostIDs = 200
    /// The most items in a body.
    public static let mostItems = 512

    /// Creates an item.
    public init(counter: Int64, device: KeyID, _ change: Change) {
        (self.counter, self.device, self.change) = (counter, device, change)
    }

    /// Whether a device gets the item that cannot be trusted with decisions yet: new mail, read marks, names, cards, revocations and
    /// successions.
    public var isForNewDevices: Bool {
        switch change {
        case .message, .unsent, .read, .news, .contact(_, .name), .contact(_, .card): true
        case .delete, .conversation, .contact: false
        }
    }

    /// The subject of the item, if a later item about the same takes its place; `nil` for one that accumulates.
    public var subject: String? {
        switch change {
        case .message, .unsent, .read, .delete, .news: nil
        case .conversation(let conversation, let setting):
            "conversation \(setting.name) "
                + String(decoding: JSON.object(conversation).canonical(), as: UTF8.self)
        case .contact(let id, let decision): Self.subject(decision.subject, of: id)
        }
    }

    /// Returns the ``subject`` of the items with a kind of decision about a contact: `name`, `card`, `trust`, `blocked` or
    /// `replaces`.
    package static func subject(_ decision: String, of contact: KeyID) -> String {
        ["contact", decision, contact.description].joined(separator: " ")
    }

    /// Whether it counts in place of another item with the same ``subject``, whichever arrives first: the greater counter does.
    /// Items with one counter were made at the same time, without knowledge of each other. Of these a removal counts before an edit, a block before
    /// its end, and lower trust before higher; else the smaller id of the device does.
    public func wins(over other: SyncItem) -> Bool {
        if counter != other.counter { return counter > other.counter }
        if caution != other.caution { return caution > other.caution }
        let (own, others) = (device.description, other.device.description)
        if own != others { return own < others }
        return JSON.object(record).canonical().lexicographicallyPrecedes(
            JSON.object(other.record).canonical())
    }

    /// The rank of the item among concurrent ones.
    private var caution: Int {
        switch change {
        case .contact(_, .removed), .contact(_, .blocked(true)): 1
        case .contact(_, .trust(let trust, _)):
            switch trust {
            case .verified: 0
            case .trusted: 1
            case .unverified: 2
            }
        default: 0
        }
    }
}

extension SyncItem.Setting {
    fileprivate var name: String {
        switch self {
        case .favourite: "favourite"
        case .muted: "muted"
        case .name: "name"
        }
    }
}

extension SyncItem.Decision {
    /// The part of a contact that the decision is about. A removal is about the entry, as the name is.
    fileprivate var subject: String {
        switch self {
        case .name, .removed: "name"
        case .trust: "trust"
        case .blocked: "blocked"
        case .replaces: "replaces"
        case .card: "card"
        }
    }
}

extension SyncItem {
    /// The record of the item.
    public var record: JSONObject {
        let kind: String
        let members: [(String, JSON?)]
        switch change {
        case .message(let message, let isSent, let received):
            kind = "message"
            members = [
                ("sent", .bool(isSent)), ("received", .string(received.description)),
                ("message", .object(message)),
            ]
        case .unsent(let message, let received):
            kind = "unsent"
            members = [
                ("received", .string(received.description)), ("message", .object(message)),
            ]
        case .read(let conversation, let ids, let time):
            kind = "read"
            members = [
                ("conversation", .object(conversation)), ("ids", .array(ids.map { .string($0) })),
                ("time", .string(time.description)),
            ]
        case .delete(let conversation, let ids):
            kind = "delete"
            members = [
                ("conversation", .object(conversation)), ("ids", .array(ids.map { .string($0) })),
            ]
        case .conversation(let conversation, let setting):
            kind = "conversation"
            let value: JSON =
                switch setting {
                case .favourite(let value), .muted(let value): .bool(value)
                case .name(let name): name.map { .string($0) } ?? .null
                }
            members = [("conversation", .object(conversation)), (setting.name, value)]
        case .contact(let id, let decision):
            kind = "contact"
            var decided: [(String, JSON?)]
            switch decision {
            case .name(let name): decided = [("name", .string(name))]
            case .removed: decided = [("removed", .bool(true))]
            case .trust(let trust, let key):
                decided = [
                    ("trust", .string(trust.rawValue)), ("age", key.map { .string($0) }),
                ]
            case .blocked(let value): decided = [("blocked", .bool(value))]
            case .replaces(let former, let card):
                decided = [("replaces", .string(former.description)), ("card", .object(card))]
            case .card(let card): decided = [("card", .object(card))]
            }
            decided.insert(("id", .string(id.description)), at: 0)
            members = decided
        case .news(let record):
            kind = "news"
            members = [("news", .object(record))]
        }
        return JSONObject(
            [
                ("counter", .integer(counter)), ("device", .string(device.description)),
                ("kind", .string(kind)),
            ] + members)
    }

    /// Reads an item. Returns `nil` for a kind, or a change, that this version does not know.
    public init?(record: JSONObject) throws(SyncError) {
        let fields = Fields<SyncError>(record)
        counter = try fields["counter"].integer(in: 1...Self.greatestCounter)
        device = try fields["device"].keyID()
        switch try fields["kind"].text() {
        case "message":
            change = .message(
                try fields["message"].object(), isSent: try fields["sent"].bool(),
                received: try fields["received"].time())
        case "unsent":
            change = .unsent(
                try fields["message"].object(), received: try fields["received"].time())
        case "read":
            change = .read(
                try Self.conversation(fields), ids: try Self.ids(fields),
                try fields["time"].time())
        case "delete":
            change = .delete(try Self.conversation(fields), ids: try Self.ids(fields))
        case "conversation":
            guard let setting = try Self.setting(fields) else { return nil }
            change = .conversation(try Self.conversation(fields), setting)
        case "contact":
            guard let decision = try Self.decision(fields) else { return nil }
            change = .contact(try fields["id"].keyID(), decision)
        case "news": change = .news(try fields["news"].object())
        default: return nil
        }
    }

    private static func conversation(_ fields: Fields<SyncError>) throws(SyncError) -> JSONObject {
        let members = try fields["conversation"].object()
        guard members.members.count == 1, members.members[0].value.string?.isEmpty == false else {
            throw .member("conversation")
        }
        return members
    }

    private static func ids(_ fields: Fields<SyncError>) throws(SyncError) -> [String] {
        try fields["ids"].list(counts: 1...mostIDs) { (field) throws(SyncError) in
            try field.text { Envelope.isID($0) ? $0 : nil }
        }
    }

    private static func setting(_ fields: Fields<SyncError>) throws(SyncError) -> Setting? {
        if let field = fields["favourite"].optional { return .favourite(try field.bool()) }
        if let field = fields["muted"].optional { return .muted(try field.bool()) }
        guard let field = fields["name"].optional else { return nil }
        return .name(try field.nullable?.text())
    }

    private static func decision(_ fields: Fields<SyncError>) throws(SyncError) -> Decision? {
        if let field = fields["name"].optional { return .name(try field.text()) }
        if let field = fields["removed"].optional {
            guard try field.bool() else { throw .member("removed") }
            return .removed
        }
        if let field = fields["trust"].optional {
            return .trust(
                try field.text { Message.Trust(rawValue: $0) },
                key: try fields["age"].optional?.text())
        }
        if let field = fields["blocked"].optional { return .blocked(try field.bool()) }
        if let field = fields["replaces"].optional {
            return .replaces(try field.keyID(), card: try fields["card"].object())
        }
        guard let field = fields["card"].optional else { return nil }
        return .card(try field.object())
    }
}

/// The body `sync`, with which the devices of a person tell each other what changed.
public enum SyncBody {
    /// The value of the member `type`.
    public static let type = MessageBody.Other.sync.rawValue

    /// Returns the body with the records of items.
    public static func body(_ items: [JSONObject]) -> JSONObject {
        ["type": .string(type), "items": .array(items.map { .object($0) })]
    }

    /// Reads the items of a body, each on its own: an item is `nil` if this version does not know its kind.
    ///
    /// Throws ``SyncError`` without a list of at most ``SyncItem/mostItems``.
    public static func items(
        of body: JSONObject
    ) throws(SyncError) -> [Result<SyncItem?, SyncError>] {
        guard let items = body["items"]?.array, items.count <= SyncItem.mostItems else {
            throw .member("items")
        }
        return items.map { item in
            guard let record = item.object else { return .failure(.member("items")) }
            do throws(SyncError) {
                return .success(try SyncItem(record: record))
            } catch {
                return .failure(error)
            }
        }
    }
}
