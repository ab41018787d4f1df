import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool

/// A backup: records of the contacts, the profiles, the conversations, the groups and all messages, one on each line, signed by the identity and
/// encrypted as an age file. It has the keys of the stored chats, and no sessions and no chains of groups.
///
/// sotto-formats(5), HISTORY BACKUP.
struct Backup {
    private let history: OpenHistory
    /// The number of messages that were written.
    private(set) var messages = 0
    /// The groups that cannot be read, and are not in the backup.
    private(set) var unreadable: [UnreadableGroup] = []

    init(_ history: OpenHistory) { self.history = history }

    /// Writes the backup, encrypted with a passphrase if its source is given, or for a device. With `since`, earlier messages are left
    /// out.
    mutating func write(
        passphrase: SecretSource?, for device: DeviceList.Device? = nil, since: Timestamp? = nil,
        to output: Output
    ) throws {
        let identity = history.store.owner
        let reader = device?.id ?? identity.device
        let signed = try SignedStreamWriter(
            by: identity.signingKey,
            audience: SignedStream.backupAudience(of: reader.description),
            to: device.map {
                try AgeFile.writer(for: .recipients([$0.card.recipient()]), to: output)
            }
                ?? AgeFile.backupWriter(of: identity, passphrase: passphrase, to: output))
        let lines = Lines(signed)
        let store = history.store
        try lines.write([
            "v": .integer(1), "type": .string("history-backup"),
            "id": .string(reader.description),
            "time": .string(Timestamp.now().description),
        ])
        if let list = try store.preview({ try $0.devices(of: identity.id) }) {
            try lines.write(list.record)
        }
        for contact in try store.contacts() { try lines.write(contact.record) }
        for (id, profile) in try store.profiles() {
            try lines.write(ProfileRecord(id: id, profile).record)
        }
        for chat in try store.chats() { try lines.write(chat) }
        var read: [Conversation: HistoryPlace] = [:]
        for summary in try store.conversations() {
            read[summary.conversation] = summary.readPlace
            try lines.write(Self.record(summary))
        }
        for retention in try store.retentions() { try lines.write(retention.record(name: nil)) }
        for reader in try store.readers() { try lines.write(reader.record) }
        unreadable = try store.backUpGroups { try $0.forEachRecord(lines.write) }
        var last: Int64 = 0
        while true {
            let rows = try store.backupRows(after: last, limit: ViewBlocks.size)
            guard let end = rows.last else { break }
            last = end.number
            for (_, row) in rows {
                switch row {
                case .message(let entry, _)
                where since.map { entry.written.seconds < $0.seconds } == true:
                    continue
                case .message(let entry, let digest):
                    let isUnread =
                        entry.direction == .received && entry.kind == .content
                        && entry.place > read[entry.conversation] ?? .start
                    try lines.write(entry.backup(digest: digest, isUnread: isUnread))
                    messages += 1
                case .tombstone(let tombstone): try lines.write(tombstone.record)
                }
            }
        }
        try lines.finish()
    }

    /// The failure to report after the backup is complete, or `nil`.
    var failure: Failure? {
        guard let first = unreadable.first else { return nil }
        let name = first.name.isEmpty ? first.id?.short ?? "" : first.name
        return Failure(
            .ioError,
            "the group \(name) cannot be read and is not in the backup: its changes are damaged",
            hint: "the backup is complete without it; an earlier backup can restore it")
    }

    private static func record(_ summary: ConversationSummary) -> JSONObject {
        var record: JSONObject = ["v": .integer(1), "type": .string("conversation-settings")]
        record.name(summary.conversation)
        for (name, value) in summary.settings.members { record[name] = value }
        return record
    }

    /// Writes records to a sink in large blocks.
    private final class Lines {
        private let sink: any ByteSink
        private var buffer: [UInt8] = []

        init(_ sink: any ByteSink) { self.sink = sink }

