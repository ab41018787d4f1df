/// The location of a store, the value of `--store`: a file, or a PostgreSQL database.
public enum StoreLocation: Sendable {
    /// An SQLite file.
    case file(String)
    /// A database, by its URL, which may contain a password; ``name`` never does.
    case postgres(url: String)

    /// Parses the value of `--store`: `postgresql://…` and `postgres://…` are URLs, all else is a path.
    public init(_ text: String) {
        self = PostgresLocation.isURL(text) ? .postgres(url: text) : .file(text)
    }

    /// The name in messages, without user and password.
    public var name: String {
        switch self {
        case .file(let path): path
        case .postgres(let url): (try? PostgresLocation(url: url))?.name ?? "postgresql://"
        }
    }

    /// Opens or creates the store. With `isExclusive` false a relay may be using it, and only accounts and
    /// invitations may be changed.
    func open(_ retention: Retention, isExclusive: Bool = true) throws(StoreError)
        -> any CopyableStore
    {
        switch self {
        case .file(let path):
            try SQLiteStore(path: path, retention: retention, isExclusive: isExclusive)
        case .postgres(let url): try PostgresStore(url: url, retention: retention)
        }
    }
}
