import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool

/// The options of every subcommand that uses the identity.
struct DeviceOptions: ArgumentGroup {
    @OptionGroup var identity: IdentityOptions

    @OptionGroup var lock: LockOptions

    @Flag("-q", "--quiet", help: "Print no notes on stderr.")
    var quiet = false

    /// Prints a note on stderr unless `--quiet` is set.
    func note(_ text: String) { if !quiet { Terminal.say("\(DeviceTool.toolName): \(text)") } }

    /// Returns the address book. The identity is read when it is first used.
    func book() -> AddressBook {
        AddressBook(identity.choice.load, lockTimeout: lock.timeout)
    }

    /// Returns the state of machine one, which may sign lists. The first one after the state of an older identity was lost must not
    /// leave devices out, so it looks up the list on the card in the relay's directory.
    ///
    /// Throws a failure with status 64 on another device, 78 for an identity file without a passphrase: with a copy of it,
    /// a thief could add devices; and 75 if the relay does not answer.
    func signingStore() throws -> IdentityStore {
        let store = try signingBook().writableStore()
        let owner = store.owner
        guard let relay = owner.relay, try store.preview({ try $0.mayLackList() }) else {
            return store
        }
        var lookup = ToolRun(
            "recv", ["-q", "--card", owner.id.description, "--relay", relay])
        lookup.collectsMessages = true
        let found = try lookup.run()
        guard [ExitStatus.done, .no].contains(where: { $0.rawValue == found.status }) else {
            throw Failure(
                .tryAgain,
                "this state is new, and \(relay) does not answer whether your card has a list of other devices",
                hint: "receive first: sotto read")
        }
        let list = Card.first(of: owner.id, in: found.output)?.devices
        try store.transaction { transaction in
            if let list { try transaction.keep(list) }
            if list?.devices.isEmpty ?? true { try transaction.noteDirectory(list: list?.seq ?? 0) }
        }
        if let list {
            note(
                list.devices.isEmpty
                    ? "this state was new; your card at \(relay) names no other devices; if your list was private, one of them has it: sotto device list --card > card, and here sotto device restore card"
                    : "this state was new; the list on your card at \(relay) has \(list.devices.count) other devices, and was taken"
            )
        }
        return store
    }

    /// Returns the address book of machine one; see ``signingStore()``.
    private func signingBook() throws -> AddressBook {
        let path = try identity.identities.first ?? IdentityFile.defaultPath()
        if case .none = try IdentityFile.protection(of: path) {
            throw Failure(
                .configuration, "the identity \(path) has no passphrase",
                hint: "protect it first: sotto keygen passwd \(shellWord(path))")
        }
        let book = book()
        guard try book.identity().owner == nil else {
            throw Failure(
                .usage, "only machine one, which has the identity itself, changes the list",
                hint: "run this command there")
        }
        return book
    }
}

/// The device that a command works on.
struct DeviceArgument: ArgumentGroup {
    @OptionGroup var options: DeviceOptions

    @Argument("device", help: "The name of the device, its id, or the beginning of the id.")
    var name: String

    /// Returns the device on the owner's list. Throws a failure with status 66 if none is meant.
    func find(in list: DeviceList?) throws -> DeviceList.Device {
        try DeviceList.device(named: name, in: list)
    }
}

extension Card {
    /// Returns the first card of a person among lines of records, or `nil`.
    static func first(of person: KeyID, in lines: [UInt8]) -> Card? {
        lines.split(separator: UInt8(ascii: "\n")).lazy.compactMap { line in
            (try? JSON.object(parsing: Array(line))).flatMap { try? Card(record: $0) }
        }.first { $0.id == person }
    }
}

extension DeviceList {
    /// Returns a name that no other device has: `name`, or `name` with a number.
    func freeName(_ name: String, except id: KeyID? = nil) -> String {
        let taken = Set(devices.filter { $0.id != id }.map { $0.name.lowercased() })
        guard taken.contains(name.lowercased()) else { return name }
        var number = 2
        while taken.contains("\(name)-\(number)".lowercased()) { number += 1 }
        return "\(name)-\(number)"
    }
}

