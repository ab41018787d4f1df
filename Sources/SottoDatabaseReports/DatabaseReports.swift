import Glibc
public import SottoDatabase
public import SottoProgram

extension DatabaseError: FailureError {
    /// The report.
    public var failure: Failure {
        switch self {
        case .locked(let what):
            Failure(
                .tryAgain, "\(what) is in use by another process",
                hint: "run the same command again, or set a longer --lock-timeout")
        case .cannotOpen(let path, let code):
            Failure(
                code == EACCES || code == EPERM ? .permission : .cannotCreate,
                "cannot open \(path): \(Failure.text(of: code))")
        case .newerVersion(let path):
            Failure(
                .configuration, "\(path) was written by a newer sotto",
                hint: "use that version; the file was not changed")
        case .otherFormat(let path):
            Failure(
                .configuration, "no released sotto wrote \(path)",
                hint: "move it away, or use the build that wrote it; the file was not changed")
        case .notDurable(let path):
            Failure(.configuration, "the database \(path) does not synchronize its commits")
        case .full(let path):
            Failure(
                .ioError, "no space left on the disk of \(path)",
                hint: "free some space, then run the same command again")
        case .inputOutput(let path, let code):
            Failure(.ioError, "cannot read or write \(path) (SQLite \(code))")
        case .damaged(let path):
            Failure(.ioError, "\(path) is damaged or is not a database")
        case .unexpected(let path, let code):
            Failure(.bug, "unexpected SQLite error \(code) on \(path)")
        }
    }
}
