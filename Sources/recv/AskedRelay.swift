import Sotto
import SottoClient
import SottoTool
import SottoWire

/// The relay of `--relay` and the authorities of `--ca`, if given.
struct AskedRelay {
    let url: String?
    let authorities: String?

    /// Returns the relay of the option or of `$SOTTO_RELAY`, or `nil` if neither is given.
    func given() throws -> RelayURL? {
        try RelayAddress.given(url, authorities: authorities)
    }

    /// Returns the relay of the option or of `$SOTTO_RELAY`, else `fallback`.
    func find(fallback: String? = nil) throws -> RelayURL {
        try RelayAddress.find(url, authorities: authorities, fallback: fallback)
    }

    /// Returns the relay of the option or of `$SOTTO_RELAY`, else that of the identity if reading it shows no prompt.
    func find(for identity: IdentityChoice) throws -> RelayURL {
        try find(fallback: identity.needsNoPrompt ? identity.load().relay : nil)
    }
}
