import Glibc
import Sotto
import TestSupport
import Testing

/// Tests of the keys that `keygen` makes, prints and answers with for other messengers, from the same words.
struct KeygenProfileTests {
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
        home = try Home()
        try home.files.write("words", Array((Self.words + "\n").utf8))
        try home.files.write("password", Array("correct horse\n".utf8))
    }

    func keygen(_ arguments: String..., stdin: [UInt8] = []) throws -> Run {
        try home.run("keygen", arguments, stdin: .whole(stdin))
    }

    func must(_ arguments: String..., stdin: [UInt8] = []) throws -> Run {
        let run = try home.run("keygen", arguments, stdin: .whole(stdin))
        #expect(run.status == 0, "\(arguments): \(run.stderr)")
        return run
    }

    /// Creates `name`.key from words, with further options.
    func makeIdentity(_ name: String = "a", _ more: String..., words: String = words) throws {
        let run = try home.run(
            "keygen", ["recover", "-q", "-o", "\(name).key"] + more, text: words + "\n")
        #expect(run.status == 0, "\(run.stderr)")
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

    @Test func anIdentityGetsAnRSAKeyAndAWhisperIDFromItsOwnWords() throws {
        _ = try must("-q", "--name", "alice", "-o", "a.key")
        let words = try must("words", "a.key").stdout
        let run = try must(
            "recover", "--rsa", "2048", "--whisper-id", Self.whisperID, "-o", "b.key", stdin: words)
        #expect(run.stderr.contains("the words do not restore the RSA key"))
        #expect(run.stderr.contains("keygen export rsa"))
        let (old, new) = try (identity("a"), identity("b"))
        #expect(new.id == old.id && new.ageKey.recipient == old.ageKey.recipient)
        #expect(new.whisperID?.description == Self.whisperID)
        #expect(try old.rsaKey() == nil && new.rsaKey() != nil)
        let quiet = try must("-q", "--rsa", "2048", "-o", "c.key")
        #expect(quiet.stderr.split(separator: " ").count == 24, "\(quiet.stderr)")
        let said = try must("--rsa", "2048", "-o", "d.key")
        #expect(said.stderr.contains("restore your keys except the RSA key"))
    }

    @Test func aWrongChecksumIsAWarningAndAWrongFormAnError() throws {
        let warned = try keygen("-q", "--whisper-id", "WSP-YS3T-HJGR-KQBA", "-o", "a.key")
        #expect(warned.status == 0 && warned.stderr.contains("warning: the checksum"))
        #expect(try keygen("--whisper-id", "WSP-YS3T", "-o", "b.key").status == 64)
        for bits in ["1024", "4096", "0", "-1", "x"] {
            #expect(try keygen("--rsa", bits, "-o", "b.key").status == 64)
        }
        #expect(!home.files.exists("b.key"))
    }

    // MARK: Key files

    @Test(arguments: ecp1.files.indices)
    func knownKeyFilesGiveTheirKey(_ index: Int) throws {
        let known = Self.ecp1.files[index]
        try home.files.write("known.ecp1", known.file.bytes)
        try home.files.write("known.password", Array((known.password + "\n").utf8))
        let run = try keygen(
            "recover", "--ecp1", "known.ecp1", "--password", "@FILE:known.password", "-o", "k.key")
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
        try home.files.write("bad.ecp1", bad.file.bytes)
        try home.files.write("bad.password", Array((bad.password + "\n").utf8))
        let run = try keygen(
            "recover", "--ecp1", "bad.ecp1", "--password", "@FILE:bad.password", "-o", "k.key")
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
            "recover", "--ecp1", "a.ecp1", "--password", "@FILE:password", "-o", "b.key")
        let (old, new) = try (identity("a"), identity("b"))
        #expect(old.id == new.id && old.ageKey.recipient != new.ageKey.recipient)
        for arguments in [
            ["words"], ["public", "--profile", "mercurio"],
            ["public", "--profile", "whisper2", "--whisper-id", Self.whisperID],
        ] {
            let run = try home.run("keygen", arguments + ["b.key"])
            #expect(run.status == 10 && run.stderr.contains("no recovery words"), "\(run.stderr)")
        }
        // Its card and Kecalek's code need no words.
        #expect(try keygen("public", "b.key").status == 0)
        #expect(
            try keygen("public", "--profile", "kecalek", "--user-id", "a", "b.key").status == 0)
    }

    @Test func aKeyFileIsNotWrittenToATerminal() throws {
        try makeIdentity()
        for output in [[], ["-o", "-"]] {
            let run = try TerminalSession(
                home.command(
                    "keygen",
                    ["export", "ecp1", "--password", "@FILE:password", "a.key"] + output)
            ).finish()
            #expect(run.status == 64 && !run.text.contains("ECP1\u{0}"), "\(run.text)")
        }
    }

    @Test(.enabled(if: OpenSSL.path != nil, OpenSSL.hint))
    func anRSAKeyIsExportedAndRestoredAlsoByOpenSSL() throws {
        try makeIdentity("a", "--rsa", "3072")
        _ = try must("export", "rsa", "--password", "@FILE:password", "-o", "a.pem", "a.key")
        #expect(try mode("a.pem") == 0o600)
        let plain = try must("export", "rsa", "--unprotected", "a.key").stdout
        let theirs = try OpenSSL.run(
            ["pkey", "-in", home.files("a.pem"), "-passin", "pass:correct horse"])
        #expect(theirs == plain)
        try home.files.write("plain.pem", plain)
        _ = try OpenSSL.run([
            "pkcs8", "-topk8", "-in", home.files("plain.pem"), "-out", home.files("theirs.pem"),
            "-v2", "aes-256-cbc", "-v2prf", "hmacWithSHA256", "-passout", "pass:correct horse",
        ])
        for (file, password) in [
            ("a.pem", ["--rsa-password", "@FILE:password"]),
            ("theirs.pem", ["--rsa-password", "@FILE:password"]), ("plain.pem", []),
        ] {
            let run = try home.run(
                "keygen", ["recover", "-q", "-o", file + ".key", "--rsa-key", file] + password,
                text: Self.words)
            #expect(run.status == 0, "\(run.stderr)")
            let back = try identity(file).rsaKey()?.publicKey
            #expect(try back == identity("a").rsaKey()?.publicKey && back != nil)
        }
    }

    @Test func anInvalidRSAKeyWritesNothing() throws {
        try makeIdentity("a", "--rsa", "2048")
        _ = try must("export", "rsa", "--password", "@FILE:password", "-o", "a.pem", "a.key")
        _ = try must("export", "rsa", "--unprotected", "-o", "plain.pem", "a.key")
        try home.files.write("wrong", Array("correct horsf\n".utf8))
        try home.files.write("open.pem", home.files.read("plain.pem"), mode: 0o644)
        try home.files.write("no.pem", Array("no key".utf8))
        _ = try must("login-key", "--bits", "4096", "--unprotected", "-o", "long.pem")
        for (status, arguments) in [
            (Int32(10), ["--rsa-key", "a.pem", "--rsa-password", "@FILE:wrong"]),
            (64, ["--rsa-key", "plain.pem", "--rsa-password", "@FILE:wrong"]),
            (65, ["--rsa-key", "no.pem"]), (65, ["--rsa-key", "long.pem"]),
            (66, ["--rsa-key", "missing.pem"]), (77, ["--rsa-key", "open.pem"]),
            (64, ["--rsa-key", "plain.pem", "--rsa", "2048"]),
            (64, ["--rsa-password", "@FILE:wrong"]),
            (64, ["--ecp1", "a.pem", "--rsa", "2048"]), (64, ["--password", "@FILE:wrong"]),
        ] {
            let run = try home.run(
                "keygen", ["recover", "-o", "new.key"] + arguments, text: Self.words)
            #expect(run.status == status, "\(arguments): \(run.stderr)")
            #expect(!home.files.exists("new.key"))
        }
        try makeIdentity("none")
        let none = try keygen("export", "rsa", "--unprotected", "none.key")
        #expect(none.status == 10 && none.stderr.contains("no RSA key"))
        #expect(try keygen("export", "ecp1", "--unprotected", "a.key").status == 64)
    }

    @Test func aFileIsNeverOverwritten() throws {
        try makeIdentity("a", "--rsa", "2048")
        try home.files.write("there", [1])
        for arguments in [
            ["export", "ecp1", "--password", "@FILE:password", "a.key"],
            ["export", "rsa", "--unprotected", "a.key"], ["login-key", "--unprotected"],
            ["chat", "--phrase", "@FILE:password"],
        ] {
            #expect(try home.run("keygen", arguments + ["-o", "there"]).status == 73)
        }
        #expect(try home.files.read("there") == [1])
    }

    @Test func aPasswordIsAskedForTwice() throws {
        try makeIdentity()
        let session = try TerminalSession(
            home.command("keygen", ["export", "ecp1", "-o", "a.ecp1", "a.key"]))
        try session.expect("New password: ")
        try session.type("hidden words\n")
        try session.expect("Repeat the password: ")
        try session.type("hidden words\n")
        let run = try session.finish()
        #expect(run.status == 0 && !run.text.contains("hidden words"), "\(run.text)")
        let file = try ECP1File(home.files.read("a.ecp1"))
        #expect(try file.open(password: SecretBytes(copying: "hidden words".utf8)).count == 32)
        let wrong = try TerminalSession(
            home.command("keygen", ["export", "ecp1", "-o", "b.ecp1", "a.key"]))
        try wrong.expect("New password: ")
        try wrong.type("one\n")
        try wrong.expect("Repeat the password: ")
        try wrong.type("two\n")
        #expect(try wrong.finish().status == 64)
        #expect(!home.files.exists("b.ecp1"))
    }

    @Test func aPasswordIsAskedForWhenAFileIsRead() throws {
        try makeIdentity("a", "--rsa", "2048")
        _ = try must("export", "rsa", "--password", "@FILE:password", "-o", "a.pem", "a.key")
        _ = try must("export", "ecp1", "--password", "@FILE:password", "-o", "a.ecp1", "a.key")
        for (option, file) in [("--rsa-key", "a.pem"), ("--ecp1", "a.ecp1")] {
            let session = try TerminalSession(
                home.command("keygen", ["recover", option, file, "-o", file + ".key"]),
                stdin: home.files("words"))
            try session.expect("Password for \(file): ")
            try session.type("correct horse\n")
            let run = try session.finish()
            #expect(run.status == 0 && !run.text.contains("correct horse"), "\(run.text)")
            #expect(try identity(file).id == identity("a").id)
        }
    }

    @Test(arguments: [
        ["recover", "--ecp1", "words", "--password"],
        ["recover", "--rsa-key", "x", "--rsa-password"],
        ["export", "ecp1", "--password"], ["chat", "--phrase"], ["login-key", "--password"],
        ["answer", "kecalek", "--key", "words", "--password"],
    ])
    func aSecretIsNotAnArgument(_ arguments: [String]) throws {
        let run = try home.run("keygen", arguments + ["open sesame"])
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
            try must("public", "--profile", "whisper2", "a.key").text
                == "whisper2://add?id=\(Self.whisperID)&key=\(parameter(known.encPublicAppB64))"
                + "&skey=\(parameter(known.signPublicB64))\n")
    }

    @Test func accountsNeedTheirKeys() throws {
        try makeIdentity()
        for (status, arguments) in [
            (Int32(10), ["--profile", "whisper2"]), (10, ["--include", "whisper2"]),
            (10, ["--profile", "mercurio", "--bundle"]), (10, ["--include", "mercurio"]),
            (64, ["--profile", "kecalek"]), (64, ["--include", "kecalek"]),
            (64, ["--uri", "--include", "whisper2"]), (64, ["--profile", "other"]),
            (64, ["--profile", "mercurio", "--uri"]), (64, ["--bundle"]),
            (64, ["--user-id", "a"]), (64, ["--whisper-id", Self.whisperID]),
            (65, ["--profile", "kecalek", "--user-id", ""]),
            (65, ["--profile", "kecalek", "--user-id", String(repeating: "u", count: 256)]),
            (0, ["--profile", "whisper2", "--whisper-id", Self.whisperID]),
            (0, ["--profile", "mercurio"]),
        ] {
            let run = try home.run("keygen", ["public"] + arguments + ["a.key"])
            #expect(run.status == status, "\(arguments): \(run.stderr)")
            #expect(run.stdout.isEmpty == (status != 0))
        }
    }

    @Test func theCardSignsIncludedAccounts() throws {
        try makeIdentity("a", "--rsa", "2048", "--whisper-id", Self.whisperID)
        let run = try must(
            "public", "--include", "whisper2", "--include", "mercurio", "--include", "kecalek",
            "--user-id", "žofie", "a.key")
        let card = try Card(record: JSON.object(parsing: run.stdout))
        let identity = try identity("a")
        #expect(card.profiles.kecalek == "žofie")
        #expect(try card.profiles.whisper2?.signingKey == identity.whisper2Keys().signingKey)
        #expect(try card.profiles.mercurio?.id == identity.mercurioIdentity().id)
        #expect(try card.profiles.mercurio?.key == identity.rsaKey()?.publicKey)
        let bundle = try must("public", "--profile", "mercurio", "--bundle", "a.key")
        let read = try MercurioKeyBundle(record: JSON.object(parsing: bundle.stdout))
        #expect(read == card.profiles.mercurio)
        #expect(
            try must("public", "--profile", "mercurio", "a.key").text == "\(read.id)\n")
        #expect(
            try Card(record: JSON.object(parsing: must("public", "a.key").stdout)).profiles.isEmpty)
    }

    @Test(arguments: ["whisper2", "mercurio", "kecalek"])
    func theCodesAreReadFromAPicture(_ profile: String) throws {
        try makeIdentity("a", "--whisper-id", Self.whisperID)
        let user = profile == "kecalek" ? ["--user-id", "žofie@example.org"] : []
        let shown = try home.output(
            "keygen", ["public", "--profile", profile] + user + ["a.key"])
        let runs = try Command.pipeline([
            home.command("keygen", ["public", "--profile", profile] + user + ["a.key"]),
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
            home.command("keygen", ["public", "--profile", "kecalek", "--user-id", "a", "a.key"])
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
                    "keygen", ["answer"] + arguments, stdin: .whole(bytes))
                #expect(run.status == 65 && run.stdout.isEmpty, "\(bytes.count): \(run.stderr)")
            }
        }
        // With Kecalek's key, any 32 bytes are signed with a label; Whisper2 has no label.
        for bytes in [short, Array((Base64.standard.encode(short) + "\n").utf8)] {
            let run = try keygen("answer", "whisper2", "a.key", stdin: bytes)
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
        #expect(key.isAnswer(answer, to: challenge))
        let shown = try must("login-key", "--public", "l.pem", "--password", "@FILE:password")
        #expect(shown.text == key.publicPEM())
        try home.files.write("wrong", Array("x\n".utf8))
        for (status, arguments) in [
            (Int32(10), ["answer", "kecalek", "--key", "l.pem", "--password", "@FILE:wrong"]),
            (64, ["answer", "kecalek"]), (64, ["answer", "whisper2", "--key", "l.pem"]),
            (64, ["answer", "other"]), (66, ["answer", "kecalek", "--key", "missing"]),
            (65, ["answer", "kecalek", "--key", "words"]),
            (64, ["login-key", "--bits", "1024", "-o", "x"]),
            (64, ["login-key", "--public", "l.pem", "-o", "x"]),
        ] {
            let run = try home.run("keygen", arguments, stdin: .whole(challenge))
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
            #expect(try keygen("work", "--bits", bits).status == 64)
        }
        #expect(try keygen("work").status == 64)
        let long = [UInt8](repeating: 0, count: 1025)
        #expect(try keygen("work", "--bits", "1", stdin: long).status == 65)
    }
}
