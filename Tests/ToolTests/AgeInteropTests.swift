import Sotto
import TestSupport
import Testing

/// Interoperation with the program `age` in both directions. Debian's age 1.1 has no post-quantum recipients:
/// AgeVectorTests covers those.
@Suite(.needs(.age, .ageKeygen))
struct AgeInteropTests {
    let home: Home
    let age: String
    let plain = randomBytes(200_000)

    init() throws {
        home = try Home(people: "bob")
        age = Peer.age.path
        home.files.write("plain", plain)
    }

    func age(_ arguments: [String], stdin: [UInt8] = []) throws -> [UInt8] {
        let run = try home.other(age, arguments).run(stdin: .whole(stdin))
        #expect(run.status == 0, "\(run.stderr)")
        return run.stdout
    }

    /// Returns the identity file of `age-keygen` and its recipient.
    func makeAgeKey() throws -> String {
        let run = try home.other(Peer.ageKeygen.path, ["-o", "age.key"]).run()
        #expect(run.status == 0)
        return try #require(run.stderr.split(separator: " ").last).trimming()
    }

    /// Returns Bob's classic key in age's format.
    func bobForAge() throws -> (recipient: String, file: String) {
        let card = try JSON.object(parsing: home.files.read("bob.card"))
        let key = try JSON.object(parsing: home.files.read("bob.key"))
        home.files.write("bob.age", Array("# bob\n\(key["age"]!.string!)\n".utf8))
        return (card["age"]!.string!, "bob.age")
    }

    @Test(arguments: [[], ["-a"]] as [[String]])
    func ageReadsWhatWeWrite(_ armor: [String]) throws {
        let recipient = try makeAgeKey()
        let file = try home.output("encrypt", armor + ["-r", recipient], stdin: plain)
        #expect(try age(["-d", "-i", "age.key"], stdin: file) == plain)
        let (_, key) = try bobForAge()
        let classic = try home.output(
            "encrypt", armor + ["--classic", "-r", "bob.card"], stdin: plain)
        #expect(try age(["-d", "-i", key], stdin: classic) == plain)
    }

    @Test(arguments: [[], ["-a"]] as [[String]])
    func weReadWhatAgeWrites(_ armor: [String]) throws {
        let (recipient, key) = try bobForAge()
        let own = try makeAgeKey()
        let file = try age(armor + ["-e", "-r", recipient, "-r", own], stdin: plain)
        for identity in ["bob.key", key, "age.key"] {
            #expect(try home.output("decrypt", ["-i", identity], stdin: file) == plain)
        }
    }

    @Test func ageReadsOurPassphraseFile() throws {
        home.files.write("pass", Array("correct horse".utf8))
        try home.files.write(
            "file", home.output("encrypt", ["--passphrase", "@FILE:pass"], stdin: plain))
        let session = try TerminalSession(
            home.other(age, ["-d", "file"]), stdout: home.files("out"))
        try session.expect("Enter passphrase")
        try session.type("correct horse\n")
        let run = try session.finish()
        #expect(run.status == 0, "\(run.text)")
        #expect(try home.files.read("out") == plain)
    }

    @Test func weReadAgesPassphraseFile() throws {
        let session = try TerminalSession(home.other(age, ["-p", "-o", "file", "plain"]))
        try session.expect("Enter passphrase")
        try session.type("correct horse\n")
        try session.expect("Confirm passphrase")
        try session.type("correct horse\n")
        #expect(try session.finish().status == 0)
        home.files.write("pass", Array("correct horse\n".utf8))
        #expect(
            try home.output("decrypt", ["--passphrase", "@FILE:pass", "file"]) == plain)
    }

    @Test func ageOpensAProtectedIdentity() throws {
        let made = try home.run(
            "keygen", ["--protect", "--passphrase", "@ENV:P", "-o", "p.key"],
            environment: ["P": "correct horse"])
        #expect(made.status == 0)
        let session = try TerminalSession(
            home.other(age, ["-d", "p.key"]), stdout: home.files("record"))
        try session.expect("Enter passphrase")
        try session.type("correct horse\n")
        #expect(try session.finish().status == 0)
        let record = try JSON.object(parsing: home.files.read("record"))
        #expect(record["type"] == .string("identity"))
    }

    @Test func ageGetsTheSignedStreamOutOfASignedFile() throws {
        let recipient = try makeAgeKey()
        let file = try home.output(
            "encrypt", ["-r", recipient, "-s", "-i", "bob.key"], stdin: plain)
        let stream = try age(["-d", "-i", "age.key"], stdin: file)
        let reader = try SignedStreamReader(MemorySource(stream))
        #expect(reader.audience == SignedStream.audience([recipient]))
        let released = release { reader }
        #expect(released.error == nil && released.bytes == plain)
    }

    @Test func ageSkipsTheNamedAudienceOfSeveralRecipients() throws {
        let recipient = try makeAgeKey()
        let (bob, _) = try bobForAge()
        let file = try home.output(
            "encrypt", ["-r", recipient, "-r", bob, "-s", "-i", "bob.key"], stdin: plain)
        let stream = try age(["-d", "-i", "age.key"], stdin: file)
        #expect(stream.starts(with: SignedStream.magic))
        #expect(
            try home.output("decrypt", ["-i", "bob.key", "--from", "bob.card"], stdin: file)
                == plain)
    }
}

extension StringProtocol {
    fileprivate func trimming() -> String { String(filter { !$0.isWhitespace }) }
}
