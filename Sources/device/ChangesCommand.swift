import Arguments
import Sotto
import SottoContacts
import SottoState
import SottoTool

struct ChangesCommand: Program {
    static let configuration = CommandConfiguration(
        name: "changes",
        abstract: "List the decisions about contacts that your other devices made.",
        usage: "sotto device changes [DEVICE] [--text | --json]",
        discussion: """
            These are the contacts that a device added, verified, blocked or unblocked, or whose other key it accepted, in the 30 \
            days before it was last heard of, as far as they still hold, each with the command that takes it back. A removed device is meant by its \
            id. Look at them when a device was lost.
            """)

    @OptionGroup var form: OutputForm

    @OptionGroup var options: DeviceOptions

    @Argument("device", help: "The name of a device, its id, or the beginning of the id.")
    var device: String?

    func execute() throws {
        let book = options.book()
        let owner = try book.identity()
        let found = try book.view { transaction in
            let list = try transaction.devices(of: owner.id)
            return try DecisionList(list, id(in: list), transaction)
        }
        let output = try Output(path: "-", content: .text)
        if form.isText {
            var table = Table()
            for line in found?.lines ?? [] { table.add(line) }
            try output.writeText(table.text)
        } else {
            for record in found?.records ?? [] { try output.writeRecord(record) }
        }
        try output.finish()
    }

    /// Returns the id that is meant, also that of a removed device; `nil` for all devices.
    private func id(in list: DeviceList?) throws -> KeyID? {
        try device.map { device in
            try KeyID(Pasted.text(device)) ?? DeviceList.device(named: device, in: list).id
        }
    }
}

/// The decisions about contacts of devices, each with the command that takes it back.
struct DecisionList {
    private let changes: [DeviceChange]
    /// The names of the devices that are not removed.
    private let names: [KeyID: String]
    private let first: KeyID

    /// Reads the decisions of a device, or of all. `list` has the names of the devices.
    init(
        _ list: DeviceList?, _ device: KeyID?, _ transaction: StateTransaction
    ) throws(StateError) {
        first = transaction.owner.id
        changes = try transaction.changes(of: device)
        names = Dictionary(uniqueKeysWithValues: (list?.devices ?? []).map { ($0.id, $0.name) })
    }

    var isEmpty: Bool { changes.isEmpty }

    /// The rows of a table: the device, what it did, the day, and the command.
    var lines: [[String]] {
        changes.map { change in
            [
                names[change.device]
                    ?? (change.device == first ? "machine one" : change.device.short + "…"),
                change.words, String(change.time.description.prefix(10)), change.undoing,
            ]
        }
    }

    var records: [JSONObject] {
        changes.map { change in
            JSONObject([
                ("v", .integer(1)), ("type", .string("device-change")),
                ("device", .string(change.device.description)),
                ("deviceName", names[change.device].map { .string($0) }),
                ("id", .string(change.contact.id.description)),
                ("name", change.contact.name.isEmpty ? nil : .string(change.contact.name)),
                ("change", .string(change.kind)), ("time", .string(change.time.description)),
                ("undo", .string(change.undoing)),
            ])
        }
    }
}

extension DeviceChange {
    /// The value of the member `change`.
    fileprivate var kind: String {
        switch change {
        case .added: "added"
        case .trust(_, let trust): trust.rawValue
        case .blocked(let value): value ? "blocked" : "unblocked"
        case .accepted: "key-accepted"
        }
    }

    /// The change in words.
    fileprivate var words: String {
        let name = contact.name.isEmpty ? contact.id.short + "…" : contact.name
        return switch change {
        case .trust(.verified, _): "unverified \(name)"
        case .trust(_, .trusted): "accepted the key of \(name)"
        case .accepted(let former): "accepted another key of \(name), after \(former.short)…"
        default: "\(kind) \(name)"
        }
    }

    /// The command that takes it back.
    fileprivate var undoing: String {
        let name = contact.argument
        return switch change {
        case .added, .accepted, .trust(.unverified, .trusted): "sotto contact remove \(name)"
        case .trust(_, .verified): "sotto contact unverify \(name)"
        case .trust: "sotto contact verify \(name) NUMBER"
        case .blocked(true): "sotto contact unblock \(name)"
        case .blocked(false): "sotto contact block \(name)"
        }
    }
}
