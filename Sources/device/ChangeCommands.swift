import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool

/// The options of a command that changes the list at machine one.
struct ChangeOptions: ArgumentGroup {
    @OptionGroup var device: DeviceArgument

    @OptionGroup var records: RecordOutput

    /// Changes a device of the list, or removes it if `body` returns `nil`, and prints the announcement. Returns the device as it
    /// was.
    @discardableResult
    func change(
        _ body: (DeviceList.Device, DeviceList, StateTransaction) throws -> DeviceList.Device?
    ) throws -> DeviceList.Device {
        let store = try device.options.signingStore()
        try records.check()
        let (found, removed) = try store.transaction { transaction in
            guard let list = try transaction.devices(of: transaction.owner.id) else {
                return (try device.find(in: nil), nil as DeviceList.Device?)
            }
            let found = try device.find(in: list)
            let changed = try body(found, list, transaction)
            try transaction.sign(
                devices: list.devices.compactMap { $0.id == found.id ? changed : $0 })
            return (found, changed == nil ? found : nil)
        }
        let announcement = Announcement(store: store)
        try announcement.print(try announcement.lines(removed: removed))
        return found
    }
}

struct RenameCommand: Program {
    static let configuration = CommandConfiguration(
        name: "rename", abstract: "Rename a device, and print the records that tell it.",
        usage: "sotto device rename DEVICE NAME [--json]")

    @OptionGroup var options: ChangeOptions

    @Argument("name", help: "The new name.")
    var name: String

    func validate() throws { try checkDeviceName(name) }

    func execute() throws {
        try options.change { device, list, _ in
            var device = device
            guard list.freeName(name, except: device.id) == name else {
                throw Failure(.usage, "another device has the name \(name)")
            }
            device.name = name
            return device
        }
    }
}

struct RemoveCommand: Program {
    static let configuration = CommandConfiguration(
        name: "remove", abstract: "Remove a device, and print the records that tell it.",
        usage: "sotto device remove DEVICE [--json]",
        discussion: """
            The sessions with the device end, and contacts write to it no more after they got the new list. It keeps what it \
            has. Send the records at once. What the device decided about contacts in its last 30 days is listed on stderr; for \
            a program: sotto device changes ID --json
            Read your mail first: what the device sent and is not read here is refused from then on. Your other devices can \
            have read it, and list it with the same command; what you take back there is told to all machines.
            """)

    @OptionGroup var options: ChangeOptions

    func execute() throws {
        var decisions: DecisionList?
        let removed = try options.change { device, list, transaction in
            decisions = try DecisionList(list, device.id, transaction)
            return nil
        }
        let note = options.device.options.note
        defer {
            note(
                "mail of \(removed.name) that was not read here is refused from now on; your other devices can have decisions from it, to list them there: sotto device changes \(removed.id)"
            )
        }
        guard let decisions, !decisions.isEmpty else {
            return note("removed \(removed.name); no decision of it about contacts is known here")
        }
        note("removed \(removed.name); take back what it decided and you did not:")
        if !options.device.options.quiet {
            var table = Table()
            for line in decisions.lines { table.add([""] + line.dropFirst()) }
            for line in table.text.split(separator: "\n") { Terminal.say(String(line)) }
        }
        note("to list this again: sotto device changes \(removed.id)")
    }
}

struct ConfirmCommand: Program {
    static let configuration = CommandConfiguration(
        name: "confirm",
        abstract: "Say that a new device is yours, so that it becomes full.",
        usage: "sotto device confirm [--now] DEVICE [--json]",
        discussion: """
            On another device it tells machine one, which makes the device full. On machine one it needs --now, and makes the \
            device full at once, also after an objection; the records tell your contacts and machines.
            """)

    @Flag("--now", help: "On machine one: make the device full at once.")
    var now = false

    @OptionGroup var options: ChangeOptions

    func execute() throws {
        guard now else { return try decide(.confirms, options) }
        let confirmed = try options.change { device, _, transaction in
            guard device.state == .new else { throw Failure.full(device) }
            try transaction.forgetDecisions(about: device.id)
            var device = device
            device.state = .full
            return device
        }
        options.device.options.note(
            "\(confirmed.name) is full; to send it your contacts with their trust: sotto device announce \(shellWord(confirmed.name)) --send"
        )
    }
}

struct ObjectCommand: Program {
    static let configuration = CommandConfiguration(
        name: "object", abstract: "Say that a new device shall stay new.",
        usage: "sotto device object DEVICE [--json]",
        discussion: """
            Tells machine one and the other devices. The device stays new until machine one confirms it with --now. It is not \
            removed: only machine one removes a device.
            """)

    @OptionGroup var options: ChangeOptions

    func execute() throws { try decide(.objects, options) }
}

/// Notes a decision of this machine about another device, and prints the record that tells the own machines.
private func decide(
    _ decision: StateTransaction.DeviceDecision, _ options: ChangeOptions
) throws {
    let store = try options.device.options.book().writableStore()
    let owner = store.owner
    if owner.owner == nil, decision == .confirms {
        throw Failure(
            .usage, "machine one makes a device full with --now",
            hint: "sotto device confirm --now \(shellWord(options.device.name)) --send")
    }
    try options.records.check()
    let device = try store.transaction { transaction in
        let device = try options.device.find(in: transaction.devices(of: owner.id))
        guard device.id != owner.device else {
            throw Failure(.usage, "\(device.name) is this machine; another one must decide")
        }
        guard device.state == .new else { throw Failure.full(device) }
        if owner.owner == nil {
            try transaction.take(decision, about: device.id, by: nil)
        }
        return device
    }
    let announcement = Announcement(store: store)
    try announcement.print(announcement.ownLines(DeviceBody.body(decision, device.id)))
}

struct AnnounceCommand: Program {
    static let configuration = CommandConfiguration(
        name: "announce",
        abstract:
            "Print the records that tell contacts and own devices the list, or the contacts for a device.",
        usage: """
            sotto device announce [--json]
            sotto device announce DEVICE [--json]
            """,
        discussion: """
            Without DEVICE it prints messages for encrypt: each contact gets your card with the list, and machine one tells the \
            members of your groups. A contact with an address of its own gets none. With DEVICE it prints the envelopes that bring your contacts to the device; encrypt \
            passes envelopes on.
            """)

    @OptionGroup var records: RecordOutput

    @OptionGroup var options: DeviceOptions

    @Argument("device", help: "The device to which your contacts go.")
    var device: String?

    func execute() throws {
        try records.check()
        let book = options.book()
        guard let store = try book.store(),
            let list = try store.preview({ try $0.devices(of: $0.owner.id) })
        else {
            throw Failure(
                .no, options.quiet ? "" : "you have no other devices",
                hint: options.quiet ? nil : "show how to add one: sotto device add --help")
        }
        let announcement = Announcement(store: store)
        guard let device else { return try announcement.print(announcement.lines()) }
        guard try book.identity().owner == nil else {
            throw Failure(.usage, "only machine one sends its contacts to a device")
        }
        try announcement.print(welcome(DeviceList.device(named: device, in: list), store))
    }
}

extension Failure {
    /// A decision about a device that is full.
    fileprivate static func full(_ device: DeviceList.Device) -> Failure {
        Failure(
            .no, "\(device.name) is full already",
            hint:
                "if it is not yours, remove it on machine one: sotto device remove \(shellWord(device.name)) --send"
        )
    }
}
