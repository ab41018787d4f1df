import Glibc
import Sotto
import TestSupport
import Testing

/// Tests of the output of `keygen export` for age, OpenSSH and minisign.
struct KeyExportTests {
    let home: Home

    init() throws { home = try Home(people: "alice") }

    func export(_ arguments: String...) throws -> [UInt8] {
        try home.output(
            "keygen",
            ["export"] + arguments + (arguments.contains("-o") ? [] : ["-o", "-"]) + ["alice.key"])
    }

    func text(_ arguments: String...) throws -> String {
        String(
            decoding: try home.output(
                "keygen",
                ["export"] + arguments + (arguments.contains("-o") ? [] : ["-o", "-"]) + [
                    "alice.key"
                ]), as: UTF8.self)
    }

    /// Returns the output of another program, which must succeed.
    func other(_ program: Peer, _ arguments: [String]) throws -> String {
        let run = try home.other(program.path, arguments).run()
        try #require(run.status == 0, "\(arguments): \(run.stderr)")
        return String(decoding: run.stdout, as: UTF8.self)
    }

    // MARK: age

    @Test(.needs(.age, .ageKeygen))
    func ageOpensAFileWithTheExportedIdentity() throws {
        home.files.write("plain", randomBytes(1000))
        _ = try export("age", "--classic", "-o", "alice.age")
        let recipient = try text("age", "--classic", "--public-key")
        #expect(try other(.ageKeygen, ["-y", "alice.age"]) == recipient)
        try home.files.write(
            "file", home.output("encrypt", ["--classic", "-r", "alice.card", "plain"]))
        _ = try other(.age, ["-d", "-i", "alice.age", "-o", "out", "file"])
        #expect(try home.files.read("out") == home.files.read("plain"))
    }

    @Test(arguments: [[], ["--classic"]] as [[String]])
    func theExportedAgeIdentityDecryptsFilesForIt(_ form: [String]) throws {
        let made = try home.output(
            "keygen", ["export", "age", "-o", "a.age"] + form + ["alice.key"])
        #expect(made.isEmpty)
        try home.files.write(
            "a.recipient",
            home.output("keygen", ["export", "age", "--public-key"] + form + ["alice.key"]))
        let file = try home.output("encrypt", ["-R", "a.recipient"], stdin: [1, 2, 3])
        #expect(try home.output("decrypt", ["-i", "a.age"], stdin: file) == [1, 2, 3])
        #expect(try home.output("decrypt", ["-i", "alice.key"], stdin: file) == [1, 2, 3])
        let lines = try home.files.read("a.age").split(separator: 0x0A).count
        #expect(lines == (form.isEmpty ? 4 : 2))
    }

    // MARK: OpenSSH

    @Test(.needs(.sshKeygen))
    func sshKeygenFindsTheSamePublicKeyInTheExportedPrivateKey() throws {
        _ = try export("ssh", "-o", "id_alice")
        let line = try text("ssh", "--public-key")
        #expect(line.hasPrefix("ssh-ed25519 ") && line.hasSuffix(" alice\n"))
        #expect(try other(.sshKeygen, ["-y", "-f", "id_alice"]) == line)
    }

    @Test(.needs(.sshKeygen))
    func sshKeygenSignsWithTheExportedKey() throws {
        _ = try export("ssh", "-o", "id_alice")
        home.files.write("file", Array("hello".utf8))
        _ = try other(.sshKeygen, ["-Y", "sign", "-f", "id_alice", "-n", "file", "file"])
        home.files.write("signers", Array(("alice " + (try text("ssh", "--public-key"))).utf8))
        let verified = try home.other(
            Peer.sshKeygen.path,
            ["-Y", "verify", "-f", "signers", "-I", "alice", "-n", "file", "-s", "file.sig"]
        ).run(stdin: .whole(Array("hello".utf8)))
        #expect(verified.status == 0, "\(verified.stderr)")
    }

    @Test func theIdentityDecryptsFilesForItsExportedSSHKey() throws {
        home.files.write("a.pub", Array(try text("ssh", "--public-key").utf8))
        let file = try home.output("encrypt", ["-r", "a.pub"], stdin: [1, 2, 3])
        #expect(try home.output("decrypt", ["-i", "alice.key"], stdin: file) == [1, 2, 3])
    }

    // MARK: minisign

    @Test(.needs(.minisign))
    func minisignSignsWithTheExportedKeyAndVerifiesWithThePublicOne() throws {
        home.files.write("file", randomBytes(100_000))
        _ = try export("minisign", "--unprotected", "-o", "alice.sec")
        _ = try export("minisign", "--public-key", "-o", "alice.pub")
        _ = try other(.minisign, ["-S", "-W", "-s", "alice.sec", "-m", "file"])
        _ = try other(.minisign, ["-V", "-p", "alice.pub", "-m", "file"])
        // The public key that minisign itself derives from the secret key.
        _ = try other(.minisign, ["-R", "-W", "-s", "alice.sec", "-p", "again.pub"])
        #expect(try home.files.read("again.pub") == home.files.read("alice.pub"))
    }

    @Test(.needs(.minisign))
    func minisignOpensTheExportedKeyWithItsPassword() throws {
        home.files.write("file", Array("hello".utf8))
        home.files.write("password", Array("correct horse\n".utf8))
        _ = try export("minisign", "--password", "@FILE:password", "-o", "alice.sec")
        _ = try export("minisign", "--public-key", "-o", "alice.pub")
        let signed = try home.other(
            Peer.minisign.path, ["-S", "-s", "alice.sec", "-m", "file"]
        ).run(stdin: .whole(Array("correct horse\n".utf8)))
        #expect(signed.status == 0, "\(signed.stderr)")
        _ = try other(.minisign, ["-V", "-p", "alice.pub", "-m", "file"])
        let wrong = try home.other(
            Peer.minisign.path, ["-S", "-s", "alice.sec", "-m", "file"]
        ).run(stdin: .whole(Array("wrong horse\n".utf8)))
        #expect(wrong.status != 0)
    }

    // MARK: All

    @Test(arguments: ["age", "ssh", "minisign"])
    func anExportedSecretIsPrivateAndNeverOverwritesAFile(_ key: String) throws {
        let arguments =
            ["export", key, "-o", "secret"] + (key == "minisign" ? ["--unprotected"] : [])
            + ["alice.key"]
        #expect(try home.run("keygen", arguments).status == 0)
        var status = stat()
        #expect(stat(home.files("secret"), &status) == 0 && status.st_mode & 0o777 == 0o600)
        #expect(try home.run("keygen", arguments).status == 73)
    }

    @Test(arguments: [
        ["ssh", "--unprotected"], ["age", "--password", "@ENV:P"], ["ssh", "--classic"],
        ["rsa", "--public-key"], ["minisign", "--public-key", "--unprotected"],
    ])
    func incompatibleKeyOptionsAreRefused(_ arguments: [String]) throws {
        let run = try home.run("keygen", ["export"] + arguments + ["alice.key"])
        #expect(run.status == 64 && run.stdout.isEmpty)
    }
}
