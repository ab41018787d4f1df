import Arguments
import Sotto
import SottoContacts
import SottoState
import SottoTool

struct ListCommand: Program {
    static let configuration = CommandConfiguration(
        name: "list",
        abstract:
            "List your devices: name, state, id, when each was added, and when it was last heard of.",
        discussion: """
            Machine one has the identity itself, and always stands first. A new device gets new mail and the names of your \
            contacts; a full one gets everything.
            """)

    @OptionGroup var form: OutputForm

    @OptionGroup var options: DeviceOptions

    func execute() throws {
        let book = options.book()
        let owner = try book.identity()
        let found = try book.view { transaction in
            let devices = try transaction.devices(of: owner.id)?.devices ?? []
            let ids = [owner.id] + devices.map(\.id)
            return (devices, try ids.map { try transaction.lastHeard(of: $0) })
        }
        let (devices, heard) = found ?? ([], [])
        let rows =
            [Row(firstOf: owner, heard: heard.first ?? nil)]
            + zip(devices, heard.dropFirst()).map { Row($0, owner: owner, heard: $1) }
        let output = try Output(path: "-", content: .text)
        if form.isText {
            var table = Table()
            for row in rows { table.add(row.cells) }
            try output.writeText(table.text)
        } else {
            for row in rows { try output.writeRecord(row.record) }
        }
        try output.finish()
    }
}

/// A device in the list.
private struct Row {
    let id: KeyID
    /// The device on the owner's list; `nil` for machine one.
    let device: DeviceList.Device?
    /// Whether it is the machine that runs this program.
    let isHere: Bool

    /// The time of its last message; `nil` if none came.
    let heard: Timestamp?

    init(firstOf owner: Identity, heard: Timestamp?) {
        (id, device, isHere, self.heard) = (owner.id, nil, owner.owner == nil, heard)
    }

    init(_ device: DeviceList.Device, owner: Identity, heard: Timestamp?) {
        (id, self.device, self.heard) = (device.id, device, heard)
        isHere = device.id == owner.device
    }

    var record: JSONObject {
        JSONObject([
            ("v", .integer(1)), ("type", .string("device")), ("id", .string(id.description)),
            ("name", device.map { .string($0.name) }),
            ("state", device.map { .string($0.state.rawValue) }),
            ("added", device.map { .string($0.added.description) }),
            ("heard", heard.map { .string($0.description) }),
            ("first", device == nil ? .bool(true) : nil), ("here", isHere ? .bool(true) : nil),
        ])
    }

    var cells: [String] {
        [
            device.map { Table.cut($0.name, to: Table.nameWidth) } ?? "-",
            device?.state.rawValue ?? "machine one", id.short,
            device.map { String($0.added.description.prefix(10)) } ?? "-",
            isHere
                ? "this machine"
                : heard.map { "heard of \($0.description.prefix(10))" } ?? "not heard of",
        ]
    }
}
