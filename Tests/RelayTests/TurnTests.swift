import Foundation
import Glibc
import Sotto
import SottoBytes
import SottoDatabase
import SottoWire
import TestSupport
import Testing

@testable import SottoServer

/// Credentials for TURN servers.
@Suite(.timeLimit(.minutes(60))) struct TurnTests {
    static let secret = "0123456789abcdef0123"
    static let uris = ["turn:turn.example.org:3478?transport=udp", "turns:turn.example.org"]

    static func servers(_ uris: [String] = Self.uris, secret: [UInt8] = Array(secret.utf8))
        -> TurnServers
    {
        TurnServers(secret: SecretBytes(copying: secret), uris: uris)
    }

    /// Computed with Python's hmac, as draft-uberti-behave-turn-rest-00 §2.2 has it.
    @Test func thePasswordIsAKnownAnswer() {
        let credentials = Self.servers().credentials(user: "abc", expiry: 1_795_943_131)
        #expect(credentials.username == "1795943131:abc")
        #expect(credentials.password == "rwzU+hQ8ovC99lOF2cBCVcwd8iE=")
        #expect(credentials.uris == Self.uris && credentials.ttl == 86_400)
    }

    @Test func aServerLearnsNoIDAndKnowsAUserForADay() throws {
        let servers = Self.servers()
        let (alice, bob) = (Sample.identity().id, Sample.identity().id)
        func user(_ id: KeyID, _ time: Int64) throws -> String {
            let name = servers.credentials(for: id, at: time).username
            let parts = name.split(separator: ":")
            #expect(parts.count == 2 && parts[0] == "\(time + 86_400)")
            return String(try #require(parts.last))
        }
        let day: Int64 = 20_000 * 86_400
        #expect(try user(alice, day) == user(alice, day + 86_399))
        #expect(try user(alice, day) != user(alice, day + 86_400))
        #expect(try user(alice, day) != user(bob, day))
        #expect(try user(alice, day).count == 16)
        #expect(try !user(alice, day).contains(alice.description.prefix(16)))
        // The name is under the secret.
        let other = Self.servers(secret: Array("another secret of mine".utf8))
        #expect(
            other.credentials(for: alice, at: day).username
                != servers.credentials(for: alice, at: day).username)
    }

    @Test(arguments: [
        ("turn:a.example:3478?transport=udp", true), ("turns:[::1]:5349", true), ("stun:a", true),
        ("stuns:a", true), ("turn:", false), ("turn://a", false), ("http://a", false),
        ("turn:a b", false), ("turn:a\n", false), ("turn:a\"", false), ("turn:ä", false),
        ("", false),
        ("turn:" + String(repeating: "a", count: 1_024), false),
    ])
    func onlyURIsOfServersAreTaken(_ text: String, _ isTaken: Bool) {
        #expect(TurnCredentials.isURI(text) == isTaken)
    }

    @Test func theFrameIsReadAsItIsWritten() throws {
        let request = try Request(Frame(parsing: Request.turn.line(requestID: "x")))
        #expect(request == .turn)
        let credentials = Self.servers().credentials(for: Sample.identity().id, at: 1)
        let line = Response.turn(credentials).line(requestID: "x")
        #expect(Response(try Frame(parsing: line)) == .turn(credentials))
        for (name, value) in [
            ("uris", JSON.array([])), ("uris", .array([.string("http://a")])),
            ("uris", .array((0..<17).map { .string("turn:a\($0)") })),
            ("username", .string("a\u{1B}b")), ("password", .string("")), ("ttl", .integer(-1)),
            ("ttl", .string("1")),
        ] {
            var record = try JSON.object(parsing: Array(line.dropLast()))
            var payload = try #require(record["payload"]?.object)
            payload[name] = value
            record["payload"] = .object(payload)
            #expect(Response(try Frame(parsing: record.serialized())) == nil, "\(name)")
        }
    }

    @Test func onlyALoggedInOwnerGetsCredentials() throws {
        let bob = Sample.identity()
        let line = ConnectionStateTests.Line { $0.turn = Self.servers() }
        #expect(line.ask(.turn) == .error(Refusal(.loginRequired)))
        _ = line.logIn(bob)
        guard case .turn(let credentials)? = line.ask(.turn) else {
            Issue.record("no credentials")
            return
        }
        #expect(credentials.uris == Self.uris)
        let without = ConnectionStateTests.Line()
        #expect(without.ask(.turn) == .error(Refusal(.loginRequired)))
        _ = without.logIn(bob)
        #expect(without.ask(.turn) == .error(Refusal(.noTurn)))
        let members = ConnectionStateTests.Line {
            $0.turn = Self.servers()
            $0.admission.isByInvitation = true
        }
        #expect(members.logIn(bob) == .error(Refusal(.notAdmitted)))
        #expect(members.ask(.turn) == nil)
    }

    // MARK: Programs

    func secretFile(_ scratch: TemporaryDirectory, _ text: String = secret + "\n") -> String {
        scratch.write("secret", Array(text.utf8))
        chmod(scratch("secret"), 0o600)
        return scratch("secret")
    }

    @Test(arguments: ["tcp", "ws", "http"]) func recvPrintsCredentials(_ scheme: String) throws {
        let files = TemporaryDirectory()
        let uris = Self.uris.flatMap { ["--turn-uri", $0] }
        let world = try Correspondence(["--turn-secret", secretFile(files)] + uris)
        let line = try world.expect(
            "bob", "recv --turn --relay \(scheme)://\(world.relay.address)")
        let record = try JSON.object(parsing: Array(try #require(line.first).utf8))
        #expect(record["type"] == .string("turn"))
        #expect(record["uris"] == .array(Self.uris.map { .string($0) }))
        let name = try #require(record["username"]?.string)
        let expiry = try #require(name.split(separator: ":").first.flatMap { Int64($0) })
        let now = Timestamp.now().seconds
        #expect((now + 86_300...now + 86_460).contains(expiry))
        let user = try #require(name.split(separator: ":").last)
        let expected = Self.servers().credentials(user: String(user), expiry: expiry)
        #expect(record["password"] == .string(expected.password))
        let end = try #require(record["expires"]?.string.flatMap { Timestamp($0) })
        #expect(abs(end.seconds - expiry) <= 120)
        world.stop()
    }

    @Test func aRelayWithoutServersSaysSo() throws {
        let world = try Correspondence()
        #expect(world.shell("bob", "recv --turn").status == 1)
        let errors = world.errors
        #expect(errors.contains("has no TURN servers"))
        #expect(world.shell("bob", "recv --turn -q").status == 1)
        #expect(world.errors == errors)
        world.stop()
    }

    @Test func theOptionsAreChecked() throws {
        let files = TemporaryDirectory()
        func run(_ options: [String]) -> (status: Int32, errors: String) {
            let log = files("log")
            let relay = ChildProcess(
                "relay", ["--listen", "127.0.0.1:0", "--store", files("relay.db")] + options,
                errors: log)
            return (
                relay.wait(), String(decoding: TemporaryDirectory.contents(log), as: UTF8.self)
            )
        }
        let secret = secretFile(files)
        let uri = ["--turn-uri", "turn:a"]
        #expect(run(uri).status == 64)
        #expect(run(["--turn-secret", secret]).status == 64)
        #expect(run(["--turn-secret", secret, "--turn-uri", "http://a"]).status == 64)
        #expect(run(["--turn-secret", files("none")] + uri).status == 66)
        chmod(secret, 0o604)
        let open = run(["--turn-secret", secret] + uri)
        #expect(open.status == 77 && open.errors.contains("chmod 600"))
        for text in ["", "short", String(repeating: "a", count: 1_025), "aaaaaaaaaaaaaaaa\nb"] {
            _ = secretFile(files, text)
            let refused = run(["--turn-secret", secret] + uri)
            #expect([65, 78].contains(refused.status), "\(text.count): \(refused.errors)")
        }
    }

    /// Debian's coturn grants a relayed address for the credentials, and for no other password.
    @Test(.needs(.coturn, .coturnClient)) func coturnTakesTheCredentials() throws {
        let files = TemporaryDirectory()
        // A socket finds a free port.
        let port = try #require(UDPPort.free())
        let log = files("turn.log")
        let turn = ChildProcess(
            Peer.coturn.path,
            [
                "--use-auth-secret", "--static-auth-secret=\(Self.secret)", "--realm=sotto", "-n",
                "-L", "127.0.0.1", "-E", "127.0.0.1", "-p", "\(port)", "--no-tls", "--no-dtls",
                "--no-cli", "--allow-loopback-peers", "--log-file=stdout", "--simple-log",
                "--pidfile=\(files("pid"))", "--userdb=\(files("db"))",
            ], output: log, errors: log)
        defer {
            turn.kill(SIGTERM)
            turn.wait()
        }
        let world = try Correspondence([
            "--turn-secret", secretFile(files), "--turn-uri", "turn:127.0.0.1:\(port)",
        ])
        let record = try JSON.object(
            parsing: Array(try #require(world.expect("bob", "recv --turn").first).utf8))
        let (name, password) = (record["username"]?.string, record["password"]?.string)
        func allocate(_ password: String) -> Int32 {
            ChildProcess(
                Peer.coturnClient.path,
                [
                    "-y", "-c", "-n", "1", "-m", "1", "-u", name ?? "", "-w", password, "-p",
                    "\(port)", "127.0.0.1",
                ], output: files("client"), errors: files("client")
            ).wait()
        }
        // The server begins to listen at some time after its start.
        var granted = allocate(password ?? "")
        let deadline = Monotonic.seconds() + 20
        while granted != 0, Monotonic.seconds() < deadline { granted = allocate(password ?? "") }
        #expect(granted == 0)
        #expect(allocate((password ?? "") + "x") != 0)
        world.stop()
    }
}

/// A UDP port of the loopback interface that no socket uses.
private enum UDPPort {
    static func free() -> UInt16? {
        let descriptor = socket(
            AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        let isBound = InternetSocket.bind(descriptor, "127.0.0.1", 0)
        return isBound ? InternetSocket.port(of: descriptor) : nil
    }
}
