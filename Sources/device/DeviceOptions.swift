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

    /// Returns the address book of machine one, which may sign lists.
    ///
    /// Throws a failure with status 64 on another device, and 78 for an identity file without a passphrase: with a copy of it,
    /// anybody could add devices.
    func signingBook() throws -> AddressBook {
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
    func find(in list: DeviceList?) throws -> DeviceList.Device { try Self.find(name, in: list) }

    /// Returns the device that a text means.
    static func find(_ name: String, in list: DeviceList?) throws -> DeviceList.Device {
        let text = Pasted.text(name)
        let devices = list?.devices ?? []
        if let named = devices.first(where: { $0.name == text }) { return named }
        let matching = devices.filter {
            text.utf8.count >= KeyID.shortLength && $0.id.description.hasPrefix(text.lowercased())
                || $0.name.lowercased() == text.lowercased()
        }
        guard matching.count == 1, let device = matching.first else {
            throw Failure(
                .noInput,
                matching.isEmpty
                    ? "no device has the name \(RecipientArgument.shown(name))"
                    : "\(RecipientArgument.shown(name)) means several devices",
                hint: "list the devices: sotto device list")
        }
        return device
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
}

/// The records that tell contacts and own devices a changed list.
struct Announcement {
    let store: IdentityStore

    /// Returns a record for each contact who has a card and writes to the main mailbox, and one for the own devices.
    func records() throws -> [JSONObject] {
        let owner = store.owner.id
        let contacts = try store.contacts().filter { contact in
            !contact.name.isEmpty && !contact.isBlocked && contact.card != nil
                && contact.changed == nil && contact.address == nil && contact.id.isKey
        }
        return (contacts.map(\.id) + [owner]).map { id in
            ComposedMessage(to: id, DeviceBody.announcement).record
        }
    }

    /// Prints the records.
    func print(_ records: [JSONObject]) throws {
        let output = try Output(path: "-", content: .text)
        for record in records { try output.writeRecord(record) }
        try output.finish()
    }
}
