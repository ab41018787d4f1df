import Glibc
import Sotto
import TestSupport
import Testing

/// Tests of `keygen paper`.
struct PaperTests {
    let home: Home

    init() throws { home = try Home(people: "alice") }

    /// Returns the texts of the page, without markup.
    func texts(_ page: String) -> [String] {
        page.split(separator: "<text ").dropFirst().compactMap { element in
            guard let start = element.firstIndex(of: ">"),
                let end = element.firstRange(of: "</text>")
            else { return nil }
            return String(element[element.index(after: start)..<end.lowerBound])
        }
    }

    @Test func thePageHasTheWordsTheirCodeAndTheFingerprint() throws {
        try home.run("keygen", ["paper", "-o", "alice.svg", "alice.key"])
        let page = String(decoding: try home.files.read("alice.svg"), as: UTF8.self)
        let sentence = try home.output("keygen", ["words", "alice.key"])
        let words = String(decoding: sentence, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        let texts = texts(page)
        for (place, word) in words.enumerated() {
            let number = try #require(texts.firstIndex(of: String(place + 1)))
            #expect(texts[number + 1] == word)
        }
        let digits = String(
            decoding: try home.output("fingerprint", ["alice.card"]), as: UTF8.self
        ).split(whereSeparator: \.isWhitespace).prefix(6)
        #expect(texts.joined(separator: " ").contains(digits.joined(separator: " ")))
        // The QR code is the one that qr makes of the words; qr's own tests read such a drawing.
        let drawn = String(
            decoding: try home.output("qr", ["-t", "svg", "-s", "1", "-l", "Q"], stdin: sentence),
            as: UTF8.self)
        let path = try #require(drawn.split(separator: "\n").first { $0.hasPrefix("<path") })
        #expect(page.contains(path))
        var status = stat()
        #expect(stat(home.files("alice.svg"), &status) == 0 && status.st_mode & 0o777 == 0o600)
        #expect(try home.run("keygen", ["paper", "-o", "alice.svg", "alice.key"]).status == 73)
    }

    @Test func thePageListsWhatTheWordsDoNotRestore() throws {
        home.files.write("one", Array("first passphrase\n".utf8))
        try home.run(
            "keygen",
            [
                "--name", "R&D <b>]]>", "--words-passphrase", "@FILE:one", "-o", "n.key",
            ])
        _ = try home.output("bridge", ["set", "-q", "--rsa", "2048", "n.key"])
        let page = String(
            decoding: try home.output("keygen", ["paper", "-o", "-", "n.key"]), as: UTF8.self)
        #expect(page.contains("R&amp;D &lt;b&gt;]]&gt;"))
        #expect(texts(page).contains { $0.contains("sotto bridge export rsa") })
        #expect(texts(page).contains { $0.contains("passphrase of the words") })
        let other = texts(
            String(
                decoding: try home.output("keygen", ["paper", "-o", "-", "alice.key"]),
                as: UTF8.self))
        #expect(other.contains("Contacts, groups and messages: only a backup has them."))
        #expect(!other.contains { $0.contains("bridge export") || $0.contains("relay") })
        #expect(other.contains { $0.hasPrefix("Made on 2") })
    }

    @Test func thePageHasTheRelayWithItsPin() throws {
        let relay = "tls://relay.example.org:7667#sha256=" + String(repeating: "5a", count: 32)
        try home.run("keygen", ["--relay", relay, "-o", "n.key"])
        let page = String(
            decoding: try home.output("keygen", ["paper", "-o", "-", "n.key"]), as: UTF8.self)
        #expect(texts(page).joined().contains(relay))
    }

    @Test func anEditedNameIsLegible() throws {
        let record = try home.files.read("alice.key")
        let edited = String(decoding: record, as: UTF8.self).replacing(
            "\"name\":\"alice\"", with: "\"name\":\"a\\u001bl\u{FFFF}ice\"")
        home.files.write("edited.key", Array(edited.utf8))
        let page = String(
            decoding: try home.output("keygen", ["paper", "-o", "-", "edited.key"]), as: UTF8.self)
        #expect(texts(page)[0] == "Sotto identity \u{2013} a\u{FFFD}l\u{FFFD}ice")
        let line = try home.output("keygen", ["export", "ssh", "--public-key", "edited.key"])
        #expect(String(decoding: line, as: UTF8.self).hasSuffix(" alice\n"))
        for name in ["a\u{202E}b", "\u{FFFF}", "a\u{85}b"] {
            #expect(try home.run("keygen", ["--name", name]).status == 64)
        }
    }

    @Test(arguments: Wordlist.allCases)
    func everyLanguageHasAPage(_ list: Wordlist) throws {
        try home.run("keygen", ["--language", list.rawValue, "-o", "n.key"])
        let page = String(
            decoding: try home.output("keygen", ["paper", "-o", "-", "n.key"]), as: UTF8.self)
        #expect(texts(page).contains("24"))
    }

    @Test func withoutQRNothingIsWritten() throws {
        // A copy of keygen in a directory without qr.
        // Copied by another process: a file that is open for writing here could be inherited by a child and then not be
        // executed.
        let copied = try home.other("/bin/cp", [Programs.path("keygen"), "keygen"]).run()
        try #require(copied.status == 0)
        let run = try home.other(home.files("keygen"), ["paper", "-o", "a.svg", "alice.key"]).run()
        #expect(run.status == 78 && run.stderr.contains("qr is not installed"))
        #expect(access(home.files("a.svg"), F_OK) != 0)
    }
}
