import Foundation
import Glibc
import Sotto
import SottoDatabase
import SottoState
import SottoWire
import TestSupport
import Testing

/// The transports of a relay: lines, WebSocket and HTTP, plain and over TLS, on one port, through the built programs.
struct TransportTests {
    static let schemes = RelayURL.Scheme.allCases.map(\.rawValue)

    /// A relay with a self-signed certificate, and its pin.
    struct SecureRelay {
        let world: World
        let relay: RelayProcess
        let pin: String

        init(_ options: [String] = [], store: String? = nil) throws {
            let scratch = TemporaryDirectory()
            relay = try #require(
                RelayProcess(
                    scratch,
                    [
                        "--tls-cert", scratch("cert.pem"), "--tls-key",
                        scratch("key.pem"), "--tls-self-signed",
                    ] + options, store: store))
            let line = scratch.lines("relay.log").first { $0.contains("#sha256=") }
            pin = String(try #require(line?.split(separator: " ").last))
            world = World(address: relay.address)
            self.scratch = scratch
        }

        let scratch: TemporaryDirectory

        func url(_ scheme: String) -> String {
            let isSecure = ["tls", "wss", "https"].contains(scheme)
            return "\(scheme)://\(relay.address)" + (isSecure ? pin : "")
        }

        func stop() {
            relay.command.kill(SIGTERM)
            #expect(relay.command.wait() == 0)
        }
    }

    @Test(arguments: schemes)
    func everyTransportKeepsOrderAndLosesNothing(_ scheme: String) throws {
        let relay = try SecureRelay()
        let world = relay.world
        let url = relay.url(scheme)
        let ids = world.envelopes("in", 700)
        #expect(world.run("send", input: "in", output: "sent", relay: url) == 0, "\(world.errors)")
        #expect(world.statuses("sent") == Array(repeating: "stored", count: 700))
        #expect(world.run("recv", output: "got", relay: url) == 0, "\(world.errors)")
        #expect(world.ids("got") == ids)
        #expect(world.run("recv", output: "again", relay: url) == 1)
        relay.stop()
    }

    @Test(arguments: schemes)
    func newMailReachesAFollowingRecv(_ scheme: String) throws {
        let relay = try SecureRelay()
        let world = relay.world
        let listener = world.command(
            "recv", ["--follow"], output: "got", relay: relay.url(scheme))
        var all: [String] = []
        for round in 0..<3 {
            let ids = world.envelopes("in\(round)", 5)
            #expect(world.run("send", input: "in\(round)", output: "sent\(round)") == 0)
            all += ids
            let deadline = Monotonic.seconds() + 60
            while world.ids("got").count < all.count, Monotonic.seconds() < deadline {
                usleep(20_000)
            }
            #expect(world.ids("got") == all)
        }
        listener.kill(SIGTERM)
        listener.wait()
        relay.stop()
    }

