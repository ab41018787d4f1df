import Glibc
public import SottoBytes
import SottoDatabase
import SottoProgram
public import SottoServer

extension RelayError: FailureError {
    /// The message, the hint and the exit status.
    public var failure: Failure {
        switch self {
        case .store(let error): error.failure
        case .tls(let error): error.failure
        case .listen(let address, EADDRINUSE):
            Failure(
                .configuration, "cannot listen on \(address): it is in use",
                hint: "another relay may be running; choose another port")
        case .listen(let address, let code) where code == EACCES || code == EPERM:
            Failure(.permission, "cannot listen on \(address): permission denied")
        case .listen(let address, _):
            Failure(
                .configuration,
                "cannot listen on \(address): this machine does not have the address")
        }
    }
}

extension TLSFileError: FailureError {
    /// The message, the hint and the exit status.
    public var failure: Failure {
        switch self {
        case .noCertificate(let path): Self.failure("\(path) holds no certificate")
        case .unreadable(let path): Self.failure("the certificate \(path) cannot be read")
        case .unusable(let certificate, let key):
            Self.failure("the certificate \(certificate) or the key \(key) cannot be used")
        case .notMade(let names):
            Self.failure("cannot create a certificate for \(names.joined(separator: ", "))")
        case .exists(let path): Self.failure("\(path) already exists")
        case .cannotCreate(let path): Self.failure("cannot create \(path)")
        case .cannotWrite(let path): Self.failure("cannot write \(path)")
        }
    }

    private static func failure(_ message: String) -> Failure {
        Failure(
            .configuration, message,
            hint: "use PEM files, or create them with sotto relay --tls-self-signed")
    }
}

extension StoreError: FailureError {
    /// The message, the hint and the exit status.
    public var failure: Failure {
        switch self {
        case .database(.damaged(let path)):
            Failure(
                .ioError, DatabaseError.damaged(path: path).failure.message,
                hint:
                    "restore a backup, or move it away; a new one is then created without members, prekeys and waiting messages"
            )
        case .database(let error): error.failure
        case .full(let name): DatabaseError.full(path: name).failure
        case .newerVersion(let name): DatabaseError.newerVersion(path: name).failure
        case .notEmpty(let name):
            Failure(.cannotCreate, "\(name) is not empty", hint: "use the name of a new store")
        case .badServerURL:
            Failure(
                .usage, "the database URL is malformed",
                hint: "use a URL such as postgresql://user@host/database")
        case .serverAway(let server, let reason):
            Failure(
                .tryAgain, "cannot reach \(server): \(reason)",
                hint: "check that the server runs and can be reached")
        case .serverRefused(let server, let state, let reason):
            Failure(
                state.hasPrefix("28") ? .permission : .configuration,
                "cannot use \(server): \(reason)" + (state.isEmpty ? "" : " (SQLSTATE \(state))"))
        case .serverUnsafe(let server, let setting, let value, let needed):
            Failure(
                .configuration, "\(server) can lose committed data: \(setting) is \(value)",
                hint: setting == "server_version"
                    ? "use PostgreSQL \(needed)"
                    : "set \(setting) = \(needed) in postgresql.conf, and for the role and the database"
            )
        }
    }
}
