import Sotto
import TestSupport
import Testing

/// The output forms of `fingerprint`: words, randomart, lines for several cards, a QR code.
@Suite struct FingerprintFormTests {
    let home: Home

    init() throws { home = try Home(people: "alice", "bob", "carol") }

    @Test func wordsAreCheckedLikeDigits() throws {
        let words = try home.run("fingerprint", ["--words", "--with", "bob.card", "alice.card"])
        #expect(words.text.split(separator: " ").count == 20)
        let right = ["--check", "-", "--with", "alice.card", "bob.card"]
        #expect(try home.run("fingerprint", right, text: words.text.uppercased()).status == 0)
        let wrong = ["--check", "-", "--with", "alice.card", "carol.card"]
        #expect(try home.run("fingerprint", wrong, text: words.text).status == 14)
        // Other words of the list do not match, whatever their number. An unknown word is named.
        let others = words.text.split(separator: " ").dropFirst().joined(separator: "-")
        #expect(try home.run("fingerprint", right, text: "zoo-" + others).status == 14)
        let unknown = try home.run("fingerprint", right, text: "xyzzy-" + others)
        #expect(unknown.status == 65 && unknown.stderr.contains("word 1 of the number, xyzzy"))
        let half = words.text.split(separator: " ").prefix(10).joined(separator: " ")
        #expect(try home.run("fingerprint", right, text: half).status == 65)
    }

    @Test func severalCardsHaveALineEach() throws {
        let run = try home.run("fingerprint", ["alice.card", "bob.card"])
        let each = try ["alice.card", "bob.card"].map { name in
            try home.run("fingerprint", [name]).lines[0] + "  " + name
        }
        #expect(run.lines == each)
        let numbers = try home.run(
            "fingerprint", ["--with", "alice.card", "--json", "--words", "bob.card", "carol.card"])
        for line in numbers.lines {
            let record = try #require(try JSON(parsing: Array(line.utf8)).object)
            #expect(record["safetyNumber"]?.string?.count == 60)
            #expect(record["words"]?.array?.count == 20)
        }
        #expect(numbers.lines.count == 2)
    }

    @Test func theFieldFollowsTheNumber() throws {
        let lines = try home.run("fingerprint", ["--randomart", "alice.card"]).lines
        #expect(lines.count == 12 && lines[1] == "+--[fingerprint]--+")
        let digits = lines[0].filter { $0 != " " }
        #expect(Array(lines.dropFirst()) == Randomart.lines(ofDigits: digits))
    }

    @Test func aNumberCanBeScannedFromAQRCode() throws {
        let number = try home.output("fingerprint", ["--with", "bob.card", "alice.card"])
        let picture = try home.output("qr", ["-t", "png"], stdin: number)
        let read = try home.output("qr", ["scan"], stdin: picture)
        let check = ["--check", "-", "--with", "alice.card", "bob.card"]
        #expect(
            try home.run("fingerprint", check, text: String(decoding: read, as: UTF8.self)).status
                == 0)
    }

    @Test func theQRCodeContainsTheDigits() throws {
        let run = try home.run("fingerprint", ["--qr", "alice.card", "bob.card"])
        #expect(run.status == 0, "\(run.stderr)")
        var expected: [UInt8] = []
        for card in ["alice.card", "bob.card"] {
            let line = try home.run("fingerprint", [card]).lines[0]
            expected += Array("\(line)  \(card)\n".utf8)
            expected += try home.output(
                "qr", [], stdin: Array(line.utf8.filter { $0 != UInt8(ascii: " ") }))
        }
        #expect(run.stdout == expected)
    }

    @Test func incompatibleFormsAreRefused() throws {
        for arguments in [
            ["--check", "1", "alice.card", "bob.card"], ["--check", "1", "--words", "alice.card"],
            ["--json", "--randomart", "alice.card"], ["-", "-"],
            ["--json", "--qr", "alice.card"], ["--check", "1", "--qr", "alice.card"],
        ] {
            #expect(try home.run("fingerprint", arguments).status == 64, "\(arguments)")
        }
    }
}
