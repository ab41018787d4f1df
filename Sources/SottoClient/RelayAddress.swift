import Glibc
public import Sotto
import SottoProgram
public import SottoState
public import SottoWire

/// An error in the choice of a relay.
public enum RelayAddressError: Error, Equatable {
    /// No relay is given.
    case missing
    /// The text is not an address.
    case invalid(RelayURL.Invalid)
    /// `$SOTTO_CA` is not UTF-8.
    case authorities
    /// The file of `--ca` cannot be read.
    case noCertificates(String)
}

extension RelayAddressError: FailureError {
    /// The message, the hint and the exit status.
    public var failure: Failure {
        switch self {
        case .missing:
            Failure(
                .configuration, "no relay is given",
                hint:
                    "for the identity: sotto keygen set --relay URL --send; for one command: SOTTO_RELAY=tcp://host:port"
            )
        case .invalid(let invalid): Self.failure("the relay address \(invalid.reason)")
        case .authorities: .notUTF8(variable: "SOTTO_CA")
        case .noCertificates(let file): ClientError.noCertificates(file).failure
        }
    }

    private static func failure(_ message: String) -> Failure {
        Failure(
            .configuration, message,
            hint:
                "use --relay tcp://host:port, or tls:, ws:, wss:, http: or https:; or set SOTTO_RELAY"
        )
    }
}

/// Finds the relay of a tool: `--relay`, else `$SOTTO_RELAY`, else the identity's own.
public enum RelayAddress {
    /// Returns the relay that `option` or the environment names, else the identity's own relay in `fallback`.
    ///
    /// `authorities`, else `$SOTTO_CA`, is a PEM file of the authorities that may sign its certificate.
    public static func find(
        _ option: String?, authorities: String? = nil, fallback: String? = nil
    ) throws(RelayAddressError) -> RelayURL {
        if let given = try given(option, authorities: authorities) { return given }
        guard let fallback else { throw .missing }
        return try read(fallback, authorities: authorities)
    }

    /// Returns the relay that `option` or the environment names, or `nil` if neither does.
    public static func given(
        _ option: String?, authorities: String? = nil
    ) throws(RelayAddressError) -> RelayURL? {
        guard let text = option ?? environmentVariable("SOTTO_RELAY") else { return nil }
        return try read(text, authorities: authorities)
    }

    /// Reads an address; `authorities` is as in ``find(_:authorities:fallback:)``.
    static func read(_ text: String, authorities: String?) throws(RelayAddressError) -> RelayURL {
        try check(authorities)
        var relay: RelayURL
        do throws(RelayURL.Invalid) { relay = try RelayURL(text) } catch { throw .invalid(error) }
        guard authorities == nil else {
            relay.authorities = authorities
            return relay
        }
        do throws(Failure) {
            relay.authorities = try environmentPath("SOTTO_CA")
        } catch { throw .authorities }
        return relay
    }
}

extension RelayAddress {
    /// Checks that the file of `--ca` can be read.
    fileprivate static func check(_ authorities: String?) throws(RelayAddressError) {
        if let authorities, access(authorities, R_OK) != 0 { throw .noCertificates(authorities) }
    }
}

/// Selects the relay of each record.
///
/// The order is `--relay`, then the relay that the record names, then `$SOTTO_RELAY`. If the record names the relay of
/// `$SOTTO_RELAY`, the variable's address is used, because its pin is the user's own; but a record that asks for TLS never
/// travels without it.
public struct RelayChoice: Sendable {
    private let option: RelayURL?
    private let standard: RelayURL?
    private let authorities: String?
    private let form: RelayProtocol

    /// Reads `--relay` and the environment; each relay is reached with the protocol `form`. Throws a failure for a malformed
    /// address.
    public init(
        _ option: String?, authorities: String? = nil, form: RelayProtocol = .own
    ) throws(RelayAddressError) {
        (self.authorities, self.form) = (authorities, form)
        try RelayAddress.check(authorities)
        var chosen: RelayURL?
        if let option { chosen = try RelayAddress.read(option, authorities: authorities) }
        self.option = chosen
        var standard: RelayURL?
        if let text = environmentVariable("SOTTO_RELAY") {
            standard = try RelayAddress.read(text, authorities: authorities)
        }
        self.standard = standard
    }

    /// The relay of `--relay` or of `$SOTTO_RELAY`, or `nil`.
    public var chosen: RelayURL? { (option ?? standard).map(spoken) }

    /// Returns the relay for a record that names `noted`. Throws ``RelayAddressError/missing`` if no relay is named.
    public func relay(noted: String?) throws(RelayAddressError) -> RelayURL {
        spoken(try address(noted: noted))
    }

    private func address(noted: String?) throws(RelayAddressError) -> RelayURL {
        if let option { return option }
        guard let noted else {
            guard let standard else { throw .missing }
            return standard
        }
        let relay = try RelayAddress.read(noted, authorities: authorities)
        if let standard, standard.replaces(relay) { return standard }
        return relay
    }

    /// Returns the address by which a queue is sent, or `nil` if its relay is unknown, if a different relay was selected, or
    /// if the selected address would take TLS from the queue.
    public func relay(of queue: Outbox.Queue) -> RelayURL? {
        address(of: queue).map(spoken)
    }

    private func spoken(_ relay: RelayURL) -> RelayURL {
        var relay = relay
        relay.form = form
        return relay
    }

    private func address(of queue: Outbox.Queue) -> RelayURL? {
        guard let relay = try? RelayAddress.read(queue.relay, authorities: authorities) else {
            return nil
        }
        if let option { return option.replaces(relay) ? option : nil }
        if let standard, standard.replaces(relay) { return standard }
        return relay
    }
}
