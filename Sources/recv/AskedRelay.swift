import Sotto
import SottoClient
import SottoTool
import SottoWire

/// The relay of `--relay`, the authorities of `--ca`, the seconds of `--poll-every` and the protocol, if given.
struct AskedRelay {
    let url: String?
    let authorities: String?
    var pollSeconds: Int64?
    var form = RelayProtocol.own

    /// Returns the relay of the option or of `$SOTTO_RELAY`, or `nil` if neither is given.
    func given() throws -> RelayURL? {
        try RelayAddress.given(url, authorities: authorities).map { try polled($0) }
    }

    /// Returns the relay of the option or of `$SOTTO_RELAY`, else `fallback`.
    func find(fallback: String? = nil) throws -> RelayURL {
        try polled(RelayAddress.find(url, authorities: authorities, fallback: fallback))
    }

    private func polled(_ relay: RelayURL) throws -> RelayURL {
        var relay = relay
        relay.form = form
        guard let pollSeconds else { return relay }
        guard relay.scheme == .http || relay.scheme == .https else {
            throw Failure(
                .usage, "--poll-every is for a relay over HTTP; \(relay) pushes mail at once")
        }
        relay.pollSeconds = pollSeconds
        return relay
    }

    /// Returns the relay of the option or of `$SOTTO_RELAY`, else that of the identity if reading it shows no prompt.
    func find(for identity: IdentityChoice) throws -> RelayURL {
        try find(fallback: identity.needsNoPrompt ? identity.load().relay : nil)
    }
}
