import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool
import SottoWire

/// `device add`: machine one.
struct AddCommand: Program {
    static let configuration = CommandConfiguration(
        name: "add",
        abstract: "On machine one: take a new machine as a device.",
        usage: """
            sotto device add [--name NAME] [--now] CODE | --code SOURCE
            """,
        discussion: """
            CODE is what device request shows on the new machine: a code to type, or its URI. Reads the records of recv \
            --meeting and prints records for send; --send runs the whole pipe, and then device announce. After a URI, both \
            machines show a number, and nothing is signed before you confirm that it is the same. The device is new: it gets \
            new mail and the names of your contacts. It becomes full after a day, when another device confirms it, or at \
            once with --now. Other users of this machine can see an argument while the program runs.

            EXAMPLES
              sotto device add 417-orbit-velvet-sunset --send
              sotto recv --meeting 417 | sotto device add --code @FILE:code | sotto send
            """)

    @Option(
        "--code", value: "source",
        help: "The code or the URI of the new machine: @ENV:NAME, @FD:N or @FILE:PATH.")
    var code: SecretSource?

    @Option(
        "--name", value: "name",
        help: "The name of the device. Default: the one that the new machine gave.")
    var name: String?

    @Flag("--now", help: "Make the device full at once.")
    var now = false

    @Option(
        "--ready-fd", value: "fd",
        help:
            "Write your relay and a line feed to this descriptor when the code and the identity are read.",
        values: .any)
    var readyDescriptor: Int32?

    @OptionGroup var options: DeviceOptions

    @Argument("code", help: "The code or the URI, instead of --code.")
    var argument: String?

    func validate() throws {
        try name.map { try checkDeviceName($0) }
        try code?.validate()
        guard (code == nil) != (argument == nil) else {
            throw UsageError("give the code of the new machine, as an argument or with --code")
        }
    }

    func execute() throws {
        let secret = try code?.read() ?? SecretBytes(copying: (argument ?? "").utf8)
        let (code, isURI) = try PairingCode.read(secret)
        let store = try options.signingStore()
        let owner = store.owner
        try checkSpace(store)
        try readyDescriptor.map { try MeetingTable.sayReady(owner.relay, to: $0) }
        let table = try MeetingTable(holdsInterrupt: readyDescriptor != nil)
        guard case .message(let offer) = table.first, offer != .end else {
            guard case .place = table.first else { throw Failure.pairing(ended: true) }
            throw Failure(
                .usage, "this place is new, and the new machine makes the code",
                hint: "run on the new machine: sotto device request --name NAME --relay URL --send")
        }
        guard code.code.number == table.number else {
            throw Failure(.usage, "the code is for another meeting than \(table.number)")
        }
        let keys = try table.pairing {
            try MeetingKeys(
                joining: offer, code.code, relay: table.relay.name, for: .device)
        }
        let card = try store.preview { try $0.ownCard(issued: .now()) }
        try table.send(keys.answer(with: card))
        let comparison = isURI ? Comparison(digits: keys.comparison()) : nil
        try comparison?.show(
            "Compare this number with the one that the new machine shows, and answer there first:")
        guard let first = try table.next() else { throw Failure.pairing(ended: false) }
        if first == .end { throw Failure.pairing(ended: true) }
        let added = try table.pairing {
            let theirs = try keys.open(first)
            table.releaseInterrupt()
            try check(theirs, owner, store)
            if let comparison {
                try Terminal.tell("\(name ?? theirs.name) asks to become a device of yours.")
                try comparison.ask()
            }
            return try sign(theirs, store)
        }
        // The list is on disk before it leaves.
        try table.send(keys.seal(added.card))
        for record in try welcome(added.device, store) { try table.send(record: record) }
        if let card = try Announcement(store: store).directoryCard() {
            try table.send(record: card)
        }
        let state =
            now
            ? "full"
            : "new for a day; to make it full: sotto device confirm --now \(shellWord(added.device.name)) --send"
        options.note("\(added.device.name) is a device of yours, \(state)")
    }

    private func checkSpace(_ store: IdentityStore) throws {
        let count = try store.preview { try $0.devices(of: $0.owner.id) }?.devices.count ?? 0
        guard count < DeviceList.mostDevices else {
            throw Failure(
                .cannotCreate,
                "you have \(DeviceList.mostDevices + 1) devices with this one, which is the most",
                hint: "remove one first: sotto device list")
        }
    }

    /// Throws a failure unless a card is that of a new device of the owner.
    private func check(_ card: Card, _ owner: Identity, _ store: IdentityStore) throws {
        guard card.owner == owner.id, card.address == nil, card.accounts.members.isEmpty else {
            throw Failure(.untrusted, "the other machine did not accept you as its owner")
        }
        guard DeviceList.Device.isName(name ?? card.name), !isFirst(name ?? card.name) else {
            throw Failure(
                .malformed, "the new machine has no name that can be shown",
                hint: "give it one with --name NAME")
        }
        try store.preview { transaction in
            guard try transaction.contact(id: card.id) == nil,
                try transaction.person(ofDevice: card.id) == nil
            else { throw Failure(.untrusted, "the key of the new machine is known already") }
        }
    }

    private func sign(
        _ card: Card, _ store: IdentityStore
    ) throws -> (device: DeviceList.Device, card: Card) {
        try store.transaction { transaction in
            let known = try transaction.devices(of: transaction.owner.id)
            let given = name ?? card.name
            let device = DeviceList.Device(
                card: card, name: known?.freeName(given) ?? given, added: .now(),
                state: now ? .full : .new)
            try transaction.sign(devices: (known?.devices ?? []) + [device])
            return (device, try transaction.cardForDevices(issued: .now()))
        }
    }
}

/// Returns the envelopes that bring the owner's contacts to a device.
func welcome(_ device: DeviceList.Device, _ store: IdentityStore) throws -> [JSONObject] {
    let card = try store.preview { try $0.cardForDevices(issued: .now()) }
    let extra = card.record.map { [(name: "card", value: JSON.object($0))] } ?? []
    let contacts = try WelcomeBody.bodies(store.contacts(), isFull: device.state == .full)
    // The card may be as long as a body, so the first envelope has only the card.
    return [
        try Announcement.line(
            DeviceBody.announcement.record, extra: extra, from: store.owner, to: device.card)
    ] + (try contacts.map { try Announcement.line($0, from: store.owner, to: device.card) })
}
