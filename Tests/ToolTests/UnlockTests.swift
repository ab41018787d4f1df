import Foundation
import Sotto
import TestSupport
import Testing

/// Tests of `keygen unlock` and `keygen lock`: a protected identity in the kernel's user keyring.
///
/// All processes of the user share the same keyring, so each test uses a different identity.
struct UnlockTests {
    let home: Home

    /// Whether this system has a user keyring. Some containers do not.
    static let hasKeyring: Bool = {
        guard let home = try? Home(people: "probe") else { return false }
        home.files.write("p", Array("correct horse\n".utf8))
        _ = try? home.run("keygen", ["passwd", "-q", "--passphrase", "@FILE:p", "probe.key"])
        let run = try? home.run(
            "keygen", ["unlock", "--for", "30s", "--identity-passphrase", "@FILE:p", "probe.key"])
        _ = try? home.run("keygen", ["lock", "probe.key"])
        return run?.status != 78
    }()
    static let hint: Comment = "this system has no user keyring"

    /// Whether this process may create a user namespace.
    static let hasNamespaces =
        (try? Home().other(Peer.unshare.path, ["-Ur", "/bin/true"]).run().status) == 0

    init() throws {
        home = try Home(people: "alice")
        home.files.write("p", Array("correct horse\n".utf8))
        home.files.write("q", Array("another horse\n".utf8))
        let run = try home.run("keygen", ["passwd", "-q", "--passphrase", "@FILE:p", "alice.key"])
        try #require(run.status == 0, "\(run.stderr)")
    }

    @discardableResult
    func unlock(_ more: String...) throws -> Run {
        try home.run(
            "keygen", ["unlock", "--identity-passphrase", "@FILE:p"] + more + ["alice.key"])
    }

    /// A run without a terminal: it succeeds only if no prompt is needed.
    func quietRun() throws -> Run { try home.run("keygen", ["public", "alice.key"]) }

    @Test(.enabled(if: hasKeyring, hint))
    func everyToolOpensAnUnlockedIdentityWithoutAPrompt() throws {
        #expect(try quietRun().status == 78)
        let run = try unlock("--for", "10m")
        #expect(run.status == 0 && run.stderr.contains("unlocked for 10m"), "\(run.stderr)")
        #expect(try quietRun().status == 0)
        let card = try home.output("keygen", ["public", "alice.key"])
        home.files.write("alice.card", card)
        let file = try home.output(
            "encrypt", ["-r", "alice.card", "-s", "-i", "alice.key"], stdin: [1, 2, 3])
        #expect(try home.output("decrypt", ["-q", "-i", "alice.key"], stdin: file) == [1, 2, 3])
        #expect(try home.run("contact", ["list", "-i", "alice.key"]).status != 78)
        #expect(try home.run("fingerprint", ["-i", "alice.key"]).status == 0)
        #expect(try home.run("keygen", ["lock", "alice.key"]).status == 0)
        #expect(try quietRun().status == 78)
        #expect(try home.run("keygen", ["lock", "alice.key"]).status == 1)
    }

    /// `keygen set` needs no passphrase of an unlocked identity, which stays unlocked and keeps its passphrase.
    @Test(.enabled(if: hasKeyring, hint))
    func anotherRelayKeepsTheUnlock() throws {
        let locked = try home.run("keygen", ["set", "--relay", "tcp://a.example:1", "alice.key"])
        #expect(locked.status == 78 && locked.stderr.contains("sotto keygen unlock alice.key"))
        try unlock()
        let first = try home.run("keygen", ["set", "--relay", "tcp://a.example:1", "alice.key"])
        let printed = try Card(record: JSON.object(parsing: first.stdout))
        #expect(first.status == 0 && printed.relay == "tcp://a.example:1")
        #expect(!first.stderr.contains("old relay"))
        let second = try home.run("keygen", ["set", "--relay", "tcp://b.example:1", "alice.key"])
        #expect(second.stderr.contains("sotto recv -i alice.key --relay 'tcp://a.example:1'"))
        let card = try Card(record: JSON.object(parsing: quietRun().stdout))
        #expect(card.relay == "tcp://b.example:1")
        let keys = try Set(
            [0, 1].map { _ in
                _ = try home.run("keygen", ["set", "-q", "--no-relay", "alice.key"])
                return try home.files.read("alice.key")
            })
        #expect(keys.count == 2, "each payload has its own nonce")
        #expect(try home.run("keygen", ["lock", "alice.key"]).status == 0)
        #expect(try quietRun().status == 78)
        let given = ["public", "--identity-passphrase", "@FILE:p", "alice.key"]
        #expect(try home.run("keygen", given).status == 0)
    }

