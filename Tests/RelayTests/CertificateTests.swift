import Glibc
import NIOSSL
import Sotto
import SottoNetwork
import SottoState
import TestSupport
import Testing

/// Certificates of relays that are not trusted: the message names the reason, and no hint advises to trust an expired or a
/// foreign certificate.
@Suite(.timeLimit(.minutes(60))) struct CertificateTests {
    let scratch = TemporaryDirectory()

    init() throws {
        try openssl("req -x509", "root", "/CN=Test Root")
        try openssl("req -x509", "strange", "/CN=Strange Root")
        try sign(
            "between", "/CN=Test Intermediate", "basicConstraints=critical,CA:TRUE", by: "root")
        try sign("leaf", "/CN=leaf", "subjectAltName=DNS:localhost", by: "between")
        try sign("direct", "/CN=leaf", "subjectAltName=DNS:*.example.org,IP:127.0.0.1", by: "root")
        try sign("old", "/CN=leaf", "subjectAltName=DNS:localhost", by: "root", days: -1)
        try sign("other", "/CN=leaf", "subjectAltName=DNS:other.example", by: "root")
        scratch.write("chain.pem", try scratch.read("leaf.pem") + scratch.read("between.pem"))
        scratch.write("chain.key", try scratch.read("leaf.key"))
    }

    private func openssl(
        _ command: String, _ name: String, _ subject: String, _ more: [String] = []
    ) throws {
        let out = command.contains("x509") ? ".pem" : ".request"
        try #require(
            ChildProcess.run(
                "/usr/bin/openssl",
                command.split(separator: " ").map(String.init) + [
                    "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                    scratch(name + ".key"), "-out", scratch(name + out), "-subj", subject,
                ] + more) == 0)
    }

    /// Makes a certificate that `issuer` signs.
    private func sign(
        _ name: String, _ subject: String, _ field: String, by issuer: String, days: Int = 30
    ) throws {
        try openssl("req -new", name, subject, ["-addext", field])
        try #require(
            ChildProcess.run(
                "/usr/bin/openssl",
                [
                    "x509", "-req", "-in", scratch(name + ".request"), "-CA",
                    scratch(issuer + ".pem"), "-CAkey", scratch(issuer + ".key"),
                    "-CAcreateserial", "-copy_extensions", "copy", "-days", "\(days)", "-out",
                    scratch(name + ".pem"),
                ]) == 0)
    }

    /// Asks a relay with a certificate, and returns the status of `recv` and its messages.
    private func ask(
        _ name: String, trusting authority: String
    ) throws -> (status: Int32, errors: String) {
        _ = chmod(scratch(name + ".key"), 0o600)
        let relay = try #require(
            RelayProcess(
                TemporaryDirectory(),
                ["--tls-cert", scratch(name + ".pem"), "--tls-key", scratch(name + ".key")],
                store: scratch(name + ".db")))
        defer { relay.end() }
        let world = World(address: relay.address)
        let url = "tls://localhost:\(relay.address.split(separator: ":")[1])"
        let status = world.run("recv", ["--ca", scratch(authority + ".pem")], relay: url)
        return (status, world.errors)
    }

    @Test(
        arguments: [
            ("chain", "root", nil),
            ("old", "root", "expired on"),
            ("other", "root", "is for other.example, not for localhost"),
            (
                "leaf", "root",
                "its issuer, Test Intermediate, is not known here, and the relay sends no"
            ),
            ("chain", "strange", "its authority, Test Root, is not known here"),
            ("root", "strange", "is for Test Root, not for localhost"),
        ] as [(String, String, String?)])
    func theMessageNamesTheReason(_ name: String, _ authority: String, _ reason: String?) throws {
        let (status, errors) = try ask(name, trusting: authority)
        #expect(status == (reason == nil ? 1 : 12), "\(errors)")
        guard let reason else { return }
        #expect(errors.contains(reason), "\(errors)")
        // The message must not suggest a pin for an expired or a foreign certificate.
        let mayTrust = reason.hasPrefix("its ")
        #expect(errors.contains("--ca FILE") == mayTrust && errors.contains("pin") == mayTrust)
        // The pin is the operator's to give: the key that was seen is not printed.
        let command = #/: sotto keygen set --relay 'tls://localhost:[0-9]+#sha256=PIN'\n/#
        #expect(errors.contains(command) == mayTrust, "\(errors)")
    }

    /// The items for a relay with an untrusted certificate can be dropped by the address of the relay.
    @Test func whatWaitsForAnUntrustedRelayIsGivenUp() throws {
        _ = chmod(scratch("chain.key"), 0o600)
        let relay = try #require(
            RelayProcess(
                TemporaryDirectory(),
                ["--tls-cert", scratch("chain.pem"), "--tls-key", scratch("chain.key")]))
        defer { relay.end() }
        let world = World(address: relay.address)
        let url = "tls://localhost:\(relay.address.split(separator: ":")[1])"
        _ = world.envelopes("in", 2)
        let options = ["--ca", scratch("strange.pem")]
        #expect(world.run("send", options, input: "in", relay: url) == 75)
        #expect(
            world.errors.contains(
                "send: note: if this relay is no longer used, give up what waits for it: sotto send --drop '\(url)'\n"
            ), "\(world.errors)")
        _ = world.envelopes("other", 1)
        #expect(world.run("send", input: "other", relay: "tcp://127.0.0.1:1") == 75)
        #expect(world.run("send", ["--drop", url], output: "dropped", relay: url) == 0)
        #expect(world.statuses("dropped") == ["dropped", "dropped"])
        #expect(world.run("send", ["--drop", url], relay: url) == 1)
        #expect(world.errors.contains("no item for \(url) waits"), "\(world.errors)")
        // The other relay keeps its item.
        #expect(world.run("send", ["--list"], output: "list", relay: url) == 0)
        #expect(world.scratch.lines("list").count == 1)
    }

    private func certificates(_ name: String) throws -> [NIOSSLCertificate] {
        try NIOSSLCertificate.fromPEMFile(scratch(name + ".pem"))
    }

    private func flaw(
        _ name: String, at host: String, trusting authority: String? = nil, in days: Int64 = 0
    ) throws -> CertificateFlaw {
        CertificateFlaw(
            of: try certificates(name), host: host,
            authorities: try authority.map { try certificates($0) } ?? [],
            at: Timestamp.now().seconds + days * 86_400)
    }

    @Test func aChainHasOneFlaw() throws {
        guard case .notYetValid = try flaw("leaf", at: "localhost", in: -1),
            case .expired(_, nil) = try flaw("leaf", at: "LOCALHOST", in: 40)
        else {
            Issue.record("a validity")
            return
        }
        // The root lives for 30 days, and this certificate longer.
        try sign("young", "/CN=leaf", "subjectAltName=DNS:localhost", by: "root", days: 400)
        guard
            case .expired(_, "Test Root") = try flaw(
                "young", at: "localhost", trusting: "root", in: 40)
        else {
            Issue.record("the validity of an authority")
            return
        }
        #expect(try flaw("direct", at: "a.example.org") == .missingIssuer("Test Root"))
        #expect(try flaw("direct", at: "127.0.0.1") == .missingIssuer("Test Root"))
        #expect(try flaw("direct", at: "127.0.0.1", trusting: "root") == .unknown)
        for host in ["example.org", "a.b.example.org", "127.0.0.2", "localhost"] {
            #expect(
                try flaw("direct", at: host)
                    == .otherName(host: host, names: ["*.example.org", "127.0.0.1"]))
        }
        #expect(try flaw("root", at: "Test Root") == .selfSigned)
        #expect(try flaw("chain", at: "localhost") == .unknownAuthority("Test Root"))
        #expect(
            CertificateFlaw(of: [], host: "localhost", authorities: [], at: 0) == .unknown)
    }

    /// A missing file of authorities is no input, for each program and for the variable.
    @Test func aMissingFileOfAuthoritiesIsNoInput() throws {
        let world = World(address: "localhost:1")
        let none = scratch("none.pem")
        let url = "tls://localhost:1"
        #expect(world.run("recv", ["--ca", none], relay: url) == 66)
        #expect(
            world.run("recv", ["--ca", none, "--card", world.bob.id.description], relay: url) == 66)
        _ = world.envelopes("in", 1)
        #expect(world.run("send", ["--ca", none], input: "in", relay: url) == 66)
        #expect(world.errors.contains("cannot read the certificates in \(none)"))
        let command = ChildProcess(
            "recv", [],
            environment: world.environment.merging(["SOTTO_CA": none, "SOTTO_RELAY": url]) { $1 },
            errors: world.scratch("errors"))
        #expect(command.wait() == 66)
    }
}
