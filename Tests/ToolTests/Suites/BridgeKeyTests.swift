import Glibc
import Sotto
import SottoMessengers
import TestSupport
import Testing

/// Tests of the keys that `bridge` makes, prints and answers with for other messengers, from the same words.
struct BridgeKeyTests {
    struct BoxVectors: Decodable {
        struct Account: Decodable {
            let name: String
            let mnemonic: String
            let passphrase: String
            let encPublicAppB64: String
            let signPublicB64: String
        }
        struct Challenge: Decodable {
            let challenge: String
            let signature: String
            let mustFail: String?
        }
        let identities: [Account]
        let challenges: [Challenge]
    }
    struct ECP1Vectors: Decodable {
        struct Known: Decodable {
            let password: String
            let plaintext: Hex
            let file: Hex
        }
        struct MustFail: Decodable {
            let why: String
            let password: String
            let file: Hex
        }
        let files: [Known]
        let mustFail: [MustFail]
    }

    static let box: BoxVectors = Vectors.load("box")
    static let ecp1: ECP1Vectors = Vectors.load("ecp1")
    static let words =
        "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about"
    static let whisperID = "WSP-YS3T-HJGR-KQBZ"

    let home: Home
    init() throws {
        home = Home()
        home.files.write("words", Array((Self.words + "\n").utf8))
        home.files.write("password", Array("correct horse\n".utf8))
    }

    func keygen(_ arguments: String..., stdin: [UInt8] = []) throws -> Run {
        try home.run("keygen", arguments, stdin: .whole(stdin))
    }

    func bridge(_ arguments: String..., stdin: [UInt8] = []) throws -> Run {
        try home.run("bridge", arguments, stdin: .whole(stdin))
    }

    func must(_ arguments: String..., stdin: [UInt8] = []) throws -> Run {
        let run = try home.run("bridge", arguments, stdin: .whole(stdin))
        #expect(run.status == 0, "\(arguments): \(run.stderr)")
        return run
    }

    /// Creates `name`.key from words, with keys for other messengers.
    func makeIdentity(_ name: String = "a", _ more: String..., words: String = words) throws {
        let run = try home.run(
            "keygen", ["recover", "-q", "-o", "\(name).key"], text: words + "\n")
        #expect(run.status == 0, "\(run.stderr)")
        guard !more.isEmpty else { return }
        let set = try home.run("bridge", ["set", "-q"] + more + ["\(name).key"])
        #expect(set.status == 0, "\(set.stderr)")
    }

    func identity(_ name: String) throws -> Identity {
        try Identity(record: JSON.object(parsing: home.files.read("\(name).key")))
    }

    func mode(_ name: String) throws -> mode_t {
        var status = stat()
        guard stat(home.files(name), &status) == 0 else { throw SystemError("stat") }
        return status.st_mode & 0o777
    }

    // MARK: Keys in addition to the words

