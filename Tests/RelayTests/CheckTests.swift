import Glibc
import Sotto
import SottoState
import TestSupport
import Testing

/// The findings of `relay check`.
@Suite struct CheckTests {
    let scratch = TemporaryDirectory()

    /// A finding: its level, topic and text.
    struct Finding {
        let level: String
        let topic: String
        let text: String
    }

    /// Runs a check with JSON records. Returns its status and findings.
    func check(_ options: [String], store: String? = nil) -> (status: Int32, found: [Finding]) {
        unlink(scratch("out"))
        let status = ChildProcess.run(
            "relay",
            ["check", "--json", "--store", store ?? scratch("relay.db")] + options,
            output: scratch("out"), errors: scratch("errors"))
        let found = scratch.lines("out").compactMap { line -> Finding? in
            guard let record = try? JSON.object(parsing: Array(line.utf8)),
                record["type"]?.string == "check"
            else { return nil }
            return Finding(
                level: record["level"]?.string ?? "", topic: record["topic"]?.string ?? "",
                text: record["text"]?.string ?? "")
        }
        #expect(found.count == scratch.lines("out").count)
        return (status, found)
    }

    /// Returns the levels of the findings on a topic.
    func levels(_ found: [Finding], _ topic: String) -> [String] {
        found.filter { $0.topic == topic }.map(\.level)
    }

    @Test func aGoodConfigurationHasNoErrorsAndCreatesNothing() {
        let (status, found) = check(["--listen", "127.0.0.1:0", "--monitor", "127.0.0.1:0"])
        #expect(status == 0)
        for topic in [
            "listen", "monitor", "store", "disk", "file-system", "sync", "descriptors", "clock",
        ] {
            #expect(!levels(found, topic).isEmpty, "\(topic)")
            #expect(!levels(found, topic).contains("error"), "\(topic)")
        }
        #expect(access(scratch("relay.db"), F_OK) != 0)
        #expect(access(scratch("relay.db-lock"), F_OK) != 0)
    }

    @Test func linesArePlainWithoutJSON() {
        let status = ChildProcess.run(
            "relay",
            [
                "check", "--listen", "127.0.0.1:0", "--store", scratch("missing/relay.db"),
                "--wake", "no-such-program",
            ], output: scratch("out"), errors: scratch("errors"))
        #expect(status == 78)
        let lines = scratch.lines("out")
        #expect(lines.allSatisfy { $0.contains(#/^(ok|warning|error) [a-z-]+: ./#) }, "\(lines)")
        #expect(lines.contains("error wake: no such program: no-such-program"))
        #expect(scratch.lines("errors").first == "relay: error: the check found 2 errors")
    }

    @Test func theOwnRunningRelayIsNoError() throws {
        let relay = try #require(RelayProcess(scratch))
        let (status, found) = check(["--listen", relay.address])
        #expect(status == 0)
        #expect(levels(found, "listen") == ["ok"] && levels(found, "lock") == ["ok"])
        #expect(levels(found, "store") == ["ok"])
        // With another store, the address belongs to another program.
        let other = check(["--listen", relay.address], store: scratch("other.db"))
        #expect(other.status == 78 && levels(other.found, "listen") == ["error"])
        relay.command.kill(SIGTERM)
        #expect(relay.command.wait() == 0)
        let after = check(["--listen", relay.address])
        #expect(after.status == 0 && levels(after.found, "lock") == [])
    }

    @Test func anExpiredCertificateAndAWrongKeyAreFound() throws {
        let openssl = "/usr/bin/openssl"
        func run(_ arguments: [String]) throws {
            try #require(ChildProcess.run(openssl, arguments, errors: "/dev/null") == 0)
        }
        for key in ["key", "other"] {
            try run(["genpkey", "-algorithm", "ed25519", "-out", scratch("\(key).pem")])
            _ = chmod(scratch("\(key).pem"), 0o600)
        }
        try run([
            "req", "-new", "-key", scratch("key.pem"), "-subj", "/CN=localhost", "-out",
            scratch("request.pem"),
        ])
        func certificate(days: Int) throws -> [Finding] {
            try run([
                "x509", "-req", "-in", scratch("request.pem"), "-signkey",
                scratch("key.pem"), "-days", "\(days)", "-out", scratch("cert.pem"),
            ])
            return certificate(key: "key")
        }
        func certificate(key: String) -> [Finding] {
            check([
                "--listen", "127.0.0.1:0", "--tls-cert", scratch("cert.pem"), "--tls-key",
                scratch("\(key).pem"),
            ]).found.filter { $0.topic == "certificate" }
        }
        #expect(try certificate(days: 90).map(\.level) == ["ok"])
        #expect(certificate(key: "other").map(\.level) == ["error"])
        #expect(certificate(key: "missing").map(\.level) == ["error"])
        #expect(try certificate(days: 5).map(\.level) == ["warning"])
        #expect(try certificate(days: -1).map(\.text) == ["it has expired"])
    }

