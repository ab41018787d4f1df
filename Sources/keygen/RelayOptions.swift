import Arguments
import Sotto
import SottoTool
import SottoWire

/// The relay of an identity.
struct RelayOptions: ArgumentGroup {
    @Option(
        "--relay", value: "url",
        help:
            "The relay where you fetch your mail, tcp://host:port or another address that recv takes; kept in the identity and named on its cards."
    )
    var relay: String?

    /// The relay that was given.
    func address() throws(Failure) -> RelayURL? {
        guard let relay else { return nil }
        return try Self.address(relay)
    }

    /// Reads a relay's address, as the readers of the card dial it.
    static func address(_ text: String) throws(Failure) -> RelayURL {
        do throws(RelayURL.Invalid) {
            return try RelayURL(text)
        } catch {
            throw Failure(
                .usage, "the relay's address is not tcp://host:port",
                hint: "for example --relay tcp://relay.example.org:7667")
        }
    }
}
