import Glibc
import Sotto
import TestSupport
import Testing

/// Tests of files for Ed25519 SSH keys, with the programs `age` and `ssh-keygen`.
@Suite(.needs(.sshKeygen))
struct SSHRecipientTests {
    let home: Home
    let plain = randomBytes(100_000)

    init() throws {
        home = try Home(people: "bob")
        home.files.write("plain", plain)
    }

    /// Creates `id` and `id.pub`.
    func makeKey(_ arguments: [String] = ["-t", "ed25519", "-N", ""]) throws {
        let run = try home.other(
            Peer.sshKeygen.path, ["-q", "-C", "a comment", "-f", "id"] + arguments
        ).run()
        try #require(run.status == 0, "\(run.stderr)")
    }

    func age(_ arguments: [String], stdin: [UInt8] = []) throws -> [UInt8] {
        let run = try home.other(Peer.age.path, arguments).run(stdin: .whole(stdin))
        #expect(run.status == 0, "\(run.stderr)")
        return run.stdout
    }

    func line() throws -> String {
        String(decoding: try home.files.read("id.pub").dropLast(), as: UTF8.self)
    }

    @Test(.needs(.age))
    func ageOpensWhatWeEncryptToAnSSHKey() throws {
        try makeKey()
        for arguments in [["-r", try line()], ["-r", "id.pub"], ["-a", "-R", "id.pub"]] {
            let file = try home.output("encrypt", arguments, stdin: plain)
            #expect(try age(["-d", "-i", "id"], stdin: file) == plain)
        }
    }

    @Test(.needs(.age))
    func weOpenWhatAgeEncryptsToAnSSHKey() throws {
        try makeKey()
        for arguments in [["-r", try line()], ["-R", "id.pub"]] {
            let file = try age(arguments, stdin: plain)
            #expect(try home.output("decrypt", ["-i", "id"], stdin: file) == plain)
            #expect(try home.run("decrypt", ["-i", "bob.key"], stdin: .whole(file)).status == 10)
        }
    }

    @Test func aFileForAnSSHKeyAndACardOpensForEither() throws {
        try makeKey()
        let file = try home.output(
            "encrypt", ["--classic", "-r", "id.pub", "-r", "bob.card", "-s", "-i", "bob.key"],
            stdin: plain)
        for identity in ["id", "bob.key"] {
            let opened = try home.run(
                "decrypt", ["-i", identity, "--from", "bob.card"], stdin: .whole(file))
            #expect(opened.status == 0 && opened.stdout == plain, "\(opened.stderr)")
        }
        let mixed = try home.run(
            "encrypt", ["-r", "id.pub", "-r", "bob.card"], stdin: .whole(plain))
        #expect(mixed.status == 64 && mixed.stdout.isEmpty, "\(mixed.stderr)")
    }

    @Test func anotherSSHKeyOpensNothing() throws {
        try makeKey()
        let file = try home.output("encrypt", ["-r", "id.pub"], stdin: plain)
        _ = try home.output("keygen", ["export", "ssh", "-o", "other", "bob.key"])
        let run = try home.run("decrypt", ["-i", "other"], stdin: .whole(file))
        #expect(run.status == 10 && run.stdout.isEmpty)
    }

    @Test func theExportedSigningKeyDecryptsFilesForItsPublicLine() throws {
        _ = try home.output("keygen", ["export", "ssh", "-o", "id", "bob.key"])
        try home.files.write(
            "id.pub", home.output("keygen", ["export", "ssh", "--public-key", "bob.key"]))
        let file = try home.output("encrypt", ["-r", "id.pub"], stdin: plain)
        #expect(try home.output("decrypt", ["-i", "id"], stdin: file) == plain)
    }

