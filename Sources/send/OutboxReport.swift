import Glibc
import Sotto
import SottoClient
import SottoState
import SottoTool
import SottoWire

/// `send --list` and `send --drop`: shows and deletes waiting items of the outbox.
struct OutboxReport {
    private let directory: StateDirectory
    private let outbox: Outbox

    /// Opens the outbox. `lockTimeout` is the number of seconds to wait for another process that uses it.
    init(lockTimeout: Double) throws {
        directory = try StateDirectory.standard()
        outbox = try Outbox(directory: directory, lockTimeout: lockTimeout)
    }

    /// Prints the waiting items as a table or as records. Throws a failure with status 1 if no item waits.
    func list(isText: Bool) throws {
        let items = try outbox.list()
        guard !items.isEmpty else { throw Failure(.no, "") }
        let output = try Output(path: nil, content: .text)
        if !isText {
            for item in items { try output.writeRecord(item.report) }
        } else {
            var table = Table()
            table.add(["ID", "KIND", "TO", "RELAY", "SINCE", "BYTES"])
            for item in items { table.add(item.row) }
            try output.writeText(table.text)
        }
        try output.finish()
        if isText { Self.noteWays(items) }
    }

    /// Names the commands that send what waits, or give it up.
    private static func noteWays(_ items: [Outbox.Waiting]) {
        let unassigned = items.count { $0.relay.isEmpty }
        if unassigned < items.count {
            Terminal.note(
                "these wait until their relays can be reached; to try again: sotto send < /dev/null; to give one up: sotto send --drop ID"
            )
        }
        if unassigned > 0 {
            Terminal.note(
                "\(unassigned) without a relay; to send what has none: sotto send --relay tcp://host:port < /dev/null"
            )
        }
    }

    /// Drops the items with one of `ids`, or for a relay in place of an id, and prints the result of each. Throws a failure with
    /// status 1 for an id that no item has, after the others were dropped.
    func drop(_ ids: [String], isText: Bool) throws {
        let blobs = try BlobFolder(directory: directory)
        let output = try Output(path: nil, content: .text)
        var missing: [String] = []
        for given in ids {
            let before = try outbox.blobPaths(in: blobs)
            let dropped = try remove(given)
            for path in before.subtracting(try outbox.blobPaths(in: blobs)) { unlink(path) }
            if dropped.isEmpty { missing.append(given) }
            for id in dropped {
                if isText {
                    try output.writeText("dropped \(id)\n")
                } else {
                    try output.writeRecord(DeliveryResult(droppedID: id).record)
                }
            }
        }
        try output.finish()
        guard let given = missing.last else { return }
        let what = given.contains("://") ? "for \(given)" : "with the id \(given)"
        throw Failure(
            missing.count == ids.count ? .no : .partial, "no item \(what) waits",
            hint: "list the ids: sotto send --list")
    }

    /// Removes the items with an id, or those for a relay. Returns their ids.
    private func remove(_ given: String) throws -> [String] {
        let outcome = DeliveryOutcome(.dropped).text
        guard !given.contains("://") else {
            return try outbox.drop(relay: RelayURL(argument: given).text, outcome: outcome)
        }
        let id = try wholeID(given)
        return try outbox.drop(id: id, outcome: outcome) > 0 ? [id] : []
    }
}

extension OutboxReport {
    /// The least characters of a beginning of an id.
    private static let prefix = 8

    /// Returns the only waiting id that begins with a text, as the list shows it, or the text.
    private func wholeID(_ text: String) throws(StateError) -> String {
        let beginning = text.hasSuffix("…") ? String(text.dropLast()) : text
        guard beginning.utf8.count >= Self.prefix else { return text }
        let found = Set(try outbox.list().map(\.id).filter { $0.hasPrefix(beginning) })
        return found.contains(text) || found.count != 1 ? text : found.first ?? text
    }
}

extension Outbox.Waiting {
    /// The relay's address with its pin, or `nil`.
    private var address: String? { relay.isEmpty ? nil : relay }

    /// The relay's address for people, with the beginning of its pin.
    private var shownAddress: String {
        guard let address else { return "-" }
        let parts = address.pieces(between: "#sha256=")
        guard parts.count == 2 else { return address }
        return "\(parts[0])#sha256=\(parts[1].prefix(8))…"
    }

    private var kindName: String {
        switch kind {
        case .envelope, .signal: "envelope"
        case .prekeys: "prekeys"
        case .record: recordType == "contact" ? "card" : recordType ?? "record"
        case .blob: "blob"
        case nil: "unknown"
        }
    }

    fileprivate var row: [String] {
        let isMail = kind == .envelope || kind == .blob
        let recipient = isMail ? to.prefix(16) + "…" : "-"
        let id = kind == .envelope ? id[...] : id.prefix(16) + "…"
        return [
            String(id), kindName, String(recipient), shownAddress,
            String(since.description.prefix(10)), "\(count)",
        ]
    }

    /// The record of an item.
    fileprivate var report: JSONObject {
        JSONObject([
            ("v", .integer(1)), ("type", .string("queued")), ("id", .string(id)),
            ("to", kind == .envelope || kind == .blob ? .string(to) : nil),
            ("kind", .string(kindName)),
            ("relay", address.map { .string($0) }), ("since", .string(since.description)),
            ("bytes", .integer(Int64(count))),
        ])
    }
}
