import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool

/// The records of a group in a backup: `group-log`, `group-settings` and `group-member`. sotto-formats(5), History backup.
extension GroupBackup {
    /// The most bytes of changes in a record; the last change can exceed it.
    private static let logBytes = 256 << 10

    /// Calls `body` with each record, in an order in which they can be read.
    func forEachRecord(_ body: (JSONObject) throws -> Void) throws {
        var changes: [JSON] = []
        var bytes = 0
        func writeLog() throws {
            guard !changes.isEmpty else { return }
            try body(record("group-log", [("changes", .array(changes))]))
            (changes, bytes) = ([], 0)
        }
        for change in self.changes {
            changes.append(.object(try JSON.object(parsing: change.bytes)))
            bytes += change.bytes.count
            if bytes >= Self.logBytes { try writeLog() }
        }
        try writeLog()
        if isDeclined || showsToNewcomers || room != nil {
            try body(
                record(
                    "group-settings",
                    [
                        ("declined", isDeclined ? .bool(true) : nil),
                        ("newcomers", showsToNewcomers ? .bool(true) : nil),
                        ("room", room.map { .object($0.keys.object) }),
                        ("roomSeq", room.map { .integer($0.seq) }),
                    ]))
        }
        for member in members { try body(record("group-member", member.members)) }
    }

    private func record(_ type: String, _ members: [(String, JSON?)]) -> JSONObject {
        JSONObject(
            [
                ("v", .integer(1)), ("type", .string(type)), ("group", .string(id.description)),
            ] + members)
    }

    /// Adds the content of a record to the group. Returns `nil`, or a failure of a change, whose place stays empty.
    mutating func add(_ record: JSONObject) throws -> Failure? {
        let fields = Fields<FieldError>(record)
        switch record["type"]?.string {
        case "group-log": return add(try fields["changes"].array())
        case "group-settings":
            isDeclined = try fields["declined"].optional?.bool() ?? false
            showsToNewcomers = try fields["newcomers"].optional?.bool() ?? false
            if let keys = try fields["room"].optional?.object() {
                room = Room(
                    keys: try RoomKeys(keys), seq: try fields["roomSeq"].integer(in: 0...Int64.max))
            }
        default: members.append(try Member(fields))
        }
        return nil
    }

    private mutating func add(_ records: [JSON]) -> Failure? {
        var failure: Failure?
        for record in records {
            do throws(GroupChangeError) {
                let change = try GroupChange(record.object ?? [:])
                guard change.group == id else { throw .member("group") }
                changes.append(change)
            } catch {
                failure = failure ?? Failure(core: error)
            }
        }
        return failure
    }
}

extension GroupBackup.Member {
    /// The members of the record `group-member`.
    fileprivate var members: [(String, JSON?)] {
        [
            ("id", .string(id.description)),
            ("card", card?.record.map { .object($0) }),
            ("granted", isGranted ? .bool(true) : nil),
            ("shown", hasHistory ? .bool(true) : nil),
            ("needsLog", needsLog ? .bool(true) : nil),
            ("readsAfter", unreadUntil.map { .string($0) }),
        ]
    }

    /// Reads ``members``. A card that is malformed or of another person is left out.
    fileprivate init(_ fields: Fields<FieldError>) throws {
        self.init(id: try fields["id"].keyID())
        if let record = try fields["card"].optional?.object(),
            let known = try? Card(record: record), known.id == id
        {
            card = known
        }
        isGranted = try fields["granted"].optional?.bool() ?? false
        hasHistory = try fields["shown"].optional?.bool() ?? false
        needsLog = try fields["needsLog"].optional?.bool() ?? false
        unreadUntil = try fields["readsAfter"].optional?.text { Envelope.isID($0) ? $0 : nil }
    }
}
