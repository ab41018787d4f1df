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
        return try RelayURL(argument: relay)
    }
}
