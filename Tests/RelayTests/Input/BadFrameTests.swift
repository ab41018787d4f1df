import Glibc
import Sotto
import SottoDatabase
import SottoState
import Synchronization
import TestSupport
import Testing

@testable import SottoServer
@testable import SottoWire

/// The answers of a relay to invalid input, over each transport.
@Suite(.timeLimit(.minutes(60))) struct BadFrameTests {
    typealias Scheme = RelayURL.Scheme

    static func relay(_ change: (inout RelayConfiguration) -> Void = { _ in }) throws
        -> RunningRelay
    {
        try RunningRelay {
            $0.tls = TestCertificate.files
            change(&$0)
        }
    }

    /// Returns a refusal as a transport delivers it.
    static func refusal(_ reason: Reason, by scheme: Scheme, id: String? = nil)
        -> TransportClient.Received
    {
        let line = Response.error(Refusal(reason)).line(requestID: id)
        let isHTTP = scheme == .http || scheme == .https
        return .frame(
            String(decoding: line.dropLast(), as: UTF8.self),
            status: isHTTP ? Int(reason.code) : nil)
    }

    static func pong(_ scheme: Scheme) -> TransportClient.Received {
        .frame(
            #"{"type":"pong","payload":{}}"#,
            status: scheme == .http || scheme == .https ? 200 : nil)
    }

    static let notJSON: [[UInt8]] =
        [
            "nonsense", #"{"type":"ping","type":"ping"}"#, "", "[1", "\u{0}",
            String(repeating: "[", count: 1_000), #"{"type":"\ud800"}"#,
            #"{"type":"ping","payload":{"a":"# + String(repeating: "[", count: 15)
                + String(repeating: "]", count: 15) + "}}",
        ].map { Array($0.utf8) } + [Array(#"{"type":""#.utf8) + [0xFF, 0xFE] + Array("\"}".utf8)]

    @Test(arguments: Scheme.allCases)
    func invalidJSONIsRefusedAndTheTenthInARowCloses(_ scheme: Scheme) throws {
        let running = try Self.relay()
        let client = TransportClient(scheme, running.relay.address)
        let refused = Self.refusal(.badJSON, by: scheme)
        for frame in Self.notJSON {
            client.sendFrame(frame)
            #expect(
                client.receive() == refused, "\(String(decoding: frame.prefix(40), as: UTF8.self))")
        }
        // The deepest allowed nesting, which also resets the count.
        let deep = String(repeating: "[", count: 14) + String(repeating: "]", count: 14)
        #expect(client.ask(#"{"type":"ping","payload":{"a":\#(deep)}}"#) == Self.pong(scheme))
        for _ in 0..<10 { #expect(client.ask("nonsense") == refused) }
        #expect(client.endsSilently())
    }

    /// Over HTTP, bodies that should be envelopes or acknowledgements count too.
    @Test(arguments: [Scheme.http, .https])
    func bodiesThatAreNotJSONCountToo(_ scheme: Scheme) throws {
        let running = try Self.relay()
        let client = TransportClient(scheme, running.relay.address)
        for number in 0..<10 {
            client.send(
                TransportClient.post(number % 2 == 0 ? "/api/messages" : "/api/messages/ack", 1)
                    + "{")
            #expect(client.receive() == Self.refusal(.badJSON, by: scheme))
        }
        #expect(client.endsSilently())
    }

    @Test(arguments: [Scheme.ws, .wss, .http, .https])
    func aLineFeedIsWhiteSpaceOnlyBetweenTokens(_ scheme: Scheme) throws {
        let running = try Self.relay()
        let client = TransportClient(scheme, running.relay.address)
        #expect(client.ask("{\n\"type\"\n:\"ping\"}") == Self.pong(scheme))
        #expect(
            client.ask("{\"type\":\"ping\",\"x\":\"a\nb\"}") == Self.refusal(.badJSON, by: scheme))
    }

    @Test(arguments: Scheme.allCases) func aFrameOverTheLimitIsAnsweredAndCloses(_ scheme: Scheme)
        throws
    {
        let running = try Self.relay()
        let client = TransportClient(scheme, running.relay.address)
        var longest = Array(#"{"type":"ping"}"#.utf8)
        longest += [UInt8](repeating: 0x20, count: WireLimits.requestBytes - longest.count)
        client.sendFrame(longest)
        #expect(client.receive() == Self.pong(scheme))
        client.sendFrame(longest + [0x20])
        if !client.isWebSocket { #expect(client.receive() == Self.refusal(.tooLarge, by: scheme)) }
        #expect(client.endsSilently(1009))
    }

    @Test(arguments: Scheme.allCases)
    func anEnvelopeOverTheLimitIsRejectedAndTheConnectionStays(_ scheme: Scheme) throws {
        let running = try Self.relay()
        let client = TransportClient(scheme, running.relay.address)
        let record = Sample.record(
            to: Sample.identity().id, text: String(repeating: "A", count: 66_000))
        client.sendFrame(Array(Request.sendLine(record.serialized(), requestID: "1").dropLast()))
        let rejected = #"{"type":"rejected","request_id":"1","#
        #expect(
            client.receive()
                == .frame(
                    rejected + #""payload":{"code":413,"reason":"too_large"}}"#,
                    status: client.isHTTP ? 413 : nil))
        #expect(client.ask(#"{"type":"ping"}"#) == Self.pong(scheme))
    }

    @Test(arguments: Scheme.allCases)
    func refusalsCarryTheRequestID(_ scheme: Scheme) throws {
        let running = try Self.relay()
        let client = TransportClient(scheme, running.relay.address)
        let id = Envelope.newID()
        for (number, (type, payload, reason)) in [
            ("nonsense", "{}", Reason.unknownType), ("send", "{}", .badFields),
            ("send", #"{"envelope":{"v":1}}"#, .badFields),
            ("claim", #"{"id":"05","claim":"x"}"#, .badFields),
            ("claims", #"{"ids":["\#(Sample.identity().id)"],"claims":[]}"#, .badFields),
            ("claim", #"{"id":"\#(Sample.identity().id)","claim":"\#(id)"}"#, .noBundle),
            ("prekeys", #"{"publication":{"v":1,"type":"prekeys"}}"#, .badFields),
            ("fetch", #"{"max":101}"#, .badFields), ("fetch", "{}", .loginRequired),
            ("ack", #"{"ids":["\#(id)"],"status":"gone"}"#, .badFields),
            ("ack", #"{"ids":["\#(id)"],"status":"delivered"}"#, .loginRequired),
        ].enumerated() {
            let frame = #"{"type":"\#(type)","request_id":"r.\#(number)","payload":\#(payload)}"#
            #expect(
                client.ask(frame) == Self.refusal(reason, by: scheme, id: "r.\(number)"), "\(frame)"
            )
        }
        // HTTP could not deliver the pushes.
        let subscribe = client.ask(#"{"type":"subscribe","request_id":"s"}"#)
        let reason = client.isHTTP ? Reason.unknownType : .loginRequired
        #expect(subscribe == Self.refusal(reason, by: scheme, id: "s"))
        #expect(client.ask(#"{"type":"ping"}"#) == Self.pong(scheme))
    }

    @Test(arguments: Scheme.allCases) func everyLoginFailureHasTheSameBytes(_ scheme: Scheme) throws
    {
        let running = try Self.relay { $0.failedLoginPause = 0.001 }
        let name = running.relay.address
        let owner = Sample.identity()
        let stranger = Sample.identity()
        /// Returns the answer to a login that `make` creates from a nonce.
        func attempt(_ make: ([UInt8]) -> Login) throws -> TransportClient.Received {
            let client = TransportClient(scheme, name)
            guard case .frame(let text, _) = client.ask(.challenge),
                case .challenge(let nonce, _)? = Response(try Frame(parsing: Array(text.utf8)))
            else { return .end }
            return client.ask(.login(make(nonce)), id: "login")
        }
        func login(
            _ id: KeyID, signed: Login, relay: String, nonce: [UInt8]
        ) -> Login { Login(id: id, nonce: nonce, relay: relay, proof: signed.proof) }

        let causes: [([UInt8]) -> Login] = [
            { _ in Login(key: owner.signingKey, nonce: randomBytes(32), relay: name) },
            { Login(key: owner.signingKey, nonce: $0, relay: "other.example:1") },
            { nonce in
                let other = Login(key: owner.signingKey, nonce: nonce, relay: "other.example:1")
                return login(owner.id, signed: other, relay: name, nonce: nonce)
            },
            { nonce in
                let other = Login(key: stranger.signingKey, nonce: nonce, relay: name)
                return login(owner.id, signed: other, relay: name, nonce: nonce)
            },
            { nonce in
                Login(id: owner.id, nonce: nonce, relay: name, proof: .signature(randomBytes(64)))
            },
        ]
        var answers = Set(try causes.map(attempt))
        // Without a challenge, malformed, and with an invalid token.
        for frame in [
            String(
                decoding: Request.login(
                    Login(key: owner.signingKey, nonce: randomBytes(32), relay: name)
                ).line(requestID: "login").dropLast(), as: UTF8.self),
            #"{"type":"login","request_id":"login","payload":{}}"#,
            #"{"type":"login","request_id":"login","payload":{"id":"x","nonce":7}}"#,
            #"{"type":"resume","request_id":"login","payload":{"token":"x"}}"#,
            #"{"type":"resume","request_id":"login","payload":{}}"#,
        ] { answers.insert(TransportClient(scheme, name).ask(frame)) }
        #expect(answers == [Self.refusal(.loginFailed, by: scheme, id: "login")])
        guard
            case .frame(let text, _) = try attempt({ nonce in
                Login(key: owner.signingKey, nonce: nonce, relay: name)
            })
        else {
            Issue.record("no session")
            return
        }
        #expect(text.hasPrefix(#"{"type":"session","request_id":"login""#))
    }

    @Test(arguments: Scheme.allCases) func silentAndSlowClientsAreDropped(_ scheme: Scheme) throws {
        let running = try Self.relay { $0.lineTimeout = 0.5 }
        let address = running.relay.address
        let silent = TransportClient(scheme, address)
        // A partial frame at first, and one after a frame.
        let part: [UInt8] =
            silent.isHTTP
            ? Array("POST /api/fra".utf8)
            : silent.isWebSocket ? [0x81, 0x8F, 1, 2] : Array(#"{"type"#.utf8)
        let begun = TransportClient(scheme, address)
        begun.send(part)
        let later = TransportClient(scheme, address)
        #expect(later.ask(#"{"type":"ping"}"#) == Self.pong(scheme))
        later.send(part)
        for client in [silent, begun, later] { #expect(client.endsSilently()) }
        if silent.isHTTP {
            let bodiless = TransportClient(scheme, address)
            bodiless.send(TransportClient.post("/api/frames", 15) + "{")
            #expect(bodiless.endsSilently())
        }
    }

    /// A client that has sent a complete frame, or a complete request of another kind, may be silent for longer.
    @Test(arguments: [Scheme.ws, .http]) func aCompleteFrameEndsTheLineTimeout(_ scheme: Scheme)
        throws
    {
        let running = try Self.relay { $0.lineTimeout = 0.2 }
        let client = TransportClient(scheme, running.relay.address)
        #expect(client.ask(#"{"type":"ping"}"#) == Self.pong(scheme))
        if client.isWebSocket {
            client.send(WebSocketBytes.frame(.ping, "hello"))
            #expect(client.receive() == .pong(Array("hello".utf8)))
        } else {
            client.send("GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n")
            guard case .frame(_, status: 404) = client.receive() else {
                Issue.record("not 404")
                return
            }
        }
        // Another client is dropped for its silence, which takes as long as it would for this one.
        #expect(TransportClient(.tcp, running.relay.address).endsSilently())
        #expect(TransportClient(.tcp, running.relay.address).endsSilently())
        #expect(client.ask(#"{"type":"ping"}"#) == Self.pong(scheme))
    }

    @Test(arguments: [Scheme.tcp, .tls]) func unknownProtocolsAreClosedSilently(_ scheme: Scheme)
        throws
    {
        let running = try Self.relay()
        let strange: [[UInt8]] = [[0], [0xFF, 0xFE], [0x80, 1], Array("\u{7F}ELF".utf8)]
        // Invalid TLS, inside or outside of TLS.
        for bytes in strange + [[0x16, 3, 1, 0, 5, 1, 2, 3, 4, 5], [0x16, 3, 1, 0xFF, 0xFF]] {
            let client = TransportClient(scheme, running.relay.address)
            client.send(bytes + [0x0A])
            // OpenSSL's library sends a TLS alert.
            while let line = client.line() { #expect(!line.contains("{"), "\(line)") }
        }
    }
}

/// A full disk, and a failing disk, over each transport.
@Suite struct FaultTests {
    typealias Scheme = RelayURL.Scheme

    static func relay(
        _ store: any Store, onFailure: @escaping @Sendable (StoreError) -> Void
    ) throws -> Relay {
        var configuration = RelayConfiguration(
            listen: RelayURL(host: "127.0.0.1", port: 0), store: "")
        configuration.tls = TestCertificate.files
        return try Relay(configuration, store: store, onFailure: onFailure)
    }

    @Test(arguments: Scheme.allCases) func aFullDiskDefersAndAcknowledgementsWork(_ scheme: Scheme)
        throws
    {
        let store = StubStore()
        store.outcome.withLock { $0 = .diskFull }
        let relay = try Self.relay(store) { Issue.record("\($0)") }
        let bob = Sample.identity()
        let client = TransportClient(scheme, relay.address)
        let envelope = Sample.envelope(to: bob.id)
        #expect(
            client.ask(.send(envelope), id: "s")
                == .frame(
                    #"{"type":"deferred","request_id":"s","#
                        + #""payload":{"code":507,"reason":"disk_full"}}"#,
                    status: client.isHTTP ? 507 : nil))
        // One token for both kinds of HTTP acknowledgement.
        guard case .frame(let text, _) = client.ask(.challenge),
            case .challenge(let nonce, let names)? = Response(
                try Frame(parsing: Array(text.utf8))),
            case .frame(let session, _) = client.ask(
                .login(Login(key: bob.signingKey, nonce: nonce, relay: names[0]))),
            let token = try Frame(parsing: Array(session.utf8)).payload["token"]?.string
        else {
            Issue.record("no login")
            return
        }
        store.outcome.withLock { $0 = .acknowledged(removed: 1) }
        let ack = #"{"ids":["\#(envelope.id)"],"status":"delivered"}"#
        if client.isHTTP {
            client.send(
                "POST /api/messages/ack HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(token)\r\n"
                    + "Content-Length: \(ack.utf8.count)\r\n\r\n\(ack)")
            #expect(
                client.receive()
                    == .frame(
                        #"{"type":"acked","request_id":"http","payload":{}}"#, status: 200))
        } else {
            #expect(
                client.ask(#"{"type":"ack","request_id":"a","payload":\#(ack)}"#)
                    == .frame(#"{"type":"acked","request_id":"a","payload":{}}"#, status: nil))
        }
        try relay.stop()
    }

    @Test(arguments: Scheme.allCases)
    func afterAFailedSyncNothingIsAcknowledged(_ scheme: Scheme) throws {
        let failed = EventBox()
        let relay = try Self.relay(StubStore(failure: StubStore.diskError)) { failed.put($0) }
        let client = TransportClient(scheme, relay.address)
        let bystander = TransportClient(scheme, relay.address)
        #expect(bystander.ask(#"{"type":"ping"}"#) == BadFrameTests.pong(scheme))
        client.sendFrame(
            Array(
                Request.send(Sample.envelope(to: Sample.identity().id)).line(requestID: "1")
                    .dropLast()))
        #expect(client.endsSilently())
        #expect(bystander.endsSilently())
        #expect(failed.wait() == StubStore.diskError)
        try relay.stop()
    }

    /// The built program, on a disk whose synchronization starts to fail.
    @Test(
        .needs(.compiler),
        arguments: Scheme.allCases)
    func theProgramEndsWhenTheDiskFails(_ scheme: Scheme) throws {
        let scratch = TemporaryDirectory()
        let disk = try FailingDisk(scratch)
        let relay = try #require(
            RelayProcess(
                scratch,
                [
                    "--tls-cert", TestCertificate.files.certificate, "--tls-key",
                    TestCertificate.files.key,
                ], environment: disk.environment))
        let bob = Sample.identity()
        let client = TransportClient(scheme, relay.address)
        let first = Sample.envelope(to: bob.id)
        guard case .frame(let stored, _) = client.ask(.send(first)) else {
            Issue.record("not stored")
            return
        }
        #expect(stored.hasPrefix(#"{"type":"stored""#))
        disk.fail()
        client.sendFrame(
            Array(Request.send(Sample.envelope(to: bob.id)).line(requestID: "2").dropLast()))
        let received = client.receive()
        #expect(received == .end || received == .closeFrame(1000))
        #expect(relay.command.wait() == 74)
        // The next start is clean, and has the mail that was acknowledged.
        let again = try #require(RelayProcess(scratch))
        let reader = RawClient(again.address)
        #expect(reader.login(bob)?.isSession == true)
        reader.send(#"{"type":"fetch","request_id":"f"}"#)
        guard case .messages(let found, _) = reader.response() else {
            Issue.record("no messages")
            return
        }
        #expect(found.first?.envelope == first.bytes)
        #expect(again.end() == 0)
    }
}

/// Makes every synchronization of a program fail on demand.
struct FailingDisk {
    private let scratch: TemporaryDirectory

    private static let home = TemporaryDirectory()

    private static let source = """
        #define _GNU_SOURCE
        #include <errno.h>
        #include <stdlib.h>
        #include <sys/syscall.h>
        #include <unistd.h>
        static int fails(void) { return access(getenv("FAILS_WHERE"), F_OK) == 0; }
        int fsync(int file) { return fails() ? (errno = EIO, -1) : syscall(SYS_fsync, file); }
        int fdatasync(int file) { return fails() ? (errno = EIO, -1) : syscall(SYS_fdatasync, file); }
        """

    /// The library to preload.
    private static let library = Result {
        try Compiler.library(home("sync.so"), home.write("sync.c", Array(source.utf8)))
    }

    let environment: [String: String]

    init(_ scratch: TemporaryDirectory) throws {
        self.scratch = scratch
        environment = ["LD_PRELOAD": try Self.library.get(), "FAILS_WHERE": scratch("fails")]
    }

    /// Makes all further synchronizations fail.
    func fail() { scratch.write("fails", []) }
}
