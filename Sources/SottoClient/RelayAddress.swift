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

        /// The number of the exit status, as sysexits(3) has it.
        public var status: Int32 { 78 }

        /// What went wrong.
        public var message: String {
            switch self {
            case .missing: "no relay is given"
            case .malformed: "the relay's address is not tcp://host:port"
            case .scheme(let scheme): "relays are not reached by \(scheme): in this version"
            }
        }

        /// What to do about it.
        public var hint: String? {
            "use --relay tcp://host:port, or set SOTTO_RELAY"
        }
    }

    /// The relay that `option` or the environment names.
    public static func find(_ option: String?) throws(Failure) -> RelayURL {
        let variable = getenv("SOTTO_RELAY").map { String(cString: $0) } ?? ""
        guard let text = option ?? (variable.isEmpty ? nil : variable) else { throw .missing }
        do throws(RelayURL.Invalid) {
            return try RelayURL(text)
        } catch {
            switch error {
            case .form: throw .malformed
            case .scheme(let scheme): throw .scheme(scheme)
            }
        }
    }
}
