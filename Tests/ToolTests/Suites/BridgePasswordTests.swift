import Glibc
import Sotto
import SottoMessengers
import TestSupport
import Testing

/// `bridge passwd`: ECP1 files and RSA keys under another password, read by an independent program.
struct BridgePasswordTests {
    let home: Home

    init() throws {
        home = try Home(people: "alice")
        home.files.write("one", Array("the first password\n".utf8))
        home.files.write("two", Array("the second password\n".utf8))
        for arguments in [
            ["export", "ecp1", "-i", "alice.key", "-o", "key.ecp1", "--password", "@FILE:one"],
            ["login-key", "--bits", "2048", "-o", "key.pem", "--password", "@FILE:one"],
        ] {
            let run = try home.run("bridge", arguments)
            guard run.status == 0 else { throw Unexpected(run) }
        }
    }

    private func change(_ file: String, _ old: String, _ more: String...) throws -> Run {
        try home.run("bridge", ["passwd", "--password", "@FILE:\(old)"] + more + [file])
    }

    private func password(_ name: String) throws -> String {
        Peers.text(Array(try home.files.read(name).dropLast()))
    }

    @Test(.needs(.pythonPackages)) func theKeyStaysAndThePasswordChanges() throws {
        func secret(_ name: String) throws -> Peers.Answer {
            try Peers.ask([
                "op": "ecp1_open", "m": Peers.text(home.files.read("key.ecp1")),
                "password": password(name),
            ])
        }
        func modulus(_ name: String?) throws -> Peers.Answer {
            var request = [
                "op": "pem_key",
                "pem": String(decoding: try home.files.read("key.pem"), as: UTF8.self),
            ]
            request["password"] = try name.map { try password($0) }
            return try Peers.ask(request)
        }
        let (seed, key) = (try secret("one").bytes("m"), try modulus("one")["modulus"])
        #expect(seed?.count == 32 && !key.isEmpty)
        for file in ["key.ecp1", "key.pem"] {
            let run = try change(file, "one", "--new-password", "@FILE:two")
            #expect(run.status == 0 && run.stderr.contains("has a new password"), "\(run.stderr)")
            var status = stat()
            #expect(stat(home.files(file), &status) == 0 && status.st_mode & 0o777 == 0o600)
        }
        #expect(try secret("two").bytes("m") == seed && secret("one").error != nil)
        #expect(try modulus("two")["modulus"] == key && modulus("one").error != nil)
        // An RSA key can lose its password, and get one again.
        #expect(try change("key.pem", "two", "--unprotected").status == 0)
        #expect(try modulus(nil)["modulus"] == key)
        let again = try home.run("bridge", ["passwd", "--new-password", "@FILE:one", "key.pem"])
        #expect(again.status == 0, "\(again.stderr)")
        #expect(try modulus("one")["modulus"] == key)
    }

    @Test func aFailureChangesNothing() throws {
        let before = try ["key.ecp1", "key.pem"].map { try home.files.read($0) }
        for (status, arguments) in [
            (Int32(10), ["--password", "@FILE:two", "--new-password", "@FILE:two", "key.ecp1"]),
            (10, ["--password", "@FILE:two", "--new-password", "@FILE:two", "key.pem"]),
            (64, ["--password", "@FILE:one", "--unprotected", "key.ecp1"]),
            (64, ["--unprotected", "--new-password", "@FILE:two", "key.pem"]),
            (64, ["--password", "@FILE:one", "--new-password", "second", "key.pem"]),
            (64, ["-"]), (66, ["--new-password", "@FILE:two", "none"]),
            (66, ["--password", "@FILE:one", "--new-password", "@FILE:none", "key.pem"]),
        ] {
            let run = try home.run("bridge", ["passwd"] + arguments)
            #expect(run.status == status, "\(arguments) \(run.stderr)")
        }
        #expect(try ["key.ecp1", "key.pem"].map { try home.files.read($0) } == before)
    }

    /// The old password is asked once, and the new one twice.
    @Test func thePasswordsAreAskedForOnATerminal() throws {
        let session = try TerminalSession(home.command("bridge", ["passwd", "key.pem"]))
        try session.expect("Password for key.pem: ")
        try session.type("the first password\n")
        try session.expect("New password: ")
        try session.type("the second password\n")
        try session.expect("Repeat the password: ")
        try session.type("the second password\n")
        let run = try session.finish()
        #expect(run.status == 0 && !run.text.contains("second"), "\(run.text)")
        #expect(try change("key.pem", "two", "--unprotected", "-q").status == 0)
    }
}
