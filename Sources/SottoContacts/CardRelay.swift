package import Sotto
import SottoWire

extension Card {
    /// The maximum length in bytes of a relay address on a card that is used, and on an envelope's line.
    package static let relayLimit = 512

    /// The address of the relay on the card, written in one way; `nil` without one, and if the text is no address. The text
    /// can have any content, such as a name.
    package var relayAddress: String? {
        guard let relay, relay.utf8.count <= Self.relayLimit else { return nil }
        return (try? RelayURL(relay))?.text
    }
}
