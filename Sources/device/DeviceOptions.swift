import Arguments
import Sotto
import SottoContacts
import SottoState
import SottoTool

/// The options of every subcommand.
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
}