    @Test(arguments: schemes)
    func aRestartedRelayIsReconnected(_ scheme: String) throws {
        let first = try SecureRelay()
        let world = first.world
        let url = first.url(scheme)
        let ids = world.envelopes("in", 40)
        #expect(world.run("send", input: "in", output: "sent", relay: url) == 0)
        let listener = world.command("recv", ["--follow"], output: "got", relay: url)
        let deadline = Monotonic.seconds() + 60
        while world.ids("got").count < 40, Monotonic.seconds() < deadline { usleep(20_000) }
        first.relay.command.kill(SIGKILL)
        first.relay.command.wait()
        let later = world.envelopes("later", 10)
        #expect(world.run("send", input: "later", output: "queued", relay: url) == 75)
        let second = try #require(
            RelayProcess(
                first.scratch, listen: first.relay.address,
                [
                    "--tls-cert", first.scratch("cert.pem"), "--tls-key",
                    first.scratch("key.pem"),
                ]))
        #expect(world.run("send", output: "resent", relay: url) == 0)
        while world.ids("got").count < 50, Monotonic.seconds() < deadline + 60 { usleep(20_000) }
        #expect(world.ids("got") == ids + later)
        listener.kill(SIGTERM)
        listener.wait()
        second.command.kill(SIGTERM)
        second.command.wait()
    }

    @Test func queuedMailUsesAnyTransport() throws {
        let relay = try SecureRelay()
        let world = relay.world
        relay.relay.command.kill(SIGKILL)
        relay.relay.command.wait()
        _ = world.envelopes("in", 3)
        #expect(world.run("send", input: "in", output: "queued") == 75)
        let second = try #require(RelayProcess(relay.scratch, listen: relay.relay.address))
        let url = "ws://\(second.address)"
        #expect(world.run("send", output: "sent", relay: url) == 0)
        #expect(world.statuses("sent") == Array(repeating: "stored", count: 3))
        second.command.kill(SIGTERM)
        second.command.wait()
    }

    // MARK: Certificates

    @Test(arguments: ["tls", "wss", "https"])
    func anUntrustedCertificateIsRefused(_ scheme: String) throws {
        let relay = try SecureRelay()
        let world = relay.world
        let plain = "\(scheme)://\(relay.relay.address)"
        #expect(world.run("recv", relay: plain) == 12)
        #expect(world.errors.contains("is not trusted"))
        let wrong = plain + "#sha256=" + String(repeating: "0", count: 64)
        #expect(world.run("recv", relay: wrong) == 12)
        let authority = relay.scratch("cert.pem")
        #expect(world.run("recv", ["--ca", authority], relay: plain) == 1, "\(world.errors)")
        #expect(world.run("recv", ["--ca", relay.scratch("key.pem")], relay: plain) == 78)
        relay.stop()
    }

    @Test func aCertificateOfAnotherNameIsRefused() throws {
        let relay = try SecureRelay(["--name", "relay.example:1"])
        let world = relay.world
        let scratch = relay.scratch
        let openssl = "/usr/bin/openssl"
        try #require(
            ChildProcess.run(
                openssl,
                [
                    "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                    "-nodes", "-keyout", scratch("key.pem"), "-out",
                    scratch("cert.pem"), "-subj", "/CN=other", "-addext",
                    "subjectAltName=DNS:other.example",
                ]) == 0)
        _ = chmod(scratch("key.pem"), 0o600)
        relay.relay.command.kill(SIGHUP)
        let deadline = Monotonic.seconds() + 30
        while !scratch.lines("relay.log").contains(where: { $0.contains("read the certificate") }),
            Monotonic.seconds() < deadline
        { usleep(10_000) }
        let url = "tls://localhost:\(relay.relay.address.split(separator: ":")[1])"
        // The new certificate is used: its authority is right, its name and its pin are not.
        #expect(world.run("recv", ["--ca", scratch("cert.pem")], relay: url) == 12)
        #expect(world.run("recv", relay: relay.url("tls")) == 12)
        // Invalid files leave the old ones in use.
        scratch.write("cert.pem", Array("junk".utf8))
        relay.relay.command.kill(SIGHUP)
        while !scratch.lines("relay.log").contains(where: { $0.contains("stays in use") }),
            Monotonic.seconds() < deadline
        { usleep(10_000) }
        #expect(world.run("recv", relay: "tcp://\(relay.relay.address)") == 1)
        relay.stop()
    }

    @Test func tlsOnlyRefusesPlainConnections() throws {
        let relay = try SecureRelay(["--tls-only"])
        let world = relay.world
        for scheme in Self.schemes {
            let isSecure = ["tls", "wss", "https"].contains(scheme)
            let status = world.run("recv", relay: relay.url(scheme))
            #expect((status == 1) == isSecure, "\(scheme): \(status)")
        }
        relay.stop()
    }

    /// An IPv4 address of this machine that is no loopback address, or `nil` if it has none.
    private static var ownAddress: String? {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return nil }
        defer { freeifaddrs(list) }
        var next = list
        while let entry = next?.pointee {
            next = entry.ifa_next
            guard let address = entry.ifa_addr, address.pointee.sa_family == sa_family_t(AF_INET)
            else { continue }
            var text = [CChar](repeating: 0, count: 64)
            let size = socklen_t(MemoryLayout<sockaddr_in>.size)
            guard
                getnameinfo(
                    address, size, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0
            else { continue }
            let name = text.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
            if !name.hasPrefix("127.") { return name }
        }
        return nil
    }

    /// Returns whether 127.0.0.1 answers an HTTP request without TLS from a source address.
    static func isServed(from source: String, port: Substring) throws -> Bool {
        let number = try #require(UInt16(port))
        let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(client) }
        let isBound = InternetSocket.bind(client, source, 0)
        try #require(isBound)
        let isConnected = InternetSocket.connect(client, "127.0.0.1", number)
        try #require(isConnected)
        let request = Array("GET /health HTTP/1.1\r\nHost: relay\r\n\r\n".utf8)
        _ = send(client, request, request.count, Int32(MSG_NOSIGNAL))
        var byte: UInt8 = 0
        return recv(client, &byte, 1, 0) == 1
    }

    /// A connection from an address of this machine to another one of its addresses stands for one from another machine.
    @Test(.enabled(if: ownAddress != nil), arguments: [false, true])
    func besideTLSOnlyThisMachineConnectsWithoutIt(_ allowsPlain: Bool) throws {
        let scratch = TemporaryDirectory()
        let relay = try #require(
            RelayProcess(
                scratch, listen: "0.0.0.0:0",
                [
                    "--tls-cert", scratch("cert.pem"), "--tls-key", scratch("key.pem"),
                    "--tls-self-signed",
                ] + (allowsPlain ? ["--allow-plain"] : [])))
        defer { relay.end() }
        let log = scratch.lines("relay.log")
        let pin = try #require(
            log.first { $0.contains("#sha256=") }?.split(separator: " ").last.map(String.init))
        let port = try #require(relay.address.split(separator: ":").last)
        let world = World(address: relay.address)
        let ownAddress = try #require(Self.ownAddress)
        for scheme in Self.schemes {
            let isSecure = ["tls", "wss", "https"].contains(scheme)
            for host in ["127.0.0.1", ownAddress] {
                let url = "\(scheme)://\(host):\(port)" + (isSecure ? pin : "")
                #expect(world.run("recv", relay: url) == 1, "\(url)")
            }
        }
        #expect(try Self.isServed(from: ownAddress, port: port) == allowsPlain)
        #expect(try Self.isServed(from: "127.0.0.1", port: port))
        let note = "relay: connections without TLS are closed, except those from this machine"
        #expect(log.contains(note) == !allowsPlain, "\(log)")
    }

    @Test func theKeyIsPrivateAndNothingIsReplaced() throws {
        let scratch = TemporaryDirectory()
        let files = [
            "--tls-cert", scratch("cert.pem"), "--tls-key", scratch("key.pem"),
        ]
        #expect(RelayProcess(scratch, files) == nil)
        let first = try #require(RelayProcess(scratch, files + ["--tls-self-signed"]))
        var status = stat()
        #expect(stat(scratch("key.pem"), &status) == 0 && status.st_mode & 0o777 == 0o600)
        let key = TemporaryDirectory.contents(scratch("key.pem"))
        first.command.kill(SIGTERM)
        first.command.wait()
        let second = try #require(RelayProcess(scratch, files + ["--tls-self-signed"]))
        #expect(TemporaryDirectory.contents(scratch("key.pem")) == key)
        second.command.kill(SIGTERM)
        second.command.wait()
        _ = chmod(scratch("key.pem"), 0o644)
        #expect(RelayProcess(scratch, files) == nil)
        #expect(scratch.lines("relay.log").contains { $0.contains("others can read the key") })
    }

    // MARK: Other programs

    @Test(.needs(.curl)) func curlWorksAsTheManualPageSays() throws {
        let relay = try SecureRelay()
        let world = relay.world
        let base = "https://\(relay.relay.address)/api"
        let tls = ["-sS", "--cacert", relay.scratch("cert.pem")]
        func ask(_ arguments: [String]) throws -> JSONObject {
            let name = "curl\(Int.random(in: 0..<1_000_000))"
            #expect(
                world.command(Peer.curl.path, tls + arguments, output: name).wait() == 0,
                "\(world.errors)")
            return try JSON.object(parsing: TemporaryDirectory.contents(world.scratch(name)))
        }
        let ids = world.envelopes("one", 1)
        let sent = try ask(["--data-binary", "@" + world.scratch("one"), base + "/messages"])
        #expect(sent["type"] == .string("stored"))
        let again = try ask(["--data-binary", "@" + world.scratch("one"), base + "/messages"])
        #expect(again["type"] == .string("duplicate"))
        let refused = try ask([base + "/messages/poll"])
        #expect(refused["payload"]?.object?["reason"] == .string("login_required"))
        // A login with two requests on two connections.
        let challenge = try ask(["-d", #"{"type":"challenge"}"#, base + "/frames"])
        let response = try #require(Response(Frame(parsing: challenge.serialized())))
        guard case .challenge(let nonce, let names) = response else {
            Issue.record("no challenge")
            return
        }
        let login = Request.login(
            Login(key: world.bob.signingKey, nonce: nonce, relay: names[0])
        ).line(requestID: "a")
        let frame = String(decoding: login, as: UTF8.self)
        let session = try ask(["--data-binary", frame, base + "/frames"])
        let token = try #require(session["payload"]?.object?["token"]?.string)
        let replayed = try ask(["--data-binary", frame, base + "/frames"])
        #expect(replayed["payload"]?.object?["reason"] == .string("login_failed"))
        let bearer = ["-H", "Authorization: Bearer \(token)"]
        let page = try ask(bearer + [base + "/messages/poll?max=10"])
        let envelopes = try #require(page["payload"]?.object?["envelopes"]?.array)
        #expect(envelopes.count == 1)
        #expect(envelopes[0].object?["envelope"]?.object?["id"] == .string(ids[0]))
        let acked = try ask(
            bearer + [
                "-d", #"{"messageId":"\#(ids[0])","status":"delivered"}"#, base + "/messages/ack",
            ])
        #expect(acked["type"] == .string("acked"))
        let empty = try ask(bearer + [base + "/messages/poll"])
        #expect(empty["payload"]?.object?["envelopes"] == .array([]))
        let forged = try ask(["-H", "Authorization: Bearer \(token)A", base + "/messages/poll"])
        #expect(forged["payload"]?.object?["reason"] == .string("login_failed"))
        relay.stop()
    }

    @Test func badRequestsGetTheirStatus() throws {
        let relay = try SecureRelay()
        let id = relay.world.bob.id
        let big = String(repeating: "x", count: WireLimits.requestBytes + 1)
        for (request, status) in [
            ("GET / HTTP/1.1\r\nHost: x\r\n\r\n", "404"),
            ("PUT /api/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", "405"),
            ("POST /api/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n{", "400"),
            ("POST /api/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}", "400"),
            ("GET /api/messages/poll?max=x HTTP/1.1\r\nHost: x\r\n\r\n", "400"),
            ("GET /api/messages/poll?max=1&max=2 HTTP/1.1\r\nHost: x\r\n\r\n", "400"),
            (
                "GET /api/messages/poll HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\n\r\n",
                "401"
            ),
            (
                "POST /api/frames HTTP/1.1\r\nHost: x\r\nContent-Length: \(big.count)\r\n\r\n\(big)",
                "413"
            ),
            (
                "POST /api/frames HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n\r\n{\"type\":\"subscribe\"}",
                "400"
            ),
            ("GARBAGE\r\n\r\n", "400"),
        ] {
            let client = RawClient(relay.relay.address)
            client.send(Array(request.utf8))
            let line = client.line() ?? ""
            #expect(line.hasPrefix("HTTP/1.1 \(status) "), "\(request.prefix(60)): \(line)")
        }
        // Two requests on one connection, the second sent before the first is answered.
        let client = RawClient(relay.relay.address)
        let one =
            "POST /api/frames HTTP/1.1\r\nHost: x\r\nContent-Length: 15\r\n\r\n{\"type\":\"ping\"}"
        client.send(Array((one + one).utf8))
        var pongs = 0
        while pongs < 2, let line = client.line() {
            if line.hasPrefix("{\"type\":\"pong\"") { pongs += 1 }
        }
        #expect(pongs == 2)
        // An answer to an unknown client contains nothing about a mailbox.
        let stranger = RawClient(relay.relay.address)
        stranger.send(Array("GET /api/messages/poll?id=\(id) HTTP/1.1\r\nHost: x\r\n\r\n".utf8))
        #expect(stranger.line()?.hasPrefix("HTTP/1.1 400") == true)
        relay.stop()
    }

    @Test func unknownProtocolsAreClosedSilently() throws {
        let scratch = TemporaryDirectory()
        let relay = try #require(RelayProcess(scratch))
        for bytes in [[0x16, 3, 1, 0, 5, 1, 2, 3, 4, 5], [0x00], [0xFF, 0xFE], [0x80, 0x01]]
            as [[UInt8]]
        {
            let client = RawClient(relay.address)
            client.send(bytes + [0x0A])
            #expect(client.line() == nil)
        }
        relay.command.kill(SIGTERM)
        #expect(relay.command.wait() == 0)
    }

    @Test(.needs(.pythonPackages)) func theWebsocketsLibraryInteroperates() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let relay = try SecureRelay()
        let world = relay.world
        let ids = world.envelopes("in", 20)
        let script = root.appendingPathComponent("Tests/Peers/websocket_client.py").path
        for (scheme, name) in [("ws", "plain"), ("wss", "secure")] {
            let code = world.command(
                Peer.pythonPackages.path,
                [
                    script, "\(scheme)://\(relay.relay.address)/", relay.scratch("cert.pem"),
                ], input: "in", output: name
            ).wait()
            #expect(code == 0, "\(world.errors)")
            let types = world.scratch.lines(name).compactMap {
                try? JSON.object(parsing: Array($0.utf8))["type"]?.string
            }
            let expected = scheme == "ws" ? "stored" : "duplicate"
            #expect(types.filter { $0 == expected }.count == 20)
            #expect(types.last == "closed 1009")
        }
        #expect(world.run("recv", output: "got") == 0)
        #expect(world.ids("got") == ids)
        relay.stop()
    }
}
