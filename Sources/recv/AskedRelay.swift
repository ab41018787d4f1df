import Sotto
import SottoClient
import SottoTool
import SottoWire

/// The relay of `--relay`, the authorities of `--ca` and the seconds of `--poll-every`, if given.
struct AskedRelay {
    let url: String?
    let authorities: String?
    var pollSeconds: Int64?

    /// Returns the relay of the option or of `$SOTTO_RELAY`, or `nil` if neither is given.
    func given() throws -> RelayURL? {
        try RelayAddress.given(url, authorities: authorities).map { try polled($0) }
    }

    /// Returns the relay of the option or of `$SOTTO_RELAY`, else `fallback`.
    func find(fallback: String? = nil) throws -> RelayURL {
        try polled(RelayAddress.find(url, authorities: authorities, fallback: fallback))
    }

    private func polled(_ relay: RelayURL) throws -> RelayURL {
        guard let pollSeconds else { return relay }
        guard relay.scheme == .http || relay.scheme == .https else {
            throw Failure(
                .usage, "--poll-every is for a relay over HTTP; \(relay) pushes mail at once")
        }
        var relay = relay
        relay.pollSeconds = pollSeconds
        return relay
    }

    /// Returns the relay of the option or of `$SOTTO_RELAY`, else that of the identity if reading it shows no prompt.
    func find(for identity: IdentityChoice) throws -> RelayURL {
        try find(fallback: identity.needsNoPrompt ? identity.load().relay : nil)
    }
}
