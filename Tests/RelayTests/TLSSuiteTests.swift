import Glibc
import Sotto
import SottoState
import SottoWire
import TestSupport
import Testing

@testable import SottoServer

/// The TLS suites: 1.3, and 1.2 with ECDHE and authenticated encryption.
@Suite(.timeLimit(.minutes(60))) struct TLSSuiteTests {
    let scratch = TemporaryDirectory()

    /// Returns the names of the TLS 1.2 suites of openssl's library.
    func suites() -> [String] {
        let status = ChildProcess.run(
            "/usr/bin/openssl", ["ciphers", "-s", "-tls1_2", "ALL:COMPLEMENTOFALL:@SECLEVEL=0"],
            output: scratch("ciphers"))
        #expect(status == 0)
        return scratch.lines("ciphers").joined().split(separator: ":").map(String.init)
    }

    /// Whether a handshake with these options of `openssl s_client` succeeds.
    func connects(_ address: String, _ options: [String]) -> Bool {
        ChildProcess.run(
            "/usr/bin/openssl", ["s_client", "-connect", address, "-brief"] + options) == 0
    }

    /// Creates a certificate with an RSA key, which the suites with RSA need.
    func rsaFiles() -> TLSFiles {
        let files = TLSFiles(certificate: scratch("c.pem"), key: scratch("k.pem"))
        let status = ChildProcess.run(
            "/usr/bin/openssl",
            [
                "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1",
                "-keyout",
                files.key, "-out", files.certificate,
            ])
        #expect(status == 0)
        return files
    }

    @Test(arguments: [true, false]) func aRelayAcceptsOnlyModernSuites(_ isRSA: Bool) throws {
        let files = isRSA ? rsaFiles() : TestCertificate.files
        let running = try RunningRelay { $0.tls = files }
        let address = running.relay.address
        #expect(connects(address, ["-tls1_3"]))
        #expect(!connects(address, ["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"]))
        let prefix = isRSA ? "ECDHE-RSA-" : "ECDHE-ECDSA-"
        let modern = ["AES128-GCM-SHA256", "AES256-GCM-SHA384", "CHACHA20-POLY1305"]
            .map { prefix + $0 }
        for suite in modern {
            #expect(connects(address, ["-tls1_2", "-cipher", suite]), "\(suite)")
        }
        let others = suites().filter { !modern.contains($0) && !$0.hasPrefix("TLS_") }
        #expect(others.contains(prefix + "AES128-SHA") && others.contains("AES128-SHA"))
        // One connection offers them all, so that the relay could choose any.
        let all = others.joined(separator: ":") + ":@SECLEVEL=0"
        #expect(!connects(address, ["-tls1_2", "-cipher", all]))
        for suite in [
            prefix + "AES128-SHA", prefix + "AES256-SHA", "AES128-SHA", "AES128-GCM-SHA256",
        ] {
            let options = ["-tls1_2", "-cipher", suite + ":@SECLEVEL=0"]
            #expect(!connects(address, options), "\(suite)")
        }
        #expect(!connects(address, ["-tls1_2", "-sigalgs", "RSA+SHA1:ECDSA+SHA1"]))
    }

    /// A client offers suites in its first message. Wake-ups use the same TLS configuration as all clients.
    @Test func aClientOffersOnlyModernSuites() throws {
        let listener = HTTPListener()
        let running = try RunningRelay { plan in
            let address = try! WakeAddress("https://127.0.0.1:\(listener.port)/wake")
            plan.operations.wake = WakePlan(methods: [.post(address)], every: 60)
        }
        let bob = Sample.identity()
        #expect(
            running.client().publish(Sample.preKeys(of: bob, oneTime: 1..<2)) == .stored)
        #expect(running.client().ask(.send(Sample.envelope(to: bob.id))) == .stored)
        let hello = listener.firstBytes()
        let suites = try #require(Self.suites(of: hello))
        let modern: Set<UInt16> = [
            0x1301, 0x1302, 0x1303, 0xC02B, 0xC02C, 0xC02F, 0xC030, 0xCCA8, 0xCCA9,
        ]
        #expect(!suites.isEmpty && suites.allSatisfy { modern.contains($0) }, "\(suites)")
    }

    /// Returns the cipher suites of a ClientHello in its record (RFC 8446 §4.1.2).
    static func suites(of record: [UInt8]) -> [UInt16]? {
        // A record header of 5 bytes, a message header of 4, a version of 2 and 32 random bytes.
        guard record.count > 44, record[0] == 22, record[5] == 1 else { return nil }
        let start = 44 + Int(record[43])
        guard record.count > start + 2 else { return nil }
        let count = Int(record[start]) << 8 | Int(record[start + 1])
        guard record.count >= start + 2 + count else { return nil }
        return stride(from: start + 2, to: start + 2 + count, by: 2).map {
            UInt16(record[$0]) << 8 | UInt16(record[$0 + 1])
        }
    }
}
