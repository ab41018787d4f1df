import Sotto
import TestSupport
import Testing

/// Tests of `encrypt --detached` and `decrypt --verify`, and of the program `minisign` in both directions.
struct DetachedSignatureTests {
    let home: Home
    let plain = randomBytes(300_000)

    init() throws {
        home = try Home(people: "alice", "bob")
        home.files.write("file", plain)
    }

    func sign(_ more: String...) throws {
        let run = try home.run(
            "encrypt", ["--detached", "-i", "alice.key", "-o", "file.minisig"] + more + ["file"])
        #expect(run.status == 0, "\(run.stderr)")
    }

    func verify(
        _ file: String = "file", signature: String = "file.minisig",
        from card: String = "alice.card"
    ) throws -> Run {
        try home.run("decrypt", ["--verify", signature, "--from", card, file])
    }

    func changeSignature(_ old: String, _ new: String) throws {
        let text = String(decoding: try home.files.read("file.minisig"), as: UTF8.self)
        #expect(text.contains(old))
        home.files.write("file.minisig", Array(text.replacing(old, with: new).utf8))
    }

    // MARK: minisign

    @Test(.needs(.minisign), arguments: [0, 1, 300_000])
    func minisignVerifiesWhatWeSign(_ count: Int) throws {
        home.files.write("file", Array(plain.prefix(count)))
        try sign("--trusted-comment", "the third draft")
        _ = try home.output(
            "keygen", ["export", "minisign", "--public-key", "-o", "alice.pub", "alice.key"])
        let run = try home.other(
            Peer.minisign.path, ["-V", "-p", "alice.pub", "-m", "file"]
        ).run()
        #expect(run.status == 0, "\(run.stderr)")
        #expect(String(decoding: run.stdout, as: UTF8.self).contains("the third draft"))
    }

    @Test(
        .needs(.minisign),
        arguments: [[], ["-l"]] as [[String]])
    func weVerifyMinisignSignaturesExceptLegacyOnes(_ form: [String]) throws {
        _ = try home.output(
            "keygen", ["export", "minisign", "--unprotected", "-o", "alice.sec", "alice.key"])
        let signed = try home.other(
            Peer.minisign.path,
            ["-S", "-W", "-s", "alice.sec", "-t", "from minisign", "-m", "file"] + form
        ).run()
        #expect(signed.status == 0, "\(signed.stderr)")
        let run = try verify()
        if form.isEmpty {
            #expect(run.status == 0 && run.stdout.isEmpty, "\(run.stderr)")
            #expect(run.stderr.contains("(alice)") && run.stderr.contains("from minisign"))
        } else {
            #expect(run.status == 65 && run.stderr.contains("legacy"))
        }
        #expect(try verify(from: "bob.card").status == (form.isEmpty ? 12 : 65))
    }

    // MARK: What is refused

    @Test func theDefaultCommentNamesTheFile() throws {
        try sign()
        let run = try verify()
        #expect(run.status == 0)
        #expect(
            run.stderr.contains("trusted comment: timestamp:") && run.stderr.contains("file:file"))
    }

    @Test func aChangedFileSignatureOrCommentFailsAuthentication() throws {
        try sign("--trusted-comment", "first")
        home.files.write("other", plain + [0])
        #expect(try verify("other").status == 11)
        try changeSignature("first", "third")
        #expect(try verify().status == 11)
        try changeSignature("third", "first")
        #expect(try verify().status == 0)
        let text = String(decoding: try home.files.read("file.minisig"), as: UTF8.self)
        var body = Base64.standard.decode(text.split(separator: "\n")[1]) ?? []
        body[20] ^= 1
        try changeSignature(
            String(text.split(separator: "\n")[1]), Base64.standard.encode(body))
        #expect(try verify().status == 11)
    }

    /// minisign key ids are random and not authenticated: the second signature identifies the signer.
    @Test func aChangedFileOfTheRequiredSignerIsReportedAsChanged() throws {
        try sign()
        let text = String(decoding: try home.files.read("file.minisig"), as: UTF8.self)
        let line = String(text.split(separator: "\n")[1])
        var body = Base64.standard.decode(line) ?? []
        for index in 2..<10 { body[index] ^= 0xFF }
        try changeSignature(line, Base64.standard.encode(body))
        #expect(try verify().status == 0)
        home.files.write("other", plain + [0])
        let changed = try verify("other")
        #expect(changed.status == 11 && !changed.stderr.contains("required"), "\(changed.stderr)")
        #expect(try verify("other", from: "bob.card").status == 12)
    }

    @Test func anotherSignerIsUntrusted() throws {
        try sign()
        let run = try verify(from: "bob.card")
        #expect(run.status == 12 && run.stdout.isEmpty)
        let either = try home.run(
            "decrypt",
            ["--verify", "file.minisig", "--from", "bob.card", "--from", "alice.card", "file"])
        #expect(either.status == 0)
    }

    @Test func aNonSignatureIsMalformed() throws {
        home.files.write("file.minisig", Array("hello\n".utf8))
        #expect(try verify().status == 65)
        home.files.write("file.minisig", [])
        #expect(try verify().status == 65)
        #expect(try verify(signature: "missing").status == 66)
    }

    @Test(arguments: [
        ["--detached", "-r", "bob.card"], ["--detached", "-p"], ["--detached", "-s"],
        ["--trusted-comment", "a", "-r", "bob.card"], ["--detached", "--suite", "sealed"],
    ])
    func incompatibleSigningOptionsAreRefused(_ arguments: [String]) throws {
        let run = try home.run("encrypt", ["-i", "alice.key"] + arguments + ["file"])
        #expect(run.status == 64 && run.stdout.isEmpty)
    }

    @Test(arguments: [
        ["--verify", "file.minisig", "file"],
        ["--verify", "file.minisig", "--from", "alice.card", "-o", "out", "file"],
        ["--verify", "-", "--from", "alice.card"],
    ])
    func incompatibleVerificationOptionsAreRefused(_ arguments: [String]) throws {
        try sign()
        #expect(try home.run("decrypt", arguments).status == 64)
    }
}
