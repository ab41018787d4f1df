import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool

struct ListCommand: Program {
    static let configuration = CommandConfiguration(
        name: "list",
        abstract:
            "List your devices: name, state, id, when each was added and last heard of. Or make the list private or public.",
        usage: """
            sotto device list [--text | --json | --card]
            sotto device list --private | --public [--json]
            """,
        discussion: """
            Machine one has the identity itself, and always stands first. A new device gets new mail and the names of your \
            contacts; a full one gets everything.

            On machine one, --private keeps the list from your contacts: they see one device, which passes mail on to the \
            others and sends what these write. It must run for that. The records tell your machines, and contacts who had the \
            list see that the devices are removed.

            --card prints your card with the list, also a private one, for device restore on a machine one that lost its state \
            without a backup. Give it to nobody else.
            """)

    @Flag("--private", help: "Tell the list only your own devices. Machine one passes mail on.")
    var isPrivate = false

    @Flag("--public", help: "Tell the list your contacts again.")
    var isPublic = false

    @Flag("--card", help: "Print your card with the list, also a private one, for device restore.")
    var card = false

    @OptionGroup var form: OutputForm

    @OptionGroup var options: DeviceOptions

    func validate() throws {
        guard [isPrivate, isPublic, card].count(where: \.self) < 2 else {
            throw UsageError("--private, --public and --card cannot be combined")
        }
        guard !isPrivate && !isPublic && !card || !form.text else {
            throw UsageError("--text cannot be combined with --private, --public and --card")
        }
        guard !card || !form.json else {
            throw UsageError("--json cannot be combined with --card")
        }
    }

    func execute() throws {
        guard !isPrivate, !isPublic else { return try change() }
        guard !card else { return try printCard() }
        let book = options.book()
        let owner = try book.identity()
        let found = try book.view { transaction in
            let list = try transaction.devices(of: owner.id)
            let ids = [owner.id] + (list?.devices ?? []).map(\.id)
            return (
                list, try ids.map { try transaction.lastHeard(of: $0) },
                try Set(ids.filter { try transaction.hasObjection(to: $0) })
            )
        }
        let (list, heard, disputed) = found ?? (nil, [], [])
        let first = Row(
            firstOf: owner, isPrivate: list?.isPrivate ?? false, heard: heard.first ?? nil)
        let rows =
            [first]
            + zip(list?.devices ?? [], heard.dropFirst()).map {
                Row($0, owner: owner, heard: $1, isDisputed: disputed.contains($0.id))
            }
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

    /// Prints the card that the owner's devices get.
    private func printCard() throws {
        let card = try options.book().view { try $0.cardForDevices(issued: .now()) }
        guard let record = card?.record else {
            throw Failure(.no, "this machine has no list of devices yet")
        }
        let output = try Output(path: "-", content: .text)
        try output.writeRecord(record)
        try output.finish()
    }

    /// Makes the list private or public, and prints the announcement.
    private func change() throws {
        let store = try options.signingStore()
        try RecordOutput.check(isForced: form.json)
        let (list, before) = try store.transaction { transaction in
            let before = try transaction.devices(of: transaction.owner.id)
            guard before?.isPrivate ?? false != isPrivate else {
                throw Failure(.no, "the list is \(isPrivate ? "private" : "public") already")
            }
            let list = try transaction.sign(
                devices: before?.devices ?? [], isPrivate: isPrivate)
            return (list, before)
        }
        // Contacts who never had the list learn nothing.
        let announcement = Announcement(store: store)
        try announcement.print(announcement.lines(toContacts: list.shown != 0))
        if isPrivate, before?.devices.isEmpty == false {
            options.note("your contacts see that your other devices are removed")
        }
    }
}

/// A device in the list.
private struct Row {
    let id: KeyID
    /// The device on the owner's list; `nil` for machine one.
    let device: DeviceList.Device?
    /// Whether it is the machine that runs this program.
    let isHere: Bool
    /// Whether it is machine one of a private list.
    var isPrivate = false
    /// Whether another own device objected to it.
    var isDisputed = false

    /// The time of its last message; `nil` if none came.
    let heard: Timestamp?

    init(firstOf owner: Identity, isPrivate: Bool, heard: Timestamp?) {
        (id, device, isHere, self.heard) = (owner.id, nil, owner.owner == nil, heard)
        self.isPrivate = isPrivate
    }

    init(_ device: DeviceList.Device, owner: Identity, heard: Timestamp?, isDisputed: Bool) {
        (id, self.device, self.heard) = (device.id, device, heard)
        self.isDisputed = isDisputed && device.state == .new
        isHere = device.id == owner.device
    }

    var record: JSONObject {
        JSONObject([
            ("v", .integer(1)), ("type", .string("device")), ("id", .string(id.description)),
            ("name", device.map { .string($0.name) }),
            ("state", device.map { .string($0.state.rawValue) }),
            ("added", device.map { .string($0.added.description) }),
            ("heard", heard.map { .string($0.description) }),
            ("first", device == nil ? .bool(true) : nil),
            ("objected", isDisputed ? .bool(true) : nil),
            ("private", isPrivate ? .bool(true) : nil), ("here", isHere ? .bool(true) : nil),
        ])
    }

    var cells: [String] {
        [
            device.map { Table.cut($0.name, to: Table.nameWidth) } ?? "-",
            device.map { $0.state.rawValue + (isDisputed ? ", objected to" : "") }
                ?? (isPrivate ? "machine one, private" : "machine one"),
            id.short,
            device.map { String($0.added.description.prefix(10)) } ?? "-",
            isHere
                ? "this machine"
                : heard.map { "heard of \($0.description.prefix(10))" } ?? "not heard of",
        ]
    }
}
