import Glibc
import Sotto
import TestSupport
import Testing

/// Recipients, cards and ids in the forms in which people have them: lists with keys of other programs, and texts that an
/// editor, a mail program or a telephone changed.
struct RecipientFormTests {
    let home: Home
    let plain = Array("plain".utf8)

    init() throws { home = try Home(people: "alice", "bob") }

    func sshLine(_ type: String, comment: String = "") -> String {
        let name = Array(type.utf8)
        let data = UInt32(name.count).bigEndianBytes + name + randomBytes(40)
        return "\(type) \(Base64.standard.encode(data)) \(comment)"
    }

    func ownSSHLine() throws -> String {
        let line = try home.output("keygen", ["export", "ssh", "--public-key", "alice.key"])
        return String(decoding: line.dropLast(), as: UTF8.self)
    }

    func uri() throws -> String {
        String(
            decoding: try home.output("keygen", ["public", "--uri", "alice.key"]).dropLast(),
            as: UTF8.self)
    }

    func card(_ name: String = "alice.card") throws -> JSONObject {
        try JSON.object(parsing: home.files.read(name))
    }

    static let plugin = "age1yubikey1qwt50d05nh5vutpdzmlg5wn80xq5negm4uj9ghv0snvdd3yysf5yw3rhl3t"
    static let otherTypes = [
        "ssh-rsa", "ssh-dss", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp521", "ssh-ed448",
        "sk-ssh-ed25519@openssh.com", "sk-ecdsa-sha2-nistp256@openssh.com",
        "ssh-ed25519-cert-v01@openssh.com",
    ]

    // MARK: Lists

