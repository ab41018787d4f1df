import Sotto
import TestSupport
import Testing

/// Tests of `decrypt --inspect`, which describes a file without its key.
struct InspectionTests {
    let home: Home

    init() throws { home = try Home(people: "alice", "bob") }

    /// Returns the record of a file. No identity is needed.
    func inspect(_ file: [UInt8]) throws -> JSONObject {
        let output = try home.output("decrypt", ["--inspect", "--json"], stdin: file)
        return try #require(try JSON(parsing: output).object)
    }

    func sizes(_ record: JSONObject) -> [String: Int] {
        let names = ["header", "overhead", "armor", "plaintext", "total"]
        let sizes = record["sizes"]?.object
        return Dictionary(
            uniqueKeysWithValues: names.map { ($0, sizes?[$0]?.integer.map(Int.init) ?? -1) })
    }

    func types(_ record: JSONObject) -> [String] {
        (record["recipients"]?.array ?? []).compactMap { $0.object?["type"]?.string }
    }

    @Test(arguments: [0, 1, 65535, 65536, 65537, 131_072, 300_000])
    func theSizesAddUp(_ count: Int) throws {
        let plain = [UInt8](repeating: 7, count: count)
        for form in [[], ["-a"]] {
            let file = try home.output("encrypt", ["-r", "bob.card"] + form, stdin: plain)
            let record = try inspect(file)
            let sizes = sizes(record)
            #expect(sizes["plaintext"] == count)
            #expect(sizes["total"] == file.count)
            #expect(sizes["overhead"] == 16 + 16 * max(1, (count + 65535) / 65536))
            #expect((sizes["armor"] == 0) == form.isEmpty)
            #expect(record["armor"] == .bool(!form.isEmpty))
            #expect(
                sizes["header"]! + sizes["overhead"]! + sizes["armor"]! + count == file.count)
        }
    }

    @Test func theKindsOfRecipientsAreNamed() throws {
        let postQuantum = try inspect(
            home.output("encrypt", ["-r", "bob.card", "-r", "alice.card"]))
        #expect(types(postQuantum) == ["mlkem768x25519", "mlkem768x25519"])
        #expect(postQuantum["postQuantum"] == .bool(true))
        #expect(postQuantum["namesAudience"] == .bool(false))
        let classic = try inspect(home.output("encrypt", ["--classic", "-r", "bob.card"]))
        #expect(types(classic) == ["X25519"] && classic["postQuantum"] == .bool(false))
        let signed = try inspect(
            home.output("encrypt", ["-r", "bob.card", "-r", "alice.card", "-s", "-i", "alice.key"]))
        #expect(types(signed).count == 2 && signed["namesAudience"] == .bool(true))
        home.files.write("secret", Array("correct horse\n".utf8))
        let passphrase = try inspect(home.output("encrypt", ["--passphrase", "@FILE:secret"]))
        #expect(types(passphrase) == ["scrypt"] && passphrase["postQuantum"] == .bool(true))
        #expect(
            passphrase["recipients"]?.array?[0].object?["workFactor"]?.integer
                == Int64(AgeScrypt.logN))
    }

    @Test func aStanzaOfAnotherKindIsNamedAndGreaseIsNot() throws {
        let code = String(repeating: "A", count: 43)
        let header =
            "age-encryption.org/v1\n-> X25519 abc\nAAAA\n-> future x\nAAAA\n-> qK-grease y\n\n--- \(code)\n"
        let record = try inspect(Array(header.utf8) + [UInt8](repeating: 0, count: 33))
        #expect(types(record) == ["X25519", "future"])
        #expect(record["postQuantum"] == .bool(false))
        let unknown = header.replacing("-> X25519 abc\nAAAA\n", with: "")
        let other = try inspect(Array(unknown.utf8) + [UInt8](repeating: 0, count: 32))
        #expect(types(other) == ["future"] && other["postQuantum"] == nil)
        #expect(sizes(other)["plaintext"] == 0)
    }

    @Test func aTruncatedFileIsRefused() throws {
        let file = try home.output(
            "encrypt", ["-r", "bob.card"], stdin: [UInt8](repeating: 1, count: 70_000))
        let header = try sizes(inspect(file))["header"]!
        // The size of the payload is checked only for lengths that no content can have.
        for count in [
            0, 10, header - 1, header, header + 16, header + 31, header + 16 + 65552 + 16,
        ] {
            let run = try home.run("decrypt", ["--inspect"], stdin: .whole(Array(file[..<count])))
            #expect(run.status == (count <= 10 ? 65 : 11), "\(count): \(run.stderr)")
            #expect(run.stdout.isEmpty)
        }
    }

    @Test func theTextFormIsReadable() throws {
        let text = try home.output("encrypt", ["-a", "-r", "bob.card"], stdin: [1, 2, 3])
        let run = try home.run("decrypt", ["--inspect"], stdin: .whole(text))
        #expect(run.lines[0] == "age-encryption.org/v1, post-quantum, in ASCII armor")
        #expect(run.lines[1] == "recipient  mlkem768x25519  an age1pq key or card")
        #expect(run.lines.last == "total      \(text.count) bytes")
    }

    @Test(arguments: [
        ["--hold"], ["--from", "alice.card"], ["-i", "bob.key"], ["--text"],
        ["--verify", "alice.card", "--from", "alice.card"], ["--chat", "chat"],
        ["--attachment", "1"],
    ])
    func optionsThatNeedAKeyAreRefused(_ option: [String]) throws {
        #expect(try home.run("decrypt", ["--inspect"] + option).status == 64)
    }

    @Test func anExcessiveWorkFactorIsReported() throws {
        let code = String(repeating: "A", count: 43)
        let scrypt = "-> scrypt AAAAAAAAAAAAAAAAAAAAAA 99\nAAAA\n"
        let end = Array("--- \(code)\n".utf8) + [UInt8](repeating: 0, count: 33)
        let alone = Array("age-encryption.org/v1\n\(scrypt)".utf8) + end
        let run = try home.run("decrypt", ["--inspect"], stdin: .whole(alone))
        #expect(run.status == 0 && run.text.contains("above the limit of decrypt"))
        let beside = Array("age-encryption.org/v1\n\(scrypt)-> X25519 abc\nAAAA\n".utf8) + end
        #expect(try home.run("decrypt", ["--inspect"], stdin: .whole(beside)).status == 65)
    }

    @Test func anEnvelopeIsNotAFile() throws {
        let envelope = try home.output(
            "encrypt", ["--to", "bob.card", "-i", "alice.key"], stdin: [65])
        let run = try home.run("decrypt", ["--inspect"], stdin: .whole(envelope))
        #expect(run.status == 65 && run.stderr.contains("not an age file"))
    }
}
