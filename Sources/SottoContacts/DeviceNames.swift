package import Sotto
import SottoTool

/// Returns the words for another device of the owner. The first one has no name.
package func ownDevice(named name: String) -> String {
    name.isEmpty ? "your machine one" : "your device \(name)"
}

extension DeviceList {
    /// Returns the device of a list that a text means: its name, its id, or the beginning of the id. Throws a failure with status 66 if
    /// it means none or several.
    package static func device(
        named argument: String, in list: DeviceList?
    ) throws(Failure) -> Device {
        let text = Pasted.text(argument)
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
                    ? "no device has the name \(RecipientArgument.shown(argument))"
                    : "\(RecipientArgument.shown(argument)) means several devices",
                hint: "list the devices: sotto device list")
        }
        return device
    }
}
