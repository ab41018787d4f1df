import Arguments
import Sotto
import SottoContacts
import SottoState
import SottoTool

struct ListCommand: Program {
    static let configuration = CommandConfiguration(
        name: "list", abstract: "List your devices: name, state, id, and when each was added.",
        discussion: """
            Machine one has the identity itself, and always stands first. A new device gets new mail and the names of your \
            contacts; a full one gets everything.
            """)

    @OptionGroup var form: OutputForm

    @OptionGroup var options: DeviceOptions

    func execute() throws {
        let book = options.book()
        let owner = try book.identity()
        let list = try book.view { try $0.devices(of: owner.id) } ?? nil
        let rows = [Row(firstOf: owner)] + (list?.devices ?? []).map { Row($0, owner: owner) }
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

    init(firstOf owner: Identity) {
        (id, device, isHere) = (owner.id, nil, owner.owner == nil)
    }

    init(_ device: DeviceList.Device, owner: Identity) {
        (id, self.device, isHere) = (device.id, device, device.id == owner.device)
    }

    var record: JSONObject {
        JSONObject([
            ("v", .integer(1)), ("type", .string("device")), ("id", .string(id.description)),
            ("name", device.map { .string($0.name) }),
            ("state", device.map { .string($0.state.rawValue) }),
            ("added", device.map { .string($0.added.description) }),
            ("first", device == nil ? .bool(true) : nil), ("here", isHere ? .bool(true) : nil),
        ])
    }

    var cells: [String] {
        [
            device.map { Table.cut($0.name, to: Table.nameWidth) } ?? "-",
            device?.state.rawValue ?? "machine one", id.short,
            device.map { String($0.added.description.prefix(10)) } ?? "-",
            isHere ? "this machine" : "",
        ]
    }
}
