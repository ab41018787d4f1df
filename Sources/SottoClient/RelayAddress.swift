import Glibc
public import Sotto
public import SottoState
public import SottoWire

/// Finds the relay of a tool: `--relay`, else `$SOTTO_RELAY`, else the identity's own.
public enum RelayAddress {
    /// Why there is no relay to talk to.
    public enum Failure: ReportableError, Equatable {
        /// None is named.
        case missing
        /// What is named has not the form of an address.
        case malformed
        /// What is named has a scheme that this version does not speak.
        case scheme(String)
        /// The pin is none, or stands where there is no TLS.
        case pin

        /// The number of the exit status, as sysexits(3) has it.
        public var status: Int32 { 78 }

        /// What went wrong.
        public var message: String {
            switch self {
            case .missing: "no relay is given"
            case .malformed: "the relay's address is not scheme://host:port"
            case .pin:
                "the relay's address has #sha256= without TLS, or without 64 hexadecimal digits"
            case .scheme(let scheme): "relays are not reached by \(scheme): in this version"
            }
        }

        /// What to do about it.
        public var hint: String? {
            "use --relay with tcp://host:port, or tls:, ws:, wss:, http: or https:; or set SOTTO_RELAY"
        }
    }

    /// The relay that `option` or the environment names, else the one in `fallback`, an identity's own.
    ///
    /// `authorities`, else `$SOTTO_CA`, is a PEM file of those who may vouch for its certificate.
    public static func find(
        _ option: String?, authorities: String? = nil, fallback: String? = nil
    ) throws(Failure) -> RelayURL {
        if let given = try given(option, authorities: authorities) { return given }
        guard let fallback else { throw .missing }
        return try read(fallback, authorities: authorities)
    }

    /// The relay that `option` or the environment names; `nil` where neither does.
    public static func given(
        _ option: String?, authorities: String? = nil
    ) throws(Failure) -> RelayURL? {
        guard let text = option ?? variable("SOTTO_RELAY") else { return nil }
        return try read(text, authorities: authorities)
    }

    /// Reads an address; the certificate's authorities are those of ``find(_:authorities:fallback:)``.
    static func read(_ text: String, authorities: String?) throws(Failure) -> RelayURL {
        do throws(RelayURL.Invalid) {
            var relay = try RelayURL(text)
            relay.authorities = authorities ?? variable("SOTTO_CA")
            return relay
        } catch {
            switch error {
            case .form: throw .malformed
            case .scheme(let scheme): throw .scheme(scheme)
            case .pin: throw .pin
            }
        }
    }

    static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }
}

/// Finds the relay of each record.
///
/// The order is `--relay`, then the relay that the record names, then `$SOTTO_RELAY`. Where the record names the relay of `$SOTTO_RELAY`, the variable's address is used: its TLS and its
/// pin are the user's own.
public struct RelayChoice: Sendable {
    private let option: RelayURL?
    private let standard: RelayURL?
    private let authorities: String?

    /// Reads `--relay` and the environment. Throws a failure for an address of a wrong form.
    public init(_ option: String?, authorities: String? = nil) throws(RelayAddress.Failure) {
        self.authorities = authorities
        var chosen: RelayURL?
        if let option { chosen = try RelayAddress.read(option, authorities: authorities) }
        self.option = chosen
        var standard: RelayURL?
        if let text = RelayAddress.variable("SOTTO_RELAY") {
            standard = try RelayAddress.read(text, authorities: authorities)
        }
        self.standard = standard
    }

    /// The relay for a record that names `noted`. Throws ``RelayAddress/Failure/missing`` if none is named at all.
    public func relay(noted: String?) throws(RelayAddress.Failure) -> RelayURL {
        if let option { return option }
        guard let noted else {
            guard let standard else { throw .missing }
            return standard
        }
        let relay = try RelayAddress.read(noted, authorities: authorities)
        if let standard, standard.outboxName == relay.outboxName { return standard }
        return relay
    }

    /// The relay of a queue; `nil` where its whole address is not known, or another relay was asked for.
    public func relay(of queue: Outbox.Queue) -> RelayURL? {
        if let option { return option.outboxName == queue.relay ? option : nil }
        if let standard, standard.outboxName == queue.relay { return standard }
        return queue.url.flatMap { try? RelayAddress.read($0, authorities: authorities) }
    }
}
