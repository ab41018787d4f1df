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

    /// The words are in the identity, so it is usable without standard error.
    @Test(arguments: ["2>/dev/full", "2>&-"])
    func anIdentityIsMadeWithoutStandardError(_ redirection: String) throws {
        for (quiet, file) in [("", "a.key"), ("-q", "b.key")] {
            #expect(try shell("$KEYGEN \(quiet) -o \(file) \(redirection)").status == 0)
            let words = try home.run("keygen", ["words", file])
            #expect(words.status == 0 && words.text.split(separator: " ").count == 24)
            let run = try shell("$KEYGEN \(quiet) -o - \(redirection)")
            #expect(run.status == 0 && run.lines.count == 1)
        }
    }

    func mode(_ name: String) throws -> mode_t {
        var status = stat()
        guard stat(home.files(name), &status) == 0 else { throw SystemError("stat") }
        return status.st_mode & 0o777
    }

    @Test func aRedirectedIdentityIsPrivate() throws {
        let run = try shell("umask 022; $KEYGEN --name a -o - > a.key; $KEYGEN words a.key > words")
        #expect(run.status == 0 && run.stderr.contains("0600"), "\(run.stderr)")
        #expect(try mode("a.key") == 0o600 && mode("words") == 0o600)
        #expect(try home.run("keygen", ["public", "a.key"]).status == 0)
        // The words are random, and "note" is one of the list, so the test searches for the whole message.
        #expect(try !shell("umask 022; $KEYGEN -q -o - > b.key").stderr.contains("keygen: note:"))
        // An existing file in use is not changed.
        let added = try shell("umask 022; echo > list; $KEYGEN -o - >> list")
        #expect(added.status == 0 && added.stderr.contains("chmod 600 "))
        #expect(try mode("list") == 0o644)
    }

    /// The recovery words are for a person, and not for a log.
    @Test(arguments: [[], ["-q"]])
    func theWordsAreShownOnlyOnATerminal(_ options: [String]) throws {
        func words(_ file: String) throws -> String {
            String(decoding: try home.output("keygen", ["words", file]), as: UTF8.self)
        }
        let logged = try shell("$KEYGEN \(options.joined()) -o log.key > log 2>&1; cat log")
        #expect(try logged.status == 0 && !logged.text.contains(words("log.key")))
        #expect(logged.text.contains("sotto keygen words log.key") == options.isEmpty)
        let shown = try TerminalSession(
            home.command("keygen", options + ["-o", "shown.key"]), columns: 400
        ).finish()
        #expect(
            try shown.status == 0 && shown.text.contains(words("shown.key")), "\(shown.text)")
        #expect(!shown.text.contains("sotto keygen words"))
        // On standard output it has no name, and the default identity is another one.
        let piped = try shell("$KEYGEN \(options.joined()) -o - 2>&1 > piped.key")
        #expect(piped.text.contains("to see them: sotto keygen words FILE\n") == options.isEmpty)
    }

    @Test(arguments: [
        "keygen", "keygen new -q", "keygen recover < words", "keygen export age alice.key",
        "keygen export ssh alice.key", "keygen export minisign --unprotected alice.key",
        "keygen paper alice.key", "keygen chat < words", "bridge chat < words",
        "bridge export ecp1 --password @FILE:words alice.key",
        "bridge export rsa --unprotected alice.key", "bridge login-key --unprotected",
        "bridge import ecp1 alice.ecp1 --password @FILE:words",
    ])
    func aSecretIsNotWrittenToAnOutputThatIsNotNamed(_ line: String) throws {
        let made = try home.run("keygen", ["-q", "--name", "alice", "-o", "alice.key"])
        #expect(made.status == 0, "\(made.stderr)")
        #expect(made.stderr.isEmpty)
        let words = try home.run("keygen", ["words", "alice.key"]).text
        home.files.write("words", Array(words.utf8), mode: 0o600)
        home.files.write("alice.ecp1", [], mode: 0o600)
        var command = line.split(separator: " ").map(String.init)
        let isPiped = command.suffix(2) == ["<", "words"]
        if isPiped { command.removeLast(2) }
        let run = try home.run(
            command.removeFirst(), command, text: isPiped ? words : "")
        #expect(run.status == 64 && run.stdout.isEmpty, "\(line): \(run.stderr)")
        #expect(run.stderr.contains("-o FILE") && run.stderr.contains("-o -"), "\(run.stderr)")
        #expect(!run.stderr.contains(words.prefix { $0 != "\n" }))
    }

    /// While `decrypt` waits for the reader of a full pipe, the reader looks at its temporary file.
    @Test(arguments: ["--hold -i bob.key file", "-i bob.key --attachment record blob"])
    func aTemporaryFileHasNoPlaintext(_ arguments: String) throws {
        let home = try Home(people: "alice", "bob")
        let plain = [UInt8](repeating: UInt8(ascii: "p"), count: 4 << 20)
        home.files.write("plain", plain)
        try home.files.write("file", home.output("encrypt", ["-r", "bob.card", "plain"]))
        let line = try home.output(
            "encrypt",
            [
                "--stateless", "--to", "bob.card", "-i", "alice.key", "--attach", "plain", "--blob",
                "blob", "/dev/null",
            ])
        try home.files.write(
            "record", home.output("decrypt", ["--stateless", "-i", "bob.key"], stdin: line))
        var command = home.other(
            "/bin/sh",
            [
                "-c",
                """
                mkfifo out; $DECRYPT \(arguments) > out & exec 3< out
                dd bs=1 count=1 <&3 > got 2> /dev/null
                for file in /proc/$!/fd/*; do
                    case $(readlink $file) in *sotto.*) cat $file > temporary ;; esac
                done
                cat <&3 >> got; wait $!
                """,
            ])
        command.environment["DECRYPT"] = Programs.path("decrypt")
        let run = try command.run()
        #expect(run.status == 0, "\(run.stderr)")
        #expect(try home.files.read("got") == plain)
        let temporary = try home.files.read("temporary")
        #expect(temporary.count >= plain.count)
        let longestRun = temporary.reduce(into: (0, 0)) { run, byte in
            run.1 = byte == UInt8(ascii: "p") ? run.1 + 1 : 0
            run.0 = max(run.0, run.1)
        }.0
        #expect(longestRun < 16)
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
