import CPostgres
import Glibc
import Sotto
import SottoState

/// A PostgreSQL database, from a URL that libpq reads.
struct PostgresLocation: Sendable {
    /// The parameters of a connection. They may have the password, and are never printed.
    private let parameters: [String: String]

    /// What the database is called in messages: never with a user or a password.
    let name: String

    /// Whether a text is a URL of PostgreSQL.
    static func isURL(_ text: String) -> Bool {
        text.hasPrefix("postgresql://") || text.hasPrefix("postgres://")
    }

    /// Reads a URL. The password may be in it, in the file that `?passfile` or `PGPASSFILE` names, or in
    /// `~/.pgpass`. Throws ``StateError/badServerURL`` for one that libpq does not take.
    init(url: String) throws(StateError) {
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
            // After a failover the standby that was promoted is found, and no other is written to.
            "target_session_attrs": "read-write", "connect_timeout": "5",
            "keepalives_idle": "5", "keepalives_interval": "3", "keepalives_count": "3",
            "tcp_user_timeout": "15000", "application_name": "sotto-relay",
        ]
        self.parameters = parameters.merging(usual) { own, _ in own }
    }

    /// Begins a connection; `nil` only when memory is out.
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

    /// A text of the server or of libpq on one line, unless it has the password.
    func safe(_ text: String) -> String {
        let line = String(text.prefix { $0 != "\n" })
        if let password = parameters["password"], !password.isEmpty, line.contains(password) {
            return "no connection"
        }
        return line
    }
}