/// Throws a usage error for a text that cannot be the name of a device.
func checkDeviceName(_ name: String) throws {
    guard DeviceList.Device.isName(name) else {
        throw UsageError(
            "the name of a device has 1 to \(DeviceList.nameBytes) bytes of characters that can be seen"
        )
    }
    guard !isFirst(name) else {
        throw UsageError("machine one is the machine that has the identity itself")
    }
}

/// Whether a name is the one by which tools call the first device.
func isFirst(_ name: String) -> Bool { name.lowercased() == "machine one" }

/// The lines that tell contacts and own devices a changed list, or own devices something else.
struct Announcement {
    let store: IdentityStore

    /// Returns a message for each contact who has a card and writes to the main mailbox, an envelope for each own device, and on
    /// machine one the card for the relay's directory. A contact gets no message about a private list, unless `toContacts` is true.
    /// `removed` is a device that is on the list no more, and gets an envelope too.
    func lines(
        toContacts: Bool? = nil, removed: DeviceList.Device? = nil
    ) throws -> [JSONObject] {
        let isPrivate =
            try store.preview { try $0.devices(of: $0.owner.id) }?.isPrivate ?? false
        let told = try toContacts ?? !isPrivate ? store.contacts() : []
        let contacts = told.filter { contact in
            !contact.name.isEmpty && !contact.isBlocked && contact.card != nil
                && contact.changed == nil && contact.address == nil && contact.id.isKey
        }
        return contacts.map { ComposedMessage(to: $0.id, DeviceBody.announcement).record }
            + (try ownLines(DeviceBody.announcement, withCard: true, and: removed))
            + (try groupLines())
            + [try directoryCard()].compactMap(\.self)
    }

    /// Returns the messages that tell the members of groups the list, and the groups to the devices on it. Only machine one signs
    /// the list. A group that cannot be read is left out.
    private func groupLines() throws -> [JSONObject] {
        guard store.owner.owner == nil else { return [] }
        let groups = try store.groups().groups.filter(\.isInTouch)
        guard !groups.isEmpty else { return [] }
        return try store.transaction { transaction in
            try groups.flatMap { found in
                guard let group = try transaction.readableGroup(found.id) else {
                    return [JSONObject]()
                }
                return try transaction.news(of: group).map { $0.body.record(to: $0.to) }
            }
        }
    }

    /// Returns the card with the list for the directory of the owner's relay, from which a recovered machine one gets the list; `nil`
    /// on another device, and without a relay.
    func directoryCard() throws -> JSONObject? {
        guard store.owner.owner == nil, store.owner.relay != nil else { return nil }
        return try store.preview { try $0.ownCard(issued: .now()) }.record
    }

    /// Returns an envelope for each other machine of the owner, and for a removed one.
    func ownLines(
        _ body: MessageBody, withCard: Bool = false, and removed: DeviceList.Device? = nil
    ) throws -> [JSONObject] {
        let owner = store.owner
        let (list, card) = try store.preview { transaction in
            (try transaction.devices(of: owner.id), try transaction.cardForDevices(issued: .now()))
        }
        let others = ((list?.devices ?? []) + [removed].compactMap(\.self))
            .filter { $0.id != owner.device }.map(\.card)
        let first = owner.owner == nil ? [] : [card]
        let extra = withCard ? card.record.map { [(name: "card", value: JSON.object($0))] } : nil
        return try (first + others).map { other in
            try Self.line(body.record, extra: extra ?? [], from: owner, to: other)
        }
    }

    /// Returns an envelope with the relay for `send`.
    static func line(
        _ body: JSONObject, extra: [(name: String, value: JSON)] = [], from owner: Identity,
        to card: Card
    ) throws -> JSONObject {
        var record = try Sealed.seal(
            body: body, extra: extra, from: owner, to: card, time: .now()
        ).record
        record["relay"] = card.relay.map { .string($0) }
        return record
    }

    /// Prints lines.
    func print(_ records: [JSONObject]) throws {
        let output = try Output(path: "-", content: .text)
        for record in records { try output.writeRecord(record) }
        try output.finish()
    }
}