    @Test(
        arguments: [[], ["-a", "3"]]
            + [
                "aes128-ctr", "aes192-ctr", "aes256-ctr", "aes128-cbc", "aes192-cbc", "aes256-cbc",
                "aes128-gcm@openssh.com", "aes256-gcm@openssh.com", "chacha20-poly1305@openssh.com",
            ].map { ["-a", "1", "-Z", $0] })
    func anSSHKeyWithAPassphraseIsUnlocked(_ arguments: [String]) throws {
        try makeKey(["-t", "ed25519", "-N", "correct horse"] + arguments)
        let file = try home.output("encrypt", ["-r", "id.pub"], stdin: plain)
        let unlock = ["-i", "id", "--identity-passphrase", "@ENV:SECRET"]
        let run = try home.run(
            "decrypt", unlock, stdin: .whole(file), environment: ["SECRET": "correct horse"])
        #expect(run.status == 0 && run.stdout == plain, "\(run.stderr)")
        let wrong = try home.run(
            "decrypt", unlock, stdin: .whole(file), environment: ["SECRET": "correct hors"])
        #expect(wrong.status == 10 && wrong.stdout.isEmpty)
        #expect(wrong.stderr.contains("the passphrase of the OpenSSH key id is wrong"))
    }

    @Test func itsPassphraseIsAskedForOnceAndOnlyForAFileThatNamesIt() throws {
        try makeKey(["-t", "ed25519", "-N", "correct horse"])
        let file = try home.output("encrypt", ["-r", "id.pub"], stdin: plain)
        home.files.write("file", file)
        // --hold reads the file twice.
        let session = try TerminalSession(
            home.command("decrypt", ["--hold", "-i", "id", "-o", "out", "file"]))
        try session.expect("Passphrase for id: ")
        try session.type("correct horse\r")
        #expect(try session.finish().status == 0)
        #expect(try home.files.read("out") == plain)
        // No terminal is available for a prompt.
        let other = try home.output("encrypt", ["-r", "bob.card"], stdin: plain)
        let keys = ["-i", "id", "-i", "bob.key"]
        #expect(try home.output("decrypt", keys, stdin: other) == plain)
        let run = try home.run("decrypt", keys, stdin: .whole(file))
        #expect(run.status == 78 && run.stdout.isEmpty, "\(run.stderr)")
    }

    @Test func anUnsupportedProtectionIsNamed() throws {
        try makeKey(["-t", "ed25519", "-N", "correct horse", "-Z", "3des-cbc"])
        let file = try home.output("encrypt", ["-r", "id.pub"], stdin: plain)
        let run = try home.run("decrypt", ["-i", "id"], stdin: .whole(file))
        #expect(run.status == 65 && run.stdout.isEmpty)
        #expect(run.stderr.contains("3des-cbc, bcrypt"))
        #expect(run.stderr.contains("ssh-keygen -p -Z aes256-ctr"))
    }

    @Test func anSSHKeyIsNotASottoIdentity() throws {
        try makeKey(["-t", "ed25519", "-N", "correct horse"])
        let run = try home.run(
            "encrypt", ["-s", "-i", "id", "-r", "bob.card"], stdin: .whole(plain))
        #expect(run.status == 65 && run.stderr.contains("a sotto identity is needed"))
        let changed = try home.run("keygen", ["passwd", "id"])
        #expect(changed.status == 64 && changed.stderr.contains("ssh-keygen -p"))
    }

    @Test func anSSHKeyOfAnotherTypeIsRefusedByItsName() throws {
        try makeKey(["-t", "rsa", "-b", "2048", "-N", ""])
        let file = try home.output("encrypt", ["-r", "bob.card"], stdin: plain)
        let run = try home.run("decrypt", ["-i", "id"], stdin: .whole(file))
        #expect(run.status == 65 && run.stderr.contains("ssh-rsa"), "\(run.stderr)")
        for recipient in [try line(), "id.pub"] {
            let run = try home.run("encrypt", ["-r", recipient], stdin: .whole(plain))
            #expect(run.status == 65 && run.stderr.contains("ssh-ed25519"), "\(run.stderr)")
        }
        let message = try home.run(
            "encrypt", ["--to", "id.pub", "-i", "bob.key"], stdin: .whole(plain))
        #expect(message.status != 0 && message.stdout.isEmpty)
    }

    @Test func anSSHKeyThatOthersCanReadIsRefused() throws {
        try makeKey()
        let file = try home.output("encrypt", ["-r", "id.pub"], stdin: plain)
        #expect(chmod(home.files("id"), 0o644) == 0)
        #expect(try home.run("decrypt", ["-i", "id"], stdin: .whole(file)).status == 77)
    }
}