    @Test(.enabled(if: hasKeyring, hint))
    func theStatusSaysUntilWhen() throws {
        func status(_ arguments: String...) throws -> Run {
            try home.run("keygen", ["unlock", "--status"] + arguments)
        }
        #expect(try status("alice.key").text == "locked\n" && status("alice.key").status == 1)
        let earliest = Timestamp.now().seconds + 600
        try unlock("--for", "10m")
        let latest = Timestamp.now().seconds + 600
        let unlocked = try status("-i", "alice.key")
        let match = try #require(unlocked.text.wholeMatch(of: #/unlocked until (\S+)\n/#))
        let end = try #require(Timestamp(String(match.1)))
        #expect(unlocked.status == 0 && (earliest...latest).contains(end.seconds))
        #expect(try home.run("keygen", ["lock", "alice.key"]).status == 0)
        #expect(try status("alice.key").status == 1)
        try home.makePerson("bob")
        let open = try status("bob.key")
        #expect(open.status == 0 && open.text == "no passphrase\n")
        #expect(try status("missing.key").status == 66)
        #expect(try status("--for", "1h", "alice.key").status == 64)
    }

    @Test(.enabled(if: hasKeyring, hint))
    func aProcessOfAnotherSessionFindsTheKey() throws {
        try unlock()
        defer { _ = try? home.run("keygen", ["lock", "alice.key"]) }
        // A new terminal is a new session.
        let session = try TerminalSession(
            home.command("keygen", ["public", "alice.key"]), stdout: home.files("card"))
        let run = try session.finish()
        #expect(run.status == 0 && !run.text.contains("Passphrase"), "\(run.text)")
    }