    /// Creates a certificate that is valid between two times, relative to now in days.
    private func makeCertificate(from first: Int64, to last: Int64) throws {
        func time(_ days: Int64) -> String {
            let time = Timestamp(seconds: Timestamp.now().seconds + days * 86_400 + 3_600)
            return time.description.filter { $0.isNumber || $0 == "Z" }
        }
        scratch.write("serial", Array("01\n".utf8))
        scratch.write("index", [])
        let configuration = """
            [ca]
            default_ca = own
            [own]
            database = \(scratch("index"))
            serial = \(scratch("serial"))
            new_certs_dir = \(scratch.path)
            default_md = sha256
            policy = names
            [names]
            commonName = supplied

            """
        scratch.write("ca.conf", Array(configuration.utf8))
        let steps = [
            [
                "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-keyout", scratch("key.pem"), "-subj", "/CN=localhost", "-out",
                scratch("request.pem"),
            ],
            [
                "ca", "-batch", "-selfsign", "-notext", "-config", scratch("ca.conf"), "-keyfile",
                scratch("key.pem"), "-in", scratch("request.pem"), "-out", scratch("cert.pem"),
                "-startdate", time(first), "-enddate", time(last),
            ],
        ]
        for step in steps {
            try #require(ChildProcess.run("/usr/bin/openssl", step, errors: "/dev/null") == 0)
        }
        _ = chmod(scratch("key.pem"), 0o600)
    }

    /// A relay warns at its start of a certificate that clients refuse, and serves those that have pinned it.
    @Test(
        arguments: [
            (-10, -1, "it has expired"), (-10, 5, "it expires in 5 days"),
            (5, 10, "it is not valid yet"), (-10, 90, nil),
        ] as [(Int64, Int64, String?)])
    func aRelayWarnsOfItsCertificate(_ first: Int64, _ last: Int64, _ problem: String?) throws {
        try makeCertificate(from: first, to: last)
        let certificate = scratch("cert.pem")
        let relay = try #require(
            RelayProcess(scratch, ["--tls-cert", certificate, "--tls-key", scratch("key.pem")]))
        #expect(relay.end() == 0)
        let warnings = scratch.lines("relay.log").filter { $0.contains("warning") }
        let expected = problem.map { "relay: warning: the certificate \(certificate): \($0)" }
        #expect(warnings == [expected].compactMap { $0 })
    }

    @Test func unusableAddressesAreFound() {
        let other = check(["--listen", "192.0.2.1:7667"])
        #expect(other.status == 78 && levels(other.found, "listen") == ["error"])
        let unknown = check(["--listen", "nowhere.invalid:7667"])
        #expect(unknown.status == 78 && levels(unknown.found, "listen") == ["error"])
        let named = check(["--listen", "127.0.0.1:0", "--name", "nowhere.invalid:7667"])
        #expect(named.status == 0 && levels(named.found, "name") == ["warning"])
        let local = check(["--listen", "127.0.0.1:0", "--name", "localhost:7667"])
        #expect(levels(local.found, "name") == ["ok"])
        let wild = check(["--listen", "0.0.0.0:0"])
        #expect(wild.status == 0 && levels(wild.found, "name") == ["warning"])
    }

    @Test func invalidStoresAreErrors() {
        let listen = ["--listen", "127.0.0.1:0"]
        for path in [scratch.path, "/dev/null", scratch("missing/relay.db")] {
            let (status, found) = check(listen, store: path)
            #expect(status == 78 && levels(found, "store") == ["error"], "\(path)")
        }
        let text = scratch.write("text", [UInt8](repeating: 0x41, count: 200))
        #expect(levels(check(listen, store: text).found, "store") == ["error"])
        let empty = scratch.write("empty", [])
        #expect(levels(check(listen, store: empty).found, "store") == ["ok"])
    }

    /// A lock file that cannot be opened says nothing about a relay: the address can belong to another program.
    @Test func anUnreadableLockFileIsAnError() throws {
        let store = scratch.write("empty", [])
        try #require(mkdir(store + "-lock", 0o700) == 0)
        let relay = try #require(RelayProcess(scratch))
        defer { relay.end() }
        let (status, found) = check(["--listen", relay.address], store: store)
        #expect(status == 78 && levels(found, "lock") == ["error"])
        #expect(levels(found, "listen") == ["error"])
        #expect(found.contains { $0.topic == "lock" && $0.text.contains("empty-lock") })
    }

    @Test func aNewerStoreAndAReadableStoreAreFound() throws {
        let relay = try #require(RelayProcess(scratch))
        relay.command.kill(SIGTERM)
        #expect(relay.command.wait() == 0)
        let listen = ["--listen", "127.0.0.1:0"]
        #expect(levels(check(listen).found, "permissions") == ["ok"])
        chmod(scratch("relay.db"), 0o644)
        let open = check(listen)
        #expect(open.status == 0 && levels(open.found, "permissions") == ["warning"])
        var bytes = TemporaryDirectory.contents(scratch("relay.db"))
        bytes[60] = 0x7F
        let later = scratch.write("later.db", bytes)
        let (status, found) = check(listen, store: later)
        #expect(status == 78 && found.contains { $0.text.contains("newer") })
    }

    @Test func theLimitOfDescriptors() {
        let few = check(["--listen", "127.0.0.1:0", "--max-connections", "1000000000"])
        #expect(few.status == 0 && levels(few.found, "descriptors") == ["warning"])
    }

    @Test func timesToLiveAreDurations() {
        for value in ["1d", "4w", "48h"] {
            let options = ["--listen", "127.0.0.1:0", "--ttl", value, "--blob-ttl", value]
            #expect(check(options).status == 0, "\(value)")
        }
    }

    @Test func invalidOptionsAreUsageErrors() {
        #expect(check(["--ttl", "0"]).status == 64)
        #expect(check(["--listen", "nonsense"]).status == 64)
        #expect(check(["--monitor", "0.0.0.0:1"]).status == 78)
    }
}
