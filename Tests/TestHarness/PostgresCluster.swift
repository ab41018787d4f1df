package import Glibc
import Synchronization

/// A PostgreSQL server for the tests, on a socket in a temporary directory. A watcher stops it when the test process
/// ends in any way.
package final class PostgresCluster: Sendable {
    /// The directory of the data and of the socket.
    package let path: String
    private let lifeline: Int32

    /// The directory of the server's programs, or `nil` if they are not installed.
    package static let programs: String? = {
        var found = glob_t()
        defer { globfree(&found) }
        guard glob("/usr/lib/postgresql/*/bin/initdb", 0, nil, &found) == 0 else { return nil }
        let last = String(cString: found.gl_pathv[Int(found.gl_pathc) - 1]!)
        return String(last.dropLast("/initdb".count))
    }()

    /// Whether PostgreSQL and its extension PL/Proxy are installed.
    package static let hasProxy: Bool = {
        var found = glob_t()
        defer { globfree(&found) }
        return programs != nil
            && glob("/usr/share/postgresql/*/extension/plproxy.control", 0, nil, &found) == 0
    }()

    /// The server that most tests share.
    package static let shared: PostgresCluster? = PostgresCluster()

    /// Creates and starts a server; with `from` it is a standby of that server.
    package init?(settings: [String] = [], from primary: PostgresCluster? = nil) {
        guard Self.programs != nil else { return nil }
        var template = Array("/tmp/sotto-relay-tests.XXXXXX".utf8CString)
        mkdtemp(&template)
        path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        // The server refuses to run as root.
        if geteuid() == 0, let user = getpwnam("postgres") {
            chown(path, user.pointee.pw_uid, user.pointee.pw_gid)
        }
        guard let watcher = try? makePipe() else { return nil }
        lifeline = watcher.write
        _ = ChildProcess(
            "/bin/sh",
            [
                "-c",
                "read line <&3; \(Self.command("pg_ctl", [])) -D \(path)/data -m immediate stop; rm -rf \(path)",
            ], descriptor: watcher.read)
        close(watcher.read)
        if let primary {
            guard
                run(
                    "pg_basebackup",
                    [
                        "-D", path + "/data", "-R", "-X", "stream", "-c", "fast", "-d",
                        "host=\(primary.path) user=postgres application_name=standby",
                    ]) == 0
            else { return nil }
        } else {
            let options = ["-D", path + "/data", "-U", "postgres", "--auth=trust", "-N"]
            guard run("initdb", options + ["--encoding=UTF8", "--locale=C"]) == 0 else {
                return nil
            }
        }
        guard start(settings) else { return nil }
    }

    deinit { close(lifeline) }

    /// Starts the server, and waits until it accepts connections.
    package func start(_ settings: [String] = []) -> Bool {
        let own = ["listen_addresses=", "unix_socket_directories=\(path)", "max_connections=200"]
        let options = (own + settings).map { "-c \($0)" }.joined(separator: " ")
        return run(
            "pg_ctl",
            ["-D", path + "/data", "-l", path + "/log", "-w", "-t", "60", "-o", options, "start"])
            == 0
    }

    /// The process id of the server.
    package var process: pid_t {
        let text = String(
            decoding: TemporaryDirectory.contents(path + "/data/postmaster.pid"), as: UTF8.self)
        return pid_t(text.split(separator: "\n").first ?? "") ?? 0
    }

    /// Returns whether a file of the cluster contains a word. A file that another test removes meanwhile is no error.
    package func hasOnDisk(_ word: String) -> Bool {
        ChildProcess.run("/bin/sh", ["-c", "grep -rsal \(word) \(path)/data | grep -q ."]) == 0
    }

    /// Runs one of PostgreSQL's programs as the user that it requires.
    @discardableResult
    package func run(_ program: String, _ arguments: [String]) -> Int32 {
        ChildProcess.run(
            "/bin/sh", ["-c", "exec " + Self.command(program, arguments)],
            errors: path + "/errors")
    }

    private static func command(_ program: String, _ arguments: [String]) -> String {
        let user = geteuid() == 0 ? "setpriv --reuid=postgres --regid=postgres --init-groups " : ""
        return user
            + ([(programs ?? "") + "/" + program] + arguments)
            .map {
                "'"
                    + $0.split(separator: "'", omittingEmptySubsequences: false)
                    .joined(separator: "'\\''") + "'"
            }
            .joined(separator: " ")
    }

    /// Runs statements. Returns their output lines, unaligned and without headers.
    @discardableResult
    package func sql(_ text: String, in database: String = "postgres") -> [String] {
        let scratch = TemporaryDirectory()
        let file = scratch.write("statements", Array(text.utf8))
        let words =
            "exec " + (Self.programs ?? "") + "/psql -X -q -A -t -v ON_ERROR_STOP=1 -h \(path) "
            + "-U postgres -d \(database) -f \(file)"
        let status = ChildProcess.run(
            "/bin/sh", ["-c", words], output: scratch("answer"), errors: scratch("errors")
        )
        if status != 0 {
            let errors = TemporaryDirectory.contents(scratch("errors"))
            fatalError("psql: \(String(decoding: errors, as: UTF8.self))")
        }
        return scratch.lines("answer")
    }

    private static let databases = Atomic(0)

    /// Creates a database and returns its name.
    package func database() -> String {
        let number = Self.databases.wrappingAdd(1, ordering: .relaxed).newValue
        sql("CREATE DATABASE test\(number)")
        return "test\(number)"
    }

    /// The schema of a partition.
    package static var schema: String { file("Sources/SottoServer/Postgres/sotto.sql") }

    /// Returns a file of the repository.
    private static func file(_ path: String) -> String {
        let root = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3)
        let path = root.joined(separator: "/") + "/" + path
        return String(decoding: TemporaryDirectory.contents(path), as: UTF8.self)
    }

    /// Creates a PL/Proxy database with two partitions, set up as relay(8) describes.
    package func partitions() -> (proxy: String, parts: [String]) {
        let parts = [database(), database()]
        for part in parts { sql(Self.schema, in: part) }
        let proxy = database()
        let options = parts.enumerated().map { "p\($0) 'host=\(path) dbname=\($1)'" }
        sql(
            """
            CREATE EXTENSION plproxy;
            CREATE SERVER sotto FOREIGN DATA WRAPPER plproxy OPTIONS (
                \(options.joined(separator: ", ")));
            CREATE USER MAPPING FOR PUBLIC SERVER sotto OPTIONS (user 'postgres');
            """, in: proxy)
        sql(Self.schema + Self.file("share/postgresql/plproxy.sql"), in: proxy)
        return (proxy, parts)
    }

    /// Returns the URL of a database.
    package func url(_ database: String) -> String {
        "postgresql:///\(database)?host=\(path)&user=postgres"
    }
}