    @Test(.enabled(if: hasKeyring, hint))
    func theKeyringHasOnlyTheFileKeyWithATimeout() throws {
        try unlock("--for", "2h")
        defer { _ = try? home.run("keygen", ["lock", "alice.key"]) }
        let digest = try AgeFile.headerDigest(of: home.files.read("alice.key"))
        // The kernel gives the list page by page.
        let keys = String(decoding: TemporaryDirectory.contents("/proc/keys"), as: UTF8.self)
        let line = try #require(
            keys.split(separator: "\n").first {
                $0.contains("sotto:identity:\(hex(digest.prefix(16)))")
            })
        let fields = line.split(separator: " ", omittingEmptySubsequences: true)
        #expect(fields[3] == "1h" || fields[3] == "2h", "the timeout: \(line)")
        #expect(fields[4] == "3f0b0000", "the permissions: \(line)")
        // The file key, and the time of its end.
        #expect(line.hasSuffix(": \(AgeFile.fileKeySize + 8)"), "the size: \(line)")
    }

    @Test(.enabled(if: hasKeyring, hint))
    func theKeyExpires() throws {
        try unlock("--for", "1s")
        // The kernel deletes the key; each iteration starts a program and checks again.
        var turns = 0
        while try quietRun().status == 0, turns < 10_000 { turns += 1 }
        #expect(try quietRun().status == 78)
        #expect(try home.run("keygen", ["lock", "alice.key"]).status == 1)
    }

    @Test(.enabled(if: hasKeyring, hint))
    func aChangedPassphraseLocks() throws {
        try unlock()
        let old = try home.files.read("alice.key")
        let changed = try home.run(
            "keygen",
            [
                "passwd", "--identity-passphrase", "@FILE:p", "--passphrase", "@FILE:q",
                "alice.key",
            ])
        #expect(changed.status == 0, "\(changed.stderr)")
        #expect(try quietRun().status == 78)
        // A copy of the file before the change is locked too.
        home.files.write("alice.key", old)
        #expect(try quietRun().status == 78)
    }

    @Test(.enabled(if: hasKeyring, hint))
    func thePassphraseIsNeededToChangeIt() throws {
        try unlock()
        defer { _ = try? home.run("keygen", ["lock", "alice.key"]) }
        let run = try home.run("keygen", ["passwd", "--passphrase", "@FILE:q", "alice.key"])
        #expect(run.status == 78)
    }

    @Test(.enabled(if: hasKeyring, hint))
    func aGivenPassphraseIsVerifiedNevertheless() throws {
        try unlock()
        defer { _ = try? home.run("keygen", ["lock", "alice.key"]) }
        let run = try home.run(
            "keygen", ["public", "--identity-passphrase", "@FILE:q", "alice.key"])
        #expect(run.status == 10)
    }

    @Test func aWrongPassphraseUnlocksNothing() throws {
        let run = try home.run(
            "keygen", ["unlock", "--identity-passphrase", "@FILE:q", "alice.key"])
        #expect(run.status == (Self.hasKeyring ? 10 : 78), "\(run.stderr)")
        #expect(try quietRun().status == 78)
    }

    @Test(.enabled(if: hasKeyring, hint))
    func aFileWithoutAPassphraseIsNotUnlocked() throws {
        try home.makePerson("bob")
        let run = try home.run("keygen", ["unlock", "bob.key"])
        #expect(run.status == 1 && run.stderr.contains("no passphrase"), "\(run.stderr)")
    }

    @Test func timesHaveAUnitAndALimit() throws {
        for time in ["", "8", "0h", "-1h", "8 h", "31d", "721h", "5w", "1.5h", "h", "99999999999s"]
        {
            let run = try home.run("keygen", ["unlock", "--for=\(time)", "alice.key"])
            #expect(run.status == 64, "\(time): \(run.stderr)")
        }
    }

    /// All identities of a user, in a user namespace with a separate keyring.
    @Test(
        .needs(.unshare), .enabled(if: hasKeyring, hint),
        .enabled(if: hasNamespaces, "a user namespace cannot be created here"))
    func allAreLockedAtOnce() throws {
        try home.makePerson("bob")
        try home.run("keygen", ["passwd", "-q", "--passphrase", "@FILE:p", "bob.key"])
        let keygen = Programs.path("keygen")
        let script = """
            for name in alice bob; do \(keygen) unlock -q --identity-passphrase @FILE:p $name.key; done
            \(keygen) public bob.key > /dev/null && \(keygen) lock --all && echo locked
            \(keygen) public alice.key; \(keygen) public bob.key; \(keygen) lock --all; echo $?
            """
        let run = try home.other(Peer.unshare.path, ["-Ur", "/bin/sh", "-c", script]).run()
        #expect(run.text == "locked\n1\n", "\(run.text)\(run.stderr)")
    }

    /// The library that refuses keys, like some containers.
    static let refusal = Result {
        try Compiler.library(
            folder("no_keyring.so"),
            URL(fileURLWithPath: #filePath).deletingLastPathComponent()
                .appendingPathComponent("Keyring/no_keyring.c").path)
    }
    private static let folder = TemporaryDirectory()

    @Test(
        .needs(.compiler),
        arguments: [(ENOSYS, 78), (EPERM, 78), (EDQUOT, 74)] as [(Int32, Int32)])
    func aMissingKeyringIsNamedAndToolsAskAsBefore(_ code: Int32, _ status: Int32) throws {
        let library = try Self.refusal.get()
        let environment = ["LD_PRELOAD": library, "KEYRING_ERRNO": "\(code)"]
        let run = try home.run(
            "keygen", ["unlock", "--identity-passphrase", "@FILE:p", "alice.key"],
            environment: environment)
        #expect(run.status == status && run.stderr.contains("kernel's keyring"), "\(run.stderr)")
        let session = try TerminalSession(
            home.command("keygen", ["public", "alice.key"], environment: environment),
            stdout: home.files("card"))
        try session.expect("Passphrase for alice.key: ")
        try session.type("correct horse\n")
        #expect(try session.finish().status == 0)
    }
}