    @Test(arguments: [false, true])
    func anIdentityGetsAnRSAKeyAndAWhisperID(_ isProtected: Bool) throws {
        let protect = isProtected ? ["--protect", "--passphrase", "@FILE:password"] : []
        let open = isProtected ? ["--identity-passphrase", "@FILE:password"] : []
        let made = try home.run(
            "keygen",
            ["-q", "--name", "alice", "--relay", "tcp://relay.example:1", "-o", "a.key"] + protect)
        #expect(made.status == 0, "\(made.stderr)")
        let before = try home.output("keygen", ["public", "a.key"] + open)
        let run = try home.run(
            "bridge", ["set", "--rsa", "2048", "--whisper-id", Self.whisperID, "a.key"] + open)
        #expect(run.status == 0, "\(run.stderr)")
        #expect(run.stderr.contains("the words do not restore the RSA key"))
        #expect(run.stderr.contains("bridge export rsa"))
        #expect(try mode("a.key") == 0o600)
        let content = try home.files.read("a.key")
        #expect(content.starts(with: Array("-----BEGIN AGE".utf8)) == isProtected)
        // The words, the id, the keys and the relay are the same.
        let after = try Card(
            record: JSON.object(parsing: home.output("keygen", ["public", "a.key"] + open)))
        let old = try Card(record: JSON.object(parsing: before))
        #expect(after.id == old.id && after.age == old.age && after.relay == old.relay)
        let shown = try home.run("bridge", ["account", "whisper2", "a.key"] + open)
        #expect(shown.text.contains(Self.whisperID), "\(shown.stderr)")
        #expect(
            try home.run("bridge", ["export", "rsa", "--unprotected", "-o", "-", "a.key"] + open)
                .status == 0)
        // A second key would make old messages unreadable.
        let again = try home.run("bridge", ["set", "--rsa", "2048", "a.key"] + open)
        #expect(again.status == 73 && again.stderr.contains("RSA key already"), "\(again.stderr)")
        #expect(try home.files.read("a.key") == content)
        let quiet = try home.run(
            "bridge", ["set", "-q", "--whisper-id", Self.whisperID, "a.key"] + open)
        #expect(quiet.status == 0 && quiet.stderr.isEmpty, "\(quiet.stderr)")
    }

    @Test func aWrongChecksumIsAWarningAndAWrongFormAnError() throws {
        try makeIdentity()
        let warned = try bridge("set", "-q", "--whisper-id", "WSP-YS3T-HJGR-KQBA", "a.key")
        #expect(warned.status == 0 && warned.stderr.contains("warning: the checksum"))
        let content = try home.files.read("a.key")
        #expect(try bridge("set", "--whisper-id", "WSP-YS3T", "a.key").status == 64)
        for bits in ["1024", "4096", "0", "-1", "x"] {
            #expect(try bridge("set", "--rsa", bits, "a.key").status == 64)
        }
        #expect(try bridge("set", "a.key").status == 64)
        #expect(try home.files.read("a.key") == content)
    }

    // MARK: Key files

    @Test(arguments: ecp1.files.indices)
    func knownKeyFilesGiveTheirKey(_ index: Int) throws {
        let known = Self.ecp1.files[index]
        home.files.write("known.ecp1", known.file.bytes)
        home.files.write("known.password", Array((known.password + "\n").utf8))
        let run = try bridge(
            "import", "ecp1", "known.ecp1", "--password", "@FILE:known.password", "-o", "k.key")
        guard known.plaintext.bytes.count == 32 else {
            #expect(run.status == 65 && !home.files.exists("k.key"))
            return
        }
        #expect(run.status == 0, "\(run.stderr)")
        #expect(run.stderr.contains("no recovery words") && run.stderr.contains("new card"))
        let seed = SecretBytes(copying: known.plaintext.bytes)
        #expect(try identity("k").id == Identity(seed: seed, name: "").id)
        // And exported again, as a file that gives the same key.
        _ = try must(
            "export", "ecp1", "--password", "@FILE:known.password", "-o", "out.ecp1", "k.key")
        let file = try ECP1File(home.files.read("out.ecp1"))
        let out = try file.open(password: SecretBytes(copying: known.password.utf8))
        #expect(out.withBytes { Array($0) } == known.plaintext.bytes)
        #expect(try mode("out.ecp1") == 0o600 && file.bytes.count == 80)
    }

    @Test(arguments: ecp1.mustFail.indices)
    func keyFilesThatMustFailMakeNothing(_ index: Int) throws {
        let bad = Self.ecp1.mustFail[index]
        home.files.write("bad.ecp1", bad.file.bytes)
        home.files.write("bad.password", Array((bad.password + "\n").utf8))
        let run = try bridge(
            "import", "ecp1", "bad.ecp1", "--password", "@FILE:bad.password", "-o", "k.key")
        let isForm = bad.why == "magic ECP2" || bad.why.hasPrefix("47 bytes")
        #expect(run.status == (isForm ? 65 : 10), "\(bad.why): \(run.stderr)")
        #expect(!home.files.exists("k.key"))
    }

    @Test func anIdentityWithoutWordsSaysSo() throws {
        try makeIdentity()
        let exported = try must(
            "export", "ecp1", "--password", "@FILE:password", "-o", "a.ecp1", "a.key")
        #expect(exported.stderr.contains("PBKDF2") && exported.stderr.contains("--protect"))
        _ = try must(
            "import", "ecp1", "a.ecp1", "--password", "@FILE:password", "-o", "b.key")
        _ = try must(
            "import", "ecp1", "a.ecp1", "--password", "@FILE:password", "-o", "c.key", "--relay",
            "tcp://relay.example.org:7667")
        #expect(try identity("b").relay == nil)
        #expect(try identity("c").relay == "tcp://relay.example.org:7667")
        let refused = try bridge(
            "import", "ecp1", "a.ecp1", "--password", "@FILE:password", "-o", "d.key", "--relay",
            "here")
        #expect(refused.status == 64 && !home.files.exists("d.key"))
        let (old, new) = try (identity("a"), identity("b"))
        #expect(old.id == new.id && old.ageKey.recipient != new.ageKey.recipient)
        for (tool, arguments) in [
            ("keygen", ["words"]), ("bridge", ["account", "mercurio"]),
            ("bridge", ["set", "--rsa", "2048"]),
            ("bridge", ["account", "whisper2", "--whisper-id", Self.whisperID]),
        ] {
            let run = try home.run(tool, arguments + ["b.key"])
            #expect(run.status == 10 && run.stderr.contains("no recovery words"), "\(run.stderr)")
        }
        // Its card and Kecalek's code need no words.
        #expect(try keygen("public", "b.key").status == 0)
        #expect(
            try bridge("account", "kecalek", "--user-id", "a", "b.key").status == 0)
    }

    @Test func aKeyFileIsNotWrittenToATerminal() throws {
        try makeIdentity()
        for output in [[], ["-o", "-"]] {
            let run = try TerminalSession(
                home.command(
                    "bridge",
                    ["export", "ecp1", "--password", "@FILE:password", "a.key"] + output)
            ).finish()
            #expect(run.status == 64 && !run.text.contains("ECP1\u{0}"), "\(run.text)")
        }
    }

    @Test(.needs(.openSSL))
    func anRSAKeyIsExportedAndRestoredAlsoByOpenSSL() throws {
        try makeIdentity("a", "--rsa", "3072")
        _ = try must("export", "rsa", "--password", "@FILE:password", "-o", "a.pem", "a.key")
        #expect(try mode("a.pem") == 0o600)
        let plain = try must("export", "rsa", "--unprotected", "-o", "-", "a.key").stdout
        let theirs = try OpenSSL.run(
            ["pkey", "-in", home.files("a.pem"), "-passin", "pass:correct horse"])
        #expect(theirs == plain)
        home.files.write("plain.pem", plain)
        _ = try OpenSSL.run([
            "pkcs8", "-topk8", "-in", home.files("plain.pem"), "-out", home.files("theirs.pem"),
            "-v2", "aes-256-cbc", "-v2prf", "hmacWithSHA256", "-passout", "pass:correct horse",
        ])
        for (file, password) in [
            ("a.pem", ["--password", "@FILE:password"]),
            ("theirs.pem", ["--password", "@FILE:password"]), ("plain.pem", []),
        ] {
            try makeIdentity(file)
            let run = try home.run(
                "bridge", ["import", "rsa", file, "-q", "-i", file + ".key"] + password)
            #expect(run.status == 0, "\(run.stderr)")
            let back = try identity(file).rsaKey()?.publicKey
            #expect(try back == identity("a").rsaKey()?.publicKey && back != nil)
        }
    }

    @Test func anInvalidRSAKeyWritesNothing() throws {
        try makeIdentity("a", "--rsa", "2048")
        _ = try must("export", "rsa", "--password", "@FILE:password", "-o", "a.pem", "a.key")
        _ = try must("export", "rsa", "--unprotected", "-o", "plain.pem", "a.key")
        home.files.write("wrong", Array("correct horsf\n".utf8))
        try home.files.write("open.pem", home.files.read("plain.pem"), mode: 0o644)
        home.files.write("no.pem", Array("no key".utf8))
        _ = try must("login-key", "--bits", "4096", "--unprotected", "-o", "long.pem")
        try makeIdentity("none")
        let before = try home.files.read("none.key")
        for (status, arguments) in [
            (Int32(10), ["rsa", "a.pem", "--password", "@FILE:wrong"]),
            (64, ["rsa", "plain.pem", "--password", "@FILE:wrong"]),
            (65, ["rsa", "no.pem"]), (65, ["rsa", "long.pem"]),
            (66, ["rsa", "missing.pem"]), (77, ["rsa", "open.pem"]), (64, ["rsa"]),
            (64, ["rsa", "plain.pem", "-o", "new.key"]), (64, ["ecp1", "a.pem"]), (64, ["other"]),
        ] {
            let run = try home.run("bridge", ["import"] + arguments + ["-i", "none.key"])
            #expect(run.status == status, "\(arguments): \(run.stderr)")
            #expect(!home.files.exists("new.key"))
            #expect(try home.files.read("none.key") == before)
        }
        let none = try bridge("export", "rsa", "--unprotected", "-o", "-", "none.key")
        #expect(none.status == 10 && none.stderr.contains("no RSA key"))
        #expect(try bridge("export", "ecp1", "--unprotected", "a.key").status == 64)
    }

    @Test func aFileIsNeverOverwritten() throws {
        try makeIdentity("a", "--rsa", "2048")
        home.files.write("there", [1])
        for arguments in [
            ["export", "ecp1", "--password", "@FILE:password", "a.key"],
            ["export", "rsa", "--unprotected", "a.key"], ["login-key", "--unprotected"],
            ["chat", "--phrase", "@FILE:password"],
        ] {
            #expect(try home.run("bridge", arguments + ["-o", "there"]).status == 73)
        }
        #expect(try home.files.read("there") == [1])
    }

    @Test func aPasswordIsAskedForTwice() throws {
        try makeIdentity()
        let session = try TerminalSession(
            home.command("bridge", ["export", "ecp1", "-o", "a.ecp1", "a.key"]))
        try session.expect("New password: ")
        try session.type("hidden words\n")
        try session.expect("Repeat the password: ")
        try session.type("hidden words\n")
        let run = try session.finish()
        #expect(run.status == 0 && !run.text.contains("hidden words"), "\(run.text)")
        let file = try ECP1File(home.files.read("a.ecp1"))
        #expect(try file.open(password: SecretBytes(copying: "hidden words".utf8)).count == 32)
        let wrong = try TerminalSession(
            home.command("bridge", ["export", "ecp1", "-o", "b.ecp1", "a.key"]))
        // It is asked three times.
        for _ in 1...3 {
            try wrong.expect("New password: ")
            try wrong.type("one\n")
            try wrong.expect("Repeat the password: ")
            try wrong.type("two\n")
        }
        #expect(try wrong.finish().status == 64)
        #expect(!home.files.exists("b.ecp1"))
    }

    @Test func aPasswordIsAskedForWhenAFileIsRead() throws {
        try makeIdentity("a", "--rsa", "2048")
        _ = try must("export", "rsa", "--password", "@FILE:password", "-o", "a.pem", "a.key")
        _ = try must("export", "ecp1", "--password", "@FILE:password", "-o", "a.ecp1", "a.key")
        try makeIdentity("a.pem")
        for (file, target) in [("a.pem", ["-i", "a.pem.key"]), ("a.ecp1", ["-o", "a.ecp1.key"])] {
            let kind = file == "a.pem" ? "rsa" : "ecp1"
            let session = try TerminalSession(
                home.command("bridge", ["import", kind, file] + target))
            try session.expect("Password for \(file): ")
            try session.type("correct horse\n")
            let run = try session.finish()
            #expect(run.status == 0 && !run.text.contains("correct horse"), "\(run.text)")
            #expect(try identity(file).id == identity("a").id)
        }
    }

    @Test(arguments: [
        ["import", "ecp1", "words", "--password"], ["import", "rsa", "x", "--password"],
        ["export", "ecp1", "--password"], ["chat", "--phrase"], ["login-key", "--password"],
        ["answer", "kecalek", "--key", "words", "--password"],
    ])
    func aSecretIsNotAnArgument(_ arguments: [String]) throws {
        let run = try home.run("bridge", arguments + ["open sesame"])
        #expect(run.status == 64 && run.stderr.contains("@FD:N"), "\(run.stderr)")
        #expect(!run.stderr.contains("sesame") && run.stdout.isEmpty)
    }

    // MARK: What is shown

    @Test(arguments: box.identities.indices)
    func whisper2ShowsTheKeysOfTheKnownWords(_ index: Int) throws {
        let known = Self.box.identities[index]
        guard known.passphrase.isEmpty else { return }
        try makeIdentity("a", "--whisper-id", Self.whisperID, words: known.mnemonic)
        func parameter(_ key: String) -> String {
            key.replacing("+", with: "%2B").replacing("/", with: "%2F").replacing("=", with: "%3D")
        }
        #expect(
            try must("account", "whisper2", "a.key").text
                == "whisper2://add?id=\(Self.whisperID)&key=\(parameter(known.encPublicAppB64))"
                + "&skey=\(parameter(known.signPublicB64))\n")
    }

    @Test func accountsNeedTheirKeys() throws {
        try makeIdentity()
        for (status, arguments) in [
            (Int32(10), ["account", "whisper2", "a.key"]),
            (10, ["card", "whisper2", "-i", "a.key"]),
            (10, ["account", "mercurio", "--signed", "a.key"]),
            (10, ["card", "mercurio", "-i", "a.key"]),
            (64, ["account", "kecalek", "a.key"]), (64, ["card", "kecalek", "-i", "a.key"]),
            (64, ["account", "other", "a.key"]),
            (64, ["account", "whisper2", "--signed", "a.key"]),
            (64, ["card", "-i", "a.key"]),
            (64, ["account", "mercurio", "--user-id", "a", "a.key"]),
            (64, ["card", "mercurio", "--whisper-id", Self.whisperID, "-i", "a.key"]),
            (64, ["account", "mercurio", "--signed", "--form", "web", "a.key"]),
            (65, ["account", "kecalek", "--user-id", "", "a.key"]),
            (65, ["account", "kecalek", "--user-id", String(repeating: "u", count: 256), "a.key"]),
            (0, ["account", "whisper2", "--whisper-id", Self.whisperID, "a.key"]),
            (0, ["account", "mercurio", "a.key"]),
        ] {
            let run = try home.run("bridge", arguments)
            #expect(run.status == status, "\(arguments): \(run.stderr)")
            #expect(run.stdout.isEmpty == (status != 0))
        }
    }

    @Test func theCardSignsIncludedAccounts() throws {
        try makeIdentity("a", "--rsa", "2048", "--whisper-id", Self.whisperID)
        let run = try must(
            "card", "whisper2", "mercurio", "kecalek", "--user-id", "žofie", "-i", "a.key")
        let card = try Card(record: JSON.object(parsing: run.stdout))
        let identity = try identity("a")
        let profiles = try card.profiles()
        #expect(profiles.kecalek == "žofie")
        #expect(try profiles.whisper2?.signingKey == identity.whisper2Keys().signingKey)
        #expect(try profiles.mercurio?.id == identity.mercurioIdentity().id)
        #expect(try profiles.mercurio?.key == identity.rsaKey()?.publicKey)
        let bundle = try must("account", "mercurio", "--signed", "a.key")
        let read = try MercurioKeyBundle(record: JSON.object(parsing: bundle.stdout))
        #expect(read == profiles.mercurio)
        #expect(
            try must("account", "mercurio", "a.key").text == "\(read.id)\n")
        #expect(
            try Card(record: JSON.object(parsing: keygen("public", "a.key").stdout)).accounts
                .members.isEmpty)
    }

    @Test(arguments: ["whisper2", "mercurio", "kecalek"])
    func theCodesAreReadFromAPicture(_ profile: String) throws {
        try makeIdentity("a", "--whisper-id", Self.whisperID)
        let user = profile == "kecalek" ? ["--user-id", "žofie@example.org"] : []
        let shown = try home.output(
            "bridge", ["account", profile] + user + ["a.key"])
        let runs = try Command.pipeline([
            home.command("bridge", ["account", profile] + user + ["a.key"]),
            home.command("qr", ["-o", "a.png"]),
        ])
        #expect(runs.map(\.status) == [0, 0], "\(runs.map(\.stderr))")
        let scanned = try home.output("qr", ["scan", "a.png"])
        // A line feed at the end of a text is not part of a code's content.
        let isLine = shown.last == UInt8(ascii: "\n") && profile != "kecalek"
        #expect(scanned == shown || isLine && scanned == shown.dropLast())
        if profile == "kecalek" {
            let code = try KecalekQR(payload: scanned)
            #expect(
                try code.userID == "žofie@example.org"
                    && code.identityKey == identity("a").id.publicKey)
        }
    }

    @Test func kecaleksCodeIsRefusedOnATerminal() throws {
        try makeIdentity()
        let run = try TerminalSession(
            home.command("bridge", ["account", "kecalek", "--user-id", "a", "a.key"])
        ).finish()
        #expect(run.status == 64 && run.text.contains("refusing to write binary data"))
    }

    // MARK: Challenges

    @Test(arguments: box.challenges.indices)
    func whisper2AnswersKnownChallenges(_ index: Int) throws {
        let known = Self.box.challenges[index]
        let alice = try #require(Self.box.identities.first { $0.name == "alice" })
        try makeIdentity("a", words: alice.mnemonic)
        let raw = try #require(Base64.standard.decode(known.challenge))
        for form in [raw, Array((known.challenge + "\n").utf8), Array((hex(raw) + "\r\n").utf8)] {
            let answer = try must("answer", "whisper2", "a.key", stdin: form).text
            #expect((answer == known.signature + "\n") == (known.mustFail == nil))
        }
    }

    @Test func b1OnlyAChallengeIsAnswered() throws {
        try makeIdentity()
        _ = try must("login-key", "--bits", "2048", "--unprotected", "-o", "l.pem")
        let message = Array("v1\nsend_message\n".utf8)
        let short = message + [UInt8](repeating: 10, count: 32 - message.count)
        var others = [0, 1, 31, 33, 43, 44, 45, 63, 64, 65, 4096, 5000].map {
            [UInt8](repeating: 1, count: $0)
        }
        others += [
            message,
            Array(String(repeating: "0", count: 64).utf8.dropLast()) + [0x67],
        ]
        for bytes in others {
            for arguments in [["whisper2", "a.key"], ["kecalek", "--key", "l.pem"]] {
                let run = try home.run(
                    "bridge", ["answer"] + arguments, stdin: .whole(bytes))
                #expect(run.status == 65 && run.stdout.isEmpty, "\(bytes.count): \(run.stderr)")
            }
        }
        // With Kecalek's key, any 32 bytes are signed with a label; Whisper2 has no label.
        for bytes in [short, Array((Base64.standard.encode(short) + "\n").utf8)] {
            let run = try bridge("answer", "whisper2", "a.key", stdin: bytes)
            #expect(run.status == 65 && run.stdout.isEmpty, "\(run.stderr)")
        }
    }

    @Test func kecaleksLoginKeyAnswers() throws {
        _ = try must(
            "login-key", "--bits", "2048", "--password", "@FILE:password", "-o", "l.pem")
        #expect(try mode("l.pem") == 0o600)
        #expect(RSALoginKey.isEncrypted(file: try home.files.read("l.pem")))
        let key = try RSALoginKey(
            encryptedFile: home.files.read("l.pem"),
            password: SecretBytes(copying: "correct horse".utf8))
        let challenge = randomBytes(32)
        let run = try must(
            "answer", "kecalek", "--key", "l.pem", "--password", "@FILE:password",
            stdin: challenge)
        let answer = try #require(Base64.standard.decode(run.lines[0]))
        #expect(key.publicKey.isAnswer(answer, to: challenge))
        let shown = try must("login-key", "--public", "l.pem", "--password", "@FILE:password")
        #expect(shown.text == key.publicPEM())
        home.files.write("wrong", Array("x\n".utf8))
        for (status, arguments) in [
            (Int32(10), ["answer", "kecalek", "--key", "l.pem", "--password", "@FILE:wrong"]),
            (64, ["answer", "kecalek"]), (64, ["answer", "whisper2", "--key", "l.pem"]),
            (64, ["answer", "other"]), (66, ["answer", "kecalek", "--key", "missing"]),
            (65, ["answer", "kecalek", "--key", "words"]),
            (64, ["login-key", "--bits", "1024", "-o", "x"]),
            (64, ["login-key", "--public", "l.pem", "-o", "x"]),
        ] {
            let run = try home.run("bridge", arguments, stdin: .whole(challenge))
            #expect(run.status == status && run.stdout.isEmpty, "\(arguments): \(run.stderr)")
        }
    }

    @Test func workIsTheSmallestCounter() throws {
        let challenge = Array("challenge\n".utf8)
        let run = try must("work", "--bits", "12", stdin: challenge)
        let counter = try #require(UInt64(run.lines[0]))
        #expect(ProofOfWork.isSolved(challenge, by: counter, bits: 12))
        #expect((0..<counter).allSatisfy { !ProofOfWork.isSolved(challenge, by: $0, bits: 12) })
        #expect(try must("work", "--bits", "0").text == "0\n")
        for bits in ["33", "-1", "x"] {
            #expect(try bridge("work", "--bits", bits).status == 64)
        }
        #expect(try bridge("work").status == 64)
        let long = [UInt8](repeating: 0, count: 1025)
        #expect(try bridge("work", "--bits", "1", stdin: long).status == 65)
    }
}
