import Glibc
public import Sotto
public import SottoWire

/// Where a tool finds its relay: `--relay`, else `$SOTTO_RELAY`.
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

    /// The relay that `option` or the environment names.
    ///
    /// `authorities`, else `$SOTTO_CA`, is a PEM file of those who may vouch for its certificate.
    public static func find(
        _ option: String?, authorities: String? = nil
    ) throws(Failure) -> RelayURL {
        func variable(_ name: String) -> String? {
            getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
        }
        guard let text = option ?? variable("SOTTO_RELAY") else { throw .missing }
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
}
