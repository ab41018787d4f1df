import Glibc
public import Sotto

/// The reason why a relay does not start, or ends.
public enum RelayError: ReportableError {
    /// The store cannot be used.
    case store(StoreError)
    /// The address cannot be listened on; `code` is the system's error number, or 0.
    case listen(address: String, code: Int32)
    /// The certificate or its key cannot be used, for this reason.
    case tls(String)

    /// The exit status, as in sysexits(3).
    public var status: Int32 {
        switch self {
        case .store(let error): error.status
        case .tls: 78
        case .listen(_, let code): code == EACCES || code == EPERM ? 77 : 78
        }
    }

    /// The error message.
    public var message: String {
        switch self {
        case .store(let error): error.message
        case .tls(let message): message
        case .listen(let address, EADDRINUSE): "cannot listen on \(address): it is in use"
        case .listen(let address, EACCES): "cannot listen on \(address): permission denied"
        case .listen(let address, _):
            "cannot listen on \(address): this machine does not have the address"
        }
    }

    /// The hint: a command or instruction that fixes the error, or `nil`.
    public var hint: String? {
        switch self {
        case .store(let error): error.hint
        case .tls: "use PEM files, or create them with relay --tls-self-signed"
        case .listen(_, EADDRINUSE): "another relay may be running; choose another port"
        case .listen: nil
        }
    }
}