    @Test func aKeyOfAnotherTypeInAListIsSkippedAndNamed() throws {
        let others = Self.otherTypes.map { sshLine($0, comment: "a@b") } + [Self.plugin]
        let lines = ["# the keys of an account", others[0], try ownSSHLine()] + others.dropFirst()
        home.files.write("list", Array(lines.joined(separator: "\n").utf8))
        let run = try home.run("encrypt", ["-R", "list"], stdin: .whole(plain))
        #expect(run.status == 0, "\(run.stderr)")
        #expect(run.stderr.contains("list, line 2: skipped an SSH key of the type ssh-rsa"))
        for (place, type) in Self.otherTypes.enumerated().dropFirst() {
            #expect(
                run.stderr.contains("line \(place + 3): skipped an SSH key of the type \(type)"))
        }
        #expect(run.stderr.contains("skipped a recipient of the age plugin yubikey"))
        _ = try home.output("keygen", ["export", "ssh", "-o", "id", "alice.key"])
        #expect(try home.output("decrypt", ["-i", "id"], stdin: run.stdout) == plain)
    }

    @Test func aListWithoutAUsableKeyIsRefused() throws {
        for line in Self.otherTypes.map({ sshLine($0) }) + [Self.plugin] {
            home.files.write("list", Array(line.utf8))
            let run = try home.run("encrypt", ["-R", "list"], stdin: .whole(plain))
            #expect(run.status == 65 && run.stdout.isEmpty, "\(line): \(run.stderr)")
            let name = line.hasPrefix("age1") ? "yubikey" : String(line.prefix { $0 != " " })
            #expect(run.stderr.contains(name) && run.stderr.contains("line 1"), "\(run.stderr)")
        }
    }

    @Test func aRecipientIsNeverSkipped() throws {
        for line in Self.otherTypes.map({ sshLine($0) }) + [Self.plugin] {
            let name = line.hasPrefix("age1") ? "plugin" : String(line.prefix { $0 != " " })
            home.files.write("list", Array((line + "\n" + (try ownSSHLine())).utf8))
            for argument in [line, "list"] {
                let run = try home.run("encrypt", ["-r", argument], stdin: .whole(plain))
                #expect(run.status == 65 && run.stdout.isEmpty, "\(run.stderr)")
                #expect(run.stderr.contains(name), "\(run.stderr)")
            }
        }
    }

    @Test func aLineOfAListMayHaveTabsAnyCommentAndCRLF() throws {
        let words = try ownSSHLine().split(separator: " ").map { Array($0.utf8) }
        let lines: [[UInt8]] = [
            words[0] + [0x09] + words[1],
            words[0] + [0x20, 0x09, 0x20] + words[1] + [0x09, 0x4D, 0xFC],
            words[0] + [0x20] + words[1] + [0x0D, 0x0A], [0x09] + words[0] + [0x20] + words[1],
            words[0] + [0x20] + words[1] + Array(" M\u{FC}ller b".utf8),
        ]
        for line in lines {
            home.files.write("list", line)
            for option in ["-R", "-r"] {
                let run = try home.run("encrypt", [option, "list"], stdin: .whole(plain))
                #expect(run.status == 0 && run.stderr.isEmpty, "\(line) \(run.stderr)")
            }
        }
        // A key that is cut is an error and not skipped.
        for line in [
            Array(words[0] + [0x20] + words[1].dropLast(5)), Array("ssh-rsa AAAAB3Nz".utf8),
        ] {
            home.files.write("list", Array(line) + [0x0A] + Array(try uri().utf8))
            let run = try home.run("encrypt", ["-R", "list"], stdin: .whole(plain))
            #expect(run.status == 65 && run.stderr.contains("line 1"), "\(run.stderr)")
        }
    }

    @Test func keysInOtherFormsHaveAHint() throws {
        for (text, needle) in [
            ("-----BEGIN RSA PRIVATE KEY-----\n", "RSA PRIVATE KEY"),
            ("-----BEGIN PRIVATE KEY-----\n", "ssh-keygen -t ed25519"),
            ("-----BEGIN ENCRYPTED PRIVATE KEY-----\r\n", "ssh-keygen -t ed25519"),
            ("PuTTY-User-Key-File-3: ssh-ed25519\r\n", "puttygen"),
            ("-----BEGIN PUBLIC KEY-----\n", "public key"),
            ("---- BEGIN SSH2 PUBLIC KEY ----\n", "public key"),
            ("AGE-PLUGIN-YUBIKEY-1QQQQQQQQ\n", "plugin"),
        ] {
            home.files.write("key", Array((text + "BBBB\n").utf8), mode: 0o600)
            let file = try home.output("encrypt", ["-r", "bob.card"], stdin: plain)
            let run = try home.run("decrypt", ["-i", "key"], stdin: .whole(file))
            #expect(run.status == 65 && run.stderr.contains(needle), "\(text): \(run.stderr)")
            let given = try home.run("encrypt", ["-r", "key"], stdin: .whole(plain))
            #expect([64, 65].contains(given.status), "\(given.stderr)")
            #expect(!given.stderr.contains("BBBB"))
        }
    }

    // MARK: Secrets

    @Test func aSecretThatIsGivenAsARecipientIsNotPrinted() throws {
        let age = String(
            decoding: try home.output("keygen", ["export", "age", "-o", "-", "alice.key"]),
            as: UTF8.self)
        let keys = age.split(separator: "\n").filter { $0.hasPrefix("AGE-SECRET") }.map(String.init)
        #expect(keys.count == 2)
        let identity = String(decoding: try home.files.read("alice.key").dropLast(), as: UTF8.self)
        let words = Mnemonic(randomWordCount: 24).sentenceText()
        let pem = String(
            decoding: try home.output("keygen", ["export", "ssh", "-o", "-", "alice.key"]),
            as: UTF8.self)
        let secrets =
            keys + keys.map { $0.lowercased() } + keys.map { " <\($0)>" } + [identity, words, pem]
        for secret in secrets {
            for arguments in [
                ["encrypt", "-r", secret], ["encrypt", "--to", secret, "-i", "bob.key"],
                ["decrypt", "--from", secret, "-i", "bob.key"], ["fingerprint", secret],
                ["contact", "add", secret, "-i", "bob.key"],
                ["encrypt", "-s", "-r", "bob.card", "-i", secret],
                ["contact", "show", secret, "-i", "bob.key"],
                ["contact", "accept", secret, "-i", "bob.key"],
            ] {
                let run = try home.run(
                    arguments[0], Array(arguments.dropFirst()), stdin: .whole(plain))
                #expect([64, 65, 66].contains(run.status), "\(arguments[..<2]): \(run.stderr)")
                #expect(run.stdout.isEmpty)
                for part in secret.split(whereSeparator: { " \n<>\"".contains($0) })
                where part.count > 20 {
                    #expect(!run.stderr.contains(part), "\(arguments[..<2])")
                }
                // The first word of a PEM text is not secret.
                #expect(!run.stderr.contains(secret.prefix(20)), "\(arguments[..<2])")
            }
        }
        home.files.write("list", Array(keys[0].utf8))
        let run = try home.run("encrypt", ["-R", "list"], stdin: .whole(plain))
        #expect(run.status == 64 && !run.stderr.contains(keys[0].suffix(30)), "\(run.stderr)")
    }

    // MARK: Cards and URIs

    @Test func aCardIsReadAsItIsPasted() throws {
        let uri = try uri()
        let rest = uri.dropFirst(6)
        let line = String(decoding: try home.files.read("alice.card").dropLast(), as: UTF8.self)
        let spread = line.replacing(",\"", with: ",\n  \"").replacing("{", with: "{\n  ")
            .replacing("}", with: "\n}")
        let broken = uri.prefix(60) + "\n  " + uri.dropFirst(60)
        let texts = [
            "SOTTO:\(rest)", "Sotto:\(rest)", "<\(uri)>", " \(uri) ", "\(uri)\r\n",
            "\u{FEFF}\(uri)",
            "\"\(uri)\"", "<\(broken)>", spread, spread.replacing("\n", with: "\r\n"),
            "\n\n" + line + "\r\n", "# mine\n" + spread + "\n# end\n",
        ]
        let wanted = try home.output("fingerprint", ["alice.card"])
        for text in texts {
            home.files.write("pasted", Array(text.utf8))
            let run = try home.run("fingerprint", ["pasted"])
            #expect(run.status == 0 && run.stdout == wanted, "\(text): \(run.stderr)")
            let sealed = try home.run("encrypt", ["-R", "pasted"], stdin: .whole(plain))
            #expect(sealed.status == 0, "\(text): \(sealed.stderr)")
            guard !text.contains("{"), !text.hasPrefix("#") else { continue }
            let given = try home.run("fingerprint", [text])
            #expect(given.status == 0 && given.stdout == wanted, "\(text): \(given.stderr)")
        }
        // Two cards that were spread over lines, with a key of another type between them.
        let bob = String(decoding: try home.files.read("bob.card"), as: UTF8.self)
        let list = spread + "\n" + sshLine("ssh-rsa") + "\n" + bob
        home.files.write("list", Array(list.utf8))
        let run = try home.run("encrypt", ["-R", "list"], stdin: .whole(plain))
        #expect(run.status == 0, "\(run.stderr)")
        let line5 = spread.split(separator: "\n", omittingEmptySubsequences: false).count + 1
        #expect(run.stderr.contains("line \(line5): skipped"), "\(run.stderr)")
        for name in ["alice.key", "bob.key"] {
            #expect(try home.output("decrypt", ["-i", name], stdin: run.stdout) == plain)
        }
    }

    @Test func anIDIsReadAsItIsPasted() throws {
        _ = try home.output("contact", ["add", "alice.card", "-i", "bob.key"])
        let id = try #require(try card()["id"]?.string)
        for text in [id, "\(id)\r", " \(id)", "<\(id)>", id.uppercased(), "\u{FEFF}\(id)\n"] {
            for arguments in [
                ["fingerprint", text, "-i", "bob.key"], ["contact", "show", text, "-i", "bob.key"],
                ["encrypt", "--to", text, "-i", "bob.key"],
            ] {
                let run = try home.run(
                    arguments[0], Array(arguments.dropFirst()), stdin: .whole(plain))
                #expect(run.status == 0, "\(arguments): \(run.stderr)")
            }
        }
    }

    @Test func anUnclosedObjectIsAnErrorOfItsLine() throws {
        home.files.write("list", Array("# one\n{\"v\":1,\n\(try uri())\n".utf8))
        let run = try home.run("encrypt", ["-R", "list"], stdin: .whole(plain))
        #expect(run.status == 65 && run.stderr.contains("line 2"), "\(run.stderr)")
    }

    // MARK: Times, addresses and the environment

    @Test(arguments: [
        "2026-11-25T07:20:00+01:00", "2026-11-25T06:20:00Z", "2026-11-25t06:20:00z",
        "2026-11-25 07:20:00+01:00", "2026-11-25T07:20+01:00", "2026-11-25T07:20:00+0100",
        "2026-11-25T07:20:00+01", "2026-11-25 07:20:00 +0100",
        "2026-11-25T07:20:00,123456789+01:00",
        "2026-11-24T18:20:00.5-12:00", " 2026-11-25T06:20:00Z\r",
    ])
    func aTimeMayHaveAnOffset(_ text: String) throws {
        try seen(text, "2026-11-25T06:20:00Z")
        for bad in [
            "\(text)x", "2026-11-25T07:20:", "2026-11-25T07:20:00+1", "2026-11-25T07:20:00+25:00",
        ] {
            let run = try home.run("history", ["--after", bad, "-i", "bob.key"])
            #expect(run.status == 64, "\(bad): \(run.stderr)")
        }
    }

    /// The messages after two times are the same: one second before the time is no message, and after it all.
    func seen(_ text: String, _ utc: String) throws {
        _ = try home.output("contact", ["add", "alice.card", "-i", "bob.key"])
        let line = try home.output(
            "encrypt", ["--to", "bob.card", "-i", "alice.key"], stdin: plain)
        _ = try home.output("decrypt", ["-i", "bob.key"], stdin: line)
        let runs = try [text, utc].map {
            try home.run("history", ["--before", $0, "-i", "bob.key"])
        }
        #expect(runs[0].status == runs[1].status && runs[0].stdout == runs[1].stdout)
        #expect(runs[0].status != 64, "\(runs[0].stderr)")
    }

    @Test func aRelayAddressIsTrimmedOrItsCharacterIsNamed() throws {
        for (address, said) in [
            ("tcp://relay.example.org:7667 ", nil), (" tcp://relay.example.org:7667\r\n", nil),
            ("<TCP://Relay.Example.ORG:7667>", nil), ("tcp://[0:0::1]:7667", nil),
            ("tcp://relay.exa mple.org:7667", "a space"),
            ("tcp://relay\rexample:7667", "a carriage return"),
            ("tcp://b\u{FC}cher.example:7667", "xn--"), ("tcp://[fe80::1%eth0]:7667", "zone"),
            // A comma separates the addresses of a list.
            ("https://relay.example/a,b", "the character ,"),
            ("tcp://user@host:7667", "the character @"), ("wss://host/a b", "a space"),
            ("tcp://host\u{200B}name:7667", "U+200B"),
        ] as [(String, String?)] {
            let run = try home.run("keygen", ["public", "--relay", address, "alice.key"])
            #expect(run.status == (said == nil ? 0 : 64), "\(address): \(run.stderr)")
            if let said {
                #expect(run.stderr.contains(said), "\(address): \(run.stderr)")
            } else {
                let card = try JSON.object(parsing: run.stdout)
                #expect(
                    ["tcp://relay.example.org:7667", "tcp://[::1]:7667"].contains(
                        card["relay"]?.string))
            }
        }
    }

    @Test func aPathInTheEnvironmentThatIsNotUTF8IsRefused() throws {
        let folder = home.files("a")
        for (variable, line) in [
            ("SOTTO_HOME", "$CONTACT list -i bob.key"),
            ("XDG_STATE_HOME", "$CONTACT list -i bob.key"),
            ("SOTTO_IDENTITY", "$KEYGEN public"), ("XDG_CONFIG_HOME", "$KEYGEN public"),
            ("TMPDIR", "$DECRYPT --hold -i bob.key file | cat"),
        ] {
            try home.files.write("file", home.output("encrypt", ["-r", "bob.card"], stdin: plain))
            let unset = ["SOTTO_HOME", "XDG_STATE_HOME", "SOTTO_IDENTITY", "XDG_CONFIG_HOME"]
                .filter { $0 != variable }.map { "unset \($0); " }.joined()
            var command = home.other(
                "/bin/sh",
                [
                    "-c",
                    "\(unset)\(variable)=$(printf '\(folder)\\377'); export \(variable); \(line)",
                ])
            command.environment["CONTACT"] = Programs.path("contact")
            command.environment["KEYGEN"] = Programs.path("keygen")
            command.environment["DECRYPT"] = Programs.path("decrypt")
            let run = try command.run()
            #expect(run.stdout.isEmpty, "\(variable)")
            #expect(run.stderr.contains("\(variable) is not UTF-8"), "\(variable): \(run.stderr)")
            if variable != "TMPDIR" { #expect(run.status == 78, "\(variable)") }
        }
        #expect(try !home.files.names().contains { $0.contains("\u{FFFD}") })
    }
}