        func write(_ record: JSONObject) throws {
            buffer += record.serialized()
            buffer.append(UInt8(ascii: "\n"))
            if buffer.count >= 64 << 10 { try flush() }
        }

        private func flush() throws {
            try buffer.withUnsafeBytes { try sink.write($0) }
            buffer.removeAll(keepingCapacity: true)
        }

        func finish() throws {
            try flush()
            try sink.finish()
        }
    }
}

extension JSONObject {
    /// Adds the members that name a conversation.
    mutating func name(_ conversation: Conversation) {
        switch conversation {
        case .peer(let peer): self["with"] = .string(peer.description)
        case .chat(let id): self["chat"] = .string(id)
        case .group(let id): self["group"] = .string(id.description)
        case .unknown: break
        }
    }

    /// Returns the conversation that the members `with` and `chat` name.
    func conversation() throws(FieldError) -> Conversation {
        let fields = Fields<FieldError>(self)
        if let peer = try fields["with"].optional?.keyID() { return .peer(peer) }
        if let group = try fields["group"].optional?.text({ GroupID($0) }) { return .group(group) }
        guard let chat = fields["chat"].optional else { return .unknown }
        return .chat(try chat.text())
    }
}

extension IdentityStore.Retention {
    /// The record `retention`.
    func record(name: String?) -> JSONObject {
        var record: JSONObject = ["v": .integer(1), "type": .string("retention")]
        if let conversation { record.name(conversation) }
        record["name"] = name.map { .string($0) }
        record["seconds"] = seconds.map { .integer($0) }
        return record
    }
}

extension IdentityStore.Reader {
    /// The record `reader`.
    var record: JSONObject {
        [
            "v": .integer(1), "type": .string("reader"), "name": .string(name),
            "acknowledged": .integer(acknowledged),
        ]
    }
}

extension HistoryEntry.Direction {
    /// The member `direction`.
    var name: String { self == .sent ? "sent" : "received" }

    /// Returns the direction with this ``name``.
    init?(name: String) {
        switch name {
        case "sent": self = .sent
        case "received": self = .received
        default: return nil
        }
    }
}

extension HistoryEntry {
    /// When the message was written or received, the later of both.
    fileprivate var written: Timestamp {
        let written = record["time"]?.string.flatMap { Timestamp($0) }
        return Timestamp(seconds: max(written?.seconds ?? 0, received?.seconds ?? 0))
    }

    /// Returns the stored record with what the state knows of the message.
    fileprivate func backup(digest: [UInt8], isUnread: Bool) -> JSONObject {
        var record = record
        record["number"] = .integer(number)
        record["direction"] = .string(direction.name)
        record["received"] = received.map { .string($0.description) }
        record["place"] = otherPlace.map { .string($0.description) }
        record["expires"] = expires.map { .string($0.description) }
        record["status"] = state.status.map { .string($0) }
        record["unread"] = isUnread ? .bool(true) : nil
        record["digest"] = digest.allSatisfy { $0 == 0 } ? nil : .string(hex(digest))
        return record
    }
}

extension Tombstone {
    /// The kinds by their names in a backup.
    static let kinds: [(kind: HistoryEntry.Kind, name: String)] = [
        (.content, "content"), (.event, "event"), (.pin, "pin"), (.copy, "copy"),
    ]

    /// The record `tombstone`.
    fileprivate var record: JSONObject {
        var record: JSONObject = ["v": .integer(1), "type": .string("tombstone")]
        record.name(conversation)
        record["mark"] = .string(hex(UInt64(bitPattern: mark).bigEndianBytes))
        record["number"] = .integer(number)
        record["direction"] = .string(direction.name)
        record["kind"] = Self.kinds.first { $0.kind == kind }.map { .string($0.name) }
        record["state"] = state.goneName.map { .string($0) }
        record["received"] = received.map { .string($0.description) }
        record["place"] = place.map { .string($0.description) }
        record["from"] = author.map { .string($0.description) }
        return record
    }
}
