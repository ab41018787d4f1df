import CPostgres
import Glibc
import Sotto
import SottoDatabase

/// A PostgreSQL database, from a URL that libpq reads.
struct PostgresLocation: Sendable {
    /// The parameters of a connection. They may contain the password and are never printed.
    private let parameters: [String: String]

    /// The name of the database in messages, without user and password.
    let name: String

    /// Whether a text is a PostgreSQL URL.
    static func isURL(_ text: String) -> Bool {
        text.hasPrefix("postgresql://") || text.hasPrefix("postgres://")
    }

    /// Parses a URL. The password may be in it, in the file that `?passfile` or `PGPASSFILE` names, or in `~/.pgpass`.
    /// Throws ``StoreError/badServerURL`` if libpq refuses the URL.
    init(url: String) throws(StoreError) {
        // libpq's own message would repeat parts of the URL.
        guard let options = PQconninfoParse(url, nil) else { throw .badServerURL }
        defer { PQconninfoFree(options) }
        var parameters: [String: String] = [:]
        var place = options
        while let keyword = place.pointee.keyword {
            if let value = place.pointee.val {
                parameters[String(cString: keyword)] = String(cString: value)
            }
            place += 1
        }
        let hosts = parameters["host"] ?? parameters["hostaddr"] ?? ""
        name =
            "postgresql://\(hosts)\(parameters["port"].map { ":\($0)" } ?? "")/\(parameters["dbname"] ?? "")"
        let usual = [
            // After a failover libpq finds the promoted standby, and connects to no server that is read-only.
            "target_session_attrs": "read-write", "connect_timeout": "5",
            "keepalives_idle": "5", "keepalives_interval": "3", "keepalives_count": "3",
            "tcp_user_timeout": "15000", "application_name": "sotto-relay",
        ]
        self.parameters = parameters.merging(usual) { own, _ in own }
    }

    /// Opens a connection. Returns `nil` only if memory runs out.
    func connect() -> OpaquePointer? {
        let all = Array(parameters)
        var words = all.map { strdup($0.key) } + [nil]
        words += all.map { strdup($0.value) } + [nil]
        defer { for word in words { free(word) } }
        let pointers = words.map { UnsafePointer($0) }
        return pointers.withUnsafeBufferPointer { pointers in
            let keys = pointers.baseAddress!
            return PQconnectdbParams(keys, keys + all.count + 1, 0)
        }
    }

    /// Returns the first line of a message of the server or libpq, or a fixed text if the line has the password.
    func safe(_ text: String) -> String {
        let line = String(text.prefix { $0 != "\n" })
        if let password = parameters["password"], !password.isEmpty, line.contains(password) {
            return "no connection"
        }
        return line
    }
}
