import Glibc
import Sotto
import TestSupport
import Testing

/// Tests of `keygen passwd` and of the passphrase of the words.
struct PassphraseChangeTests {
    let home: Home

    init() throws {
        home = try Home(people: "alice")
        home.files.write("one", Array("first passphrase\n".utf8))
        home.files.write("two", Array("second passphrase\n".utf8))
    }

    /// Returns the id of the key file, opened with a passphrase.
    func id(_ passphrase: String?) throws -> Run {
        let options = passphrase.map { ["--identity-passphrase", "@FILE:\($0)"] } ?? []
        return try home.run("keygen", ["words", "alice.key"] + options)
    }

    @Test func aPassphraseIsAddedChangedAndRemoved() throws {
        let before = try home.files.read("alice.key")
        let words = try id(nil).stdout
        #expect(
            try home.run("keygen", ["passwd", "--passphrase", "@FILE:one", "alice.key"]).status == 0
        )
        #expect(AgeFormat.isAge(try home.files.read("alice.key")))
        #expect(try id("one").stdout == words)
        let changed = try home.run(
            "keygen",
            [
                "passwd", "--identity-passphrase", "@FILE:one", "--passphrase", "@FILE:two",
                "alice.key",
            ])
        #expect(changed.status == 0 && changed.stderr.contains("new passphrase"))
        #expect(try id("one").status == 10)
        #expect(try id("two").stdout == words)
        #expect(
            try home.run(
                "keygen",
                ["passwd", "--unprotected", "--identity-passphrase", "@FILE:two", "alice.key"]
            ).status == 0)
        #expect(try home.files.read("alice.key") == before)
        var status = stat()
        #expect(stat(home.files("alice.key"), &status) == 0 && status.st_mode & 0o777 == 0o600)
    }

    @Test func aWrongPassphraseChangesNothing() throws {
        try home.run("keygen", ["passwd", "--passphrase", "@FILE:one", "alice.key"])
        let before = try home.files.read("alice.key")
        let run = try home.run(
            "keygen",
            [
                "passwd", "--identity-passphrase", "@FILE:two", "--passphrase", "@FILE:two",
                "alice.key",
            ])
        #expect(run.status == 10)
        #expect(try home.files.read("alice.key") == before)
    }

    @Test func removingAMissingPassphraseIs1() throws {
        let run = try home.run("keygen", ["passwd", "--unprotected", "alice.key"])
        #expect(run.status == 1 && run.stderr.contains("has no passphrase"))
    }

    @Test func otherFilesAreNotChanged() throws {
        home.files.write("notes", Array("hello\n".utf8))
        chmod(home.files("notes"), 0o600)
        for (file, status) in [("notes", 65), ("alice.card", 65), ("missing", 66)] {
            let run = try home.run("keygen", ["passwd", "--passphrase", "@FILE:one", file])
            #expect(run.status == Int32(status), "\(file): \(run.stderr)")
        }
        #expect(try home.files.read("notes") == Array("hello\n".utf8))
    }

    @Test func aLinkToTheFileIsKept() throws {
        #expect(symlink("alice.key", home.files("link")) == 0)
        #expect(
            try home.run("keygen", ["passwd", "--passphrase", "@FILE:one", "link"]).status == 0)
        var status = stat()
        #expect(lstat(home.files("link"), &status) == 0 && status.st_mode & S_IFMT == S_IFLNK)
        #expect(try id("one").status == 0)
    }

    @Test(.needs(.sshKeygen))
    func anOpenSSHKeyIsLeftToSSHKeygen() throws {
        try home.run("keygen", ["export", "ssh", "-o", "id_alice", "alice.key"])
        let run = try home.run("keygen", ["passwd", "--passphrase", "@FILE:one", "id_alice"])
        #expect(run.status == 64 && run.stderr.contains("ssh-keygen -p"))
    }

    @Test func aSecondProcessIsRefused() throws {
        // A process that locks the file like keygen passwd, and waits for its input.
        let holder = try Pipeline([
            home.other("/usr/bin/flock", ["alice.key", "/bin/sh", "-c", "echo held; cat"])
        ])
        try holder.collect { $0.contains(0x0A) }
        let run = try home.run("keygen", ["passwd", "--passphrase", "@FILE:one", "alice.key"])
        #expect(run.status == 75 && run.stderr.contains("another process"))
        _ = try holder.finish()
        #expect(try id(nil).status == 0)
    }

    @Test func oneOfTwoConcurrentChangesSucceeds() throws {
        let runs = try ["one", "two"].map { secret in
            try Pipeline([
                home.command("keygen", ["passwd", "--passphrase", "@FILE:\(secret)", "alice.key"])
            ])
        }.map { try $0.finish()[0] }
        for (secret, run) in zip(["one", "two"], runs) {
            #expect(try (run.status == 0) == (id(secret).status == 0), "\(run.stderr)")
        }
        #expect(runs.contains { $0.status == 0 })
    }

    @Test func otherFilesAndHardLinksAreRefused() throws {
        #expect(mkfifo(home.files("pipe"), 0o600) == 0)
        #expect(link(home.files("alice.key"), home.files("other")) == 0)
        for name in ["pipe", "alice.key"] {
            let run = try home.run("keygen", ["passwd", "--passphrase", "@FILE:one", name])
            #expect(run.status == 64, "\(name): \(run.stderr)")
        }
        #expect(try id(nil).status == 0)
    }

    @Test(.enabled(if: getuid() == 0, "only root can give a file away"))
    func theOwnerIsKept() throws {
        #expect(chown(home.files("alice.key"), 1234, 1234) == 0)
        let run = try home.run("keygen", ["passwd", "--passphrase", "@FILE:one", "alice.key"])
        #expect(run.status == 0, "\(run.stderr)")
        var status = stat()
        #expect(stat(home.files("alice.key"), &status) == 0)
        #expect(status.st_uid == 1234 && status.st_gid == 1234 && status.st_mode & 0o777 == 0o600)
    }

    // MARK: The passphrase of the words

    @Test func wordsWithAPassphraseGiveOtherKeysAndTheSameOnesAgain() throws {
        let words = try id(nil).text
        let option = ["--words-passphrase", "@FILE:one"]
        for (name, options) in [("plain", []), ("a", option), ("b", option)] {
            let run = try home.run(
                "keygen", ["recover", "--name", "alice", "-o", "\(name).key"] + options, text: words
            )
            #expect(run.status == 0, "\(run.stderr)")
        }
        #expect(try home.files.read("a.key") == home.files.read("b.key"))
        func card(_ name: String) throws -> String? {
            try JSON(parsing: home.output("keygen", ["public", "\(name).key"])).object?["id"]?
                .string
        }
        #expect(try card("plain") == card("alice"))
        #expect(try card("a") != card("alice"))
        // The words are those of the file, and the tool reports that they are not sufficient.
        let again = try home.run("keygen", ["words", "a.key"])
        #expect(again.text == words && again.stderr.contains("--words-passphrase"))
    }

    @Test func aNewIdentityCanHaveAWordsPassphrase() throws {
        let made = try home.run(
            "keygen",
            [
                "--words-passphrase", "@FILE:one", "-o", "n.key",
            ])
        #expect(made.status == 0 && made.stderr.contains("with their passphrase"))
        let words = try home.output("keygen", ["words", "n.key"])
        try home.run(
            "keygen",
            [
                "recover", "--words-passphrase", "@FILE:one", "-o", "m.key",
            ], stdin: .whole(words))
        #expect(try home.files.read("n.key") == home.files.read("m.key"))
        // The keys of other messengers are derived from the same seed.
        let account = ["account", "whisper2", "--whisper-id", "WSP-YS3T-HJGR-KQBZ"]
        #expect(
            try home.output("bridge", account + ["n.key"])
                == home.output("bridge", account + ["m.key"]))
    }

    @Test func onlyASCIIIsAccepted() throws {
        home.files.write("umlaut", Array("stra\u{DF}e\n".utf8))
        let run = try home.run("keygen", ["--words-passphrase", "@FILE:umlaut", "-o", "n.key"])
        #expect(run.status == 64)
        #expect(access(home.files("n.key"), F_OK) != 0)
    }
}
