import Sotto
import SottoState
import SottoTool

/// A message record of a backup or an export.
struct ImportedRecord {
    private let record: JSONObject
    private let fields: Fields<FieldError>
    private let owner: KeyID

    init(_ record: JSONObject, owner: KeyID) {
        self.record = record
        fields = Fields(record)
        self.owner = owner
    }

    /// The maximum length of an id in bytes.
    private static let idLimit = 128
    /// The length of a digest in bytes.
    private static let digestLength = 16
    /// The members that are not part of the stored record.
    private static let added = [
        "number", "direction", "received", "place", "expires", "status", "unread", "digest",
    ]

    /// Reads a message of the owner's backup: its record is stored as it is.
    func own() throws -> ImportedMessage {
        var stored = record
        for name in Self.added { stored[name] = nil }
        let digest = try fields["digest"].optional?.text { text in
            bytes(hex: text).flatMap { $0.count == Self.digestLength ? $0 : nil }
        }
        return try message(stored, digest: digest ?? [], isLocal: true)
    }

    /// Reads a message of another origin. Its author is a claim, so only what a user reads is taken over.
    func claimed() throws -> ImportedMessage {
        let from = try fields["from"].optional?.keyID()
        let to = try fields["to"].optional?.keyID()
        let chat = record["details"]?.object?["chat"]?.object
        let group = try fields["group"].optional?.text { GroupID($0) }
        let isSent = try direction(from: from) == .sent
        guard isSent || to == nil || to == owner || chat != nil || group != nil else {
            throw Failure(
                .untrusted, "the message was neither sent nor received by this identity",
                hint: "name the identity of the export with -i")
        }
        let name = record["name"]?.string.flatMap { name in
            name.utf8.count <= Contact.nameLimit
                && !name.unicodeScalars.contains(where: \.isInvisible) ? name : nil
        }
        let nickname = record["details"]?.object?["group"]?.object?["nickname"]?.string
        let groupDetails: JSONObject? = nickname.flatMap { nickname in
            nickname.utf8.count <= Self.idLimit
                && !nickname.unicodeScalars.contains(where: \.isInvisible)
                ? ["group": .object(["nickname": .string(nickname)])] : nil
        }
        let chatDetails: JSONObject? = chat.map { chat in
            [
                "chat": .object(
                    JSONObject(
                        [("id", chat["id"]), ("name", chat["name"])].filter {
                            $0.1?.string.map { $0.utf8.count <= Self.idLimit } ?? false
                        }))
            ]
        }
        let details = group == nil ? chatDetails : groupDetails
        let stored = JSONObject([
            ("v", .integer(1)), ("type", .string("message")), ("id", record["id"]),
            ("group", group.map { .string($0.description) }),
            ("from", from.map { .string($0.description) }), ("name", name.map { .string($0) }),
            ("to", to.map { .string($0.description) }),
            ("time", (try fields["time"].optional?.time()).map { .string($0.description) }),
            ("suite", .string("imported")), ("authenticated", .bool(false)),
            ("trust", .string(Message.Trust.unverified.rawValue)),
            ("details", details.map { .object($0) }), ("body", record["body"]),
            ("imported", .bool(true)),
        ])
        return try message(stored, digest: [], isLocal: false)
    }

    private func message(
        _ stored: JSONObject, digest: [UInt8], isLocal: Bool
    ) throws -> ImportedMessage {
        _ = try fields["id"].text { id in
            (1...Self.idLimit).contains(id.utf8.count)
                && !id.unicodeScalars.contains(where: \.isInvisible) ? id : nil
        }
        let body = try fields["body"].object()
        _ = try MessageBody(body, isLocal: isLocal)
        try Message.checkExtra(Message.extra(of: stored))
        let from = try fields["from"].optional?.keyID()
        let direction = try direction(from: from)
        if direction == .sent, from != nil, from != owner {
            throw Failure(
                .untrusted, "the message is marked as sent, but not from this identity",
                hint: "name the identity of the export with -i")
        }
        let status = record["status"]?.string.flatMap { HistoryEntry.State(backupStatus: $0) }
        let received = try fields["received"].optional?.time()
        return ImportedMessage(
            record: stored, direction: direction, state: direction == .sent ? status ?? .new : .new,
            received: try received ?? (isLocal ? nil : fields["time"].optional?.time()),
            place: try fields["place"].optional?.time(),
            expires: try fields["expires"].optional?.time(),
            isUnread: isLocal && record["unread"] == .bool(true),
            number: record["number"]?.integer ?? 0, digest: digest)
    }

    private func direction(from: KeyID?) throws -> HistoryEntry.Direction {
        // The output of decrypt has no direction.
        try fields["direction"].optional?.text { HistoryEntry.Direction(name: $0) }
            ?? (from == owner ? .sent : .received)
    }
}

extension Tombstone {
    /// Reads the record `tombstone`.
    init(_ record: JSONObject) throws {
        let fields = Fields<FieldError>(record)
        let mark = try fields["mark"].text { text in
            bytes(hex: text).flatMap { UInt64(bigEndianBytes: $0) }
        }
        let tombstone = Tombstone(
            mark: Int64(bitPattern: mark), number: record["number"]?.integer ?? 0,
            conversation: try record.conversation(),
            direction: try fields["direction"].text { HistoryEntry.Direction(name: $0) },
            kind: try fields["kind"].text { name in
                Self.kinds.first { $0.name == name }?.kind
            },
            state: try fields["state"].text { HistoryEntry.State(goneName: $0) },
            received: try fields["received"].optional?.time(),
            place: try fields["place"].optional?.time(),
            author: try fields["from"].optional?.text { KeyID($0) })
        guard let tombstone else { throw fields["state"].failure }
        self = tombstone
    }
}
