import Arguments
import Sotto
import SottoTool
import SottoWire

/// The option for the relay of an identity.
struct RelayOptions: ArgumentGroup {
    @Option(
        "--relay", value: "url",
        help:
            "The relay where you fetch your mail, tcp://host:port or another address that recv accepts; it is stored in the identity and included in its cards."
    )
    var relay: String?

    /// Returns the given relay, or `nil`.
    func address() throws(Failure) -> RelayURL? {
        guard let relay else { return nil }
        return try Self.address(relay)
    }

    /// Parses a relay's address as it will be used from the card.
    static func address(_ text: String) throws(Failure) -> RelayURL {
        do throws(RelayURL.Invalid) {
            return try RelayURL(text)
        } catch {
            throw Failure(
                .usage, "the relay address is not of the form tcp://host:port",
                hint: "use an address such as --relay tcp://relay.example.org:7667")
        }
    }
}
