import Glibc
import TestSupport
import Testing

/// Secrets are not lost, not readable by other users, and not repeated in an error.
struct SecretTests {
    let home: Home
    init() { home = Home() }

    /// Runs a shell command line in which `$KEYGEN` is the program.
    func shell(_ line: String) throws -> Run {
        var command = home.other("/bin/sh", ["-c", line])
        command.environment["KEYGEN"] = Programs.path("keygen")
        return try command.run()
    }

    @Test(arguments: ["2>/dev/full", "2>&-"])
    func wordsThatCannotBeShownMakeNoIdentity(_ redirection: String) throws {
        for quiet in ["", "-q"] {
            #expect(try shell("$KEYGEN \(quiet) -o new.key \(redirection)").status == 74)
            #expect(!home.files.exists("new.key"))
            let run = try shell("$KEYGEN \(quiet) \(redirection)")
            #expect(run.status == 74 && run.stdout.isEmpty)
        }
    }

    func mode(_ name: String) throws -> mode_t {
        var status = stat()
        guard stat(home.files(name), &status) == 0 else { throw SystemError("stat") }
        return status.st_mode & 0o777
    }

    @Test func aRedirectedIdentityIsPrivate() throws {
        let run = try shell("umask 022; $KEYGEN --name a > a.key; $KEYGEN words a.key > words")
        #expect(run.status == 0 && run.stderr.contains("0600"), "\(run.stderr)")
        #expect(try mode("a.key") == 0o600 && mode("words") == 0o600)
        #expect(try home.run("keygen", ["public", "a.key"]).status == 0)
        // The words are random, and "note" is one of the list, so the test searches for the whole message.
        #expect(try !shell("umask 022; $KEYGEN -q > b.key").stderr.contains("keygen: note:"))
        // An existing file in use is not changed.
        let added = try shell("umask 022; echo > list; $KEYGEN >> list")
        #expect(added.status == 0 && added.stderr.contains("chmod 600 "))
        #expect(try mode("list") == 0o644)
    }

    @Test func aSecretOnTheCommandLineIsRefusedAndNotRepeated() throws {
        for (tool, arguments) in [
            ("encrypt", ["--passphrase", "hunter2"]), ("decrypt", ["--passphrase", "hunter2"]),
            ("keygen", ["--protect", "--passphrase", "hunter2"]),
            ("keygen", ["public", "--identity-passphrase", "hunter2"]),
            ("decrypt", ["--identity-passphrase=hunter2"]),
            ("encrypt", ["--to", "x", "--identity-passphrase", "hunter2"]),
            ("fingerprint", ["--identity-passphrase", "@FD:hunter2"]),
        ] {
            let run = try home.run(tool, arguments)
            #expect(run.status == 64 && run.stdout.isEmpty, "\(tool)")
            #expect(!run.stderr.contains("hunter2"), "\(run.stderr)")
            #expect(run.stderr.contains("@ENV:NAME, @FD:N or @FILE:PATH"), "\(run.stderr)")
        }
        #expect(try home.files.names() == [])
    }

    @Test func aPassphraseFileMayHaveTheLineEndsOfWindows() throws {
        home.files.write("plain", [1, 2, 3])
        home.files.write("dos", Array("correct horse\r\nmore\r\n".utf8))
        home.files.write("unix", Array("correct horse\n".utf8))
        let file = try home.output("encrypt", ["--passphrase", "@FILE:dos", "plain"])
        #expect(
            try home.output("decrypt", ["--passphrase", "@FILE:unix"], stdin: file) == [1, 2, 3])
    }
}
