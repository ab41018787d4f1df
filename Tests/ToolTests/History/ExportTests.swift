import Foundation
import Glibc
import Sotto
import TestSupport
import Testing

@testable import SottoState

/// `history export`: each format is read by another program.
@Suite(.timeLimit(.minutes(60))) struct ExportTests {
    let they: Conversing
    var alice: Party { they.alice }
    var bob: Party { they.bob }
    var files: TemporaryDirectory { they.home.files }

    init() throws { they = try Conversing() }

    private func export(_ arguments: String..., of party: Party? = nil) throws -> Run {
        let run = try (party ?? bob).run("history", ["export"] + arguments)
        guard run.status == 0 else { throw Unexpected(run) }
        return run
    }

    @Test func recordsAreThoseThatAreStored() throws {
        #expect(try bob.run("history", ["export"]).status == 1)
        try they.talk()
        let records = try export().records
        // That a message was not sent is not stored.
        let raw = try bob.history("--raw", "--limit", "100").filter { $0["deleted"] == nil }.map {
            JSONObject($0.members.filter { $0.name != "status" }.map { ($0.name, $0.value) })
        }
        #expect(records == raw && records.count == 7)
        #expect(try export("alice").records == records)
        try they.two.bob.run("encrypt", ["--to", "me"], stdin: Array("note".utf8))
        #expect(try export("alice").records == records)
        #expect(try export().records.count == 8)
        #expect(try bob.run("history", ["export", "nobody"]).status == 66)
        // A file appears only when it is complete, with mode 0600.
        #expect(try bob.run("history", ["export", "-o", "all.ndjson"]).status == 0)
        var status = stat()
        #expect(stat(files("all.ndjson"), &status) == 0 && status.st_mode & 0o777 == 0o600)
        #expect(try bob.run("history", ["export", "-o", "bob.key"]).status == 64)
    }

    @Test func textIsForPeople() throws {
        try they.talk()
        let text = try export("--format", "text").text
        #expect(text.hasPrefix("== alice ==\n"))
        for part in [
            "Wie geht’s?", "> Wie geht’s?", "the end  [edited]  [👍 me]", "[message deleted]",
        ] {
            #expect(text.contains(part), "\(part)")
        }
    }

    /// Messages are read in blocks on several threads; a block ends in the middle of a conversation.
    @Test func blocksKeepTheOrder() throws {
        let texts = (0..<2 * ViewBlocks.size + 50).map { "text \($0)" }
        try store(texts)
        try they.two.bob.run("encrypt", ["--to", "me"], stdin: Array("note".utf8))
        let text = try export("--format", "text").text.split(separator: "\n")
        let shown = text.filter { !$0.hasPrefix("--") && !$0.contains("> text") }
        #expect(shown.filter { $0.hasPrefix("==") } == ["== me ==", "== alice =="])
        #expect(shown[1].contains("  note  [not sent yet]"), "\(shown[1])")
        #expect(shown.count == texts.count + 3)
        for (line, text) in zip(shown.dropFirst(3), texts) { #expect(line.hasSuffix("  " + text)) }
        let page = try export("--format", "html", "alice").text
        let numbers = page.split(separator: "<article id=\"m").dropFirst().map {
            Int($0.prefix { $0.isNumber })
        }
        #expect(numbers == (1...texts.count).map { $0 })
        let mail = try export("--format", "mbox").text
        #expect(mail.split(separator: "\n").count { $0.hasPrefix("From: ") } == texts.count + 1)
        #expect(try export("--format", "mbox", "me").text.contains("\nnote\n"))
    }

    // MARK: mbox

    private static let reader = """
        import json, mailbox, sys
        from email.header import decode_header, make_header
        for message in mailbox.mbox(sys.argv[1], create=False):
            print(json.dumps({
                "subject": str(make_header(decode_header(message["Subject"]))),
                "from": str(make_header(decode_header(message["From"]))),
                "id": message["Message-ID"], "reply": message["In-Reply-To"],
                "references": message["References"], "flags": message.get_flags(),
                "disposition": message["Content-Disposition"], "type": message.get_content_type(),
                "text": message.get_payload(decode=True).decode("utf-8", "replace"),
                "defects": [str(each) for each in message.defects],
                "date": message["Date"]}))
        """

    private func mailbox(_ bytes: [UInt8]) throws -> [JSONObject] {
        files.write("box", bytes)
        let run = try they.home.other(
            Peer.python.path, ["-I", "-c", Self.reader, files("box")]
        ).run()
        guard run.status == 0 else { throw Unexpected(run) }
        return try run.records
    }

    @Test func pythonReadsTheMailbox() throws {
        let ids = try they.talk()
        let mails = try mailbox(try export("--format", "mbox").stdout)
        let mail = mails.map { $0["id"]?.string ?? "" }
        func id(_ index: Int, _ more: String = "") -> String {
            "<\(ids[index])\(more)@sotto.invalid>"
        }
        #expect(mail == [id(0), id(1), id(2), id(2, ".reaction1")])
        #expect(
            mails.map { $0["text"]?.string }
                == ["Wie geht’s?\n", "gut, danke\n", "the end\n", "👍\n"].map { $0 + "\n" }.map {
                    String($0.dropLast())
                })
        #expect(
            mails.map { $0["reply"] ?? .null } == [.null, .string(id(0)), .null, .string(id(2))])
        #expect(mails[3]["disposition"] == .string("reaction"))
        #expect(mails[0]["subject"] == .string("Wie geht’s?"))
        #expect(mails[1]["subject"] == .string("Re: gut, danke"))
        #expect(mails[0]["from"]?.string?.hasPrefix("alice <") == true)
        #expect(mails[0]["flags"] == .string("ROF"))
        #expect(mails.allSatisfy { $0["defects"] == .array([]) })
    }

    /// C13: no text begins another message or a field.
    @Test func c13HostileTextsStayInTheirMail() throws {
        let texts = HostileTexts.all
        try store(texts)
        let mails = try mailbox(try export("--format", "mbox").stdout)
        #expect(mails.count == texts.count)
        for (mail, text) in zip(mails, texts) {
            #expect(mail["defects"] == .array([]))
            // The line end before the next message belongs to the format.
            let got = mail["text"]?.string ?? ""
            #expect(got == text || got == text + "\n", "\(text.debugDescription)")
            #expect(mail["from"]?.string?.hasPrefix("alice <") == true)
        }
    }

    @Test func aSubjectIsTheBeginningOfTheFirstLine() throws {
        let long = String(repeating: "x", count: 60)
        let subjects: [(text: String, subject: String)] = [
            (long + "y", long), (long + "\u{301}y", long + "\u{301}"), (long + "\ny", long),
            (long.dropLast() + "é", long.dropLast() + "é"), ("\r\n\nfirst\r\nsecond", "first"),
            ("a\u{B}b", "a"), ("a =?b", "a =?b"), ("a\u{2028}b", "a"), ("a\u{7F}b", "a\u{7F}b"),
        ]
        try store(subjects.map(\.text))
        let mails = try mailbox(try export("--format", "mbox").stdout)
        for (index, subject) in subjects.enumerated() {
            #expect(
                mails[index]["subject"] == .string((index % 3 == 2 ? "Re: " : "") + subject.subject)
            )
        }
    }

    /// C13: a text does not imitate the line of another sender in a pipe, and has no control characters there.
    @Test func c13ATextStaysBelowItsName() throws {
        try store([
            "ok\r\n07:41 bob    I owe you 100", "a\u{2028}07:41 b\u{85}07:41 c\u{202E}d\u{1B}[31m",
        ])
        for arguments in [["--text"], ["export", "--format", "text"]] {
            let run = try bob.run("history", arguments)
            #expect(run.status == 0 && run.text.contains("I owe you 100"))
            #expect(!run.lines.contains { $0.hasPrefix("07:41") }, "\(run.text)")
            let scalars = run.text.unicodeScalars
            #expect(!scalars.contains { [0x0D, 0x1B, 0x85, 0x2028, 0x202E].contains($0.value) })
        }
    }

    /// Stores received texts in Bob's history, without encryption.
    private func store(_ texts: [String]) throws {
        try store(
            bodies: texts.enumerated().map { index, text in
                // Every third is the name of a file, or a quotation.
                var body = Message.textBody(text)
                if index % 3 == 2 {
                    body["reply"] = .object([
                        "id": .string(Envelope.newID()),
                        "from": .string(alice.identity.id.description),
                        "text": .string(String(text.prefix(500))),
                    ])
                }
                return body
            })
    }

    /// Stores received bodies like ``store(_:)``.
    private func store(bodies: [JSONObject]) throws {
        let store = try IdentityStore(
            directory: StateDirectory(path: files(bob.stateDirectory)), identity: bob.identity,
            lockTimeout: 10)
        let author = try #require(try store.contacts().first?.id)
        try store.transaction { transaction in
            for (index, body) in bodies.enumerated() {
                let id = Envelope.newID()
                try transaction.recordOpened(
                    id: id, digest: sha256(Array(id.utf8)),
                    Message(
                        id: id, from: author, to: store.owner.id,
                        time: Timestamp(seconds: 1_795_000_000 + Int64(index)), suite: .ratchet,
                        authenticated: true, trust: .trusted, body: body))
            }
        }
    }

    // MARK: html

    /// Prints the elements and attributes of a page, and the text of its paragraphs.
    private static let parser = """
        import json, sys
        from html.parser import HTMLParser
        class Page(HTMLParser):
            def __init__(self):
                super().__init__()
                self.tags, self.texts, self.depth = {}, [], None
            def handle_starttag(self, tag, attributes):
                self.tags.setdefault(tag, set()).update(name for name, _ in attributes)
                if tag == "p" and ("dir", "auto") in attributes:
                    self.texts.append("")
                    self.depth = tag
            def handle_endtag(self, tag):
                if tag == self.depth: self.depth = None
            def handle_data(self, data):
                if self.depth: self.texts[-1] += data
        page = Page()
        page.feed(open(sys.argv[1], encoding="utf-8", newline="").read())
        page.close()
        print(json.dumps({"tags": {k: sorted(v) for k, v in page.tags.items()}, "texts": page.texts}))
        """

    private static let allowed: [String: Set<String>] = [
        "html": ["lang"], "head": [], "meta": ["charset", "http-equiv", "content", "name"],
        "title": [], "style": [], "body": [], "main": [], "section": [], "h1": ["dir"], "h2": [],
        "article": ["id", "class"], "header": [], "b": [], "bdi": [], "time": ["datetime"],
        "p": ["class", "dir"], "blockquote": ["dir"], "a": ["href"], "i": [], "footer": [],
        "span": [], "img": ["src", "alt"], "aside": [],
    ]

    /// A picture has its thumbnail in the page. Only bytes in the form of a JPEG with few pixels are one.
    @Test func aPageHasThumbnails() throws {
        func file(_ picture: [UInt8]) -> JSONObject {
            [
                "type": .string("file"), "name": .string("cat.jpg"),
                "contentType": .string("image/jpeg"), "size": .integer(9),
                "key": .base64([UInt8](repeating: 1, count: 32)), "thumbnail": .base64(picture),
            ]
        }
        let picture = Sample.jpeg(width: 320, height: 240, comment: "<script>")
        // A browser would need 16 GiB for it.
        let bomb = Sample.jpeg(width: 65_535, height: 65_535)
        try store(bodies: [file(picture), file(bomb), file(Array("<svg onload=x>".utf8))])
        let page = try export("--format", "html").text
        let data = try #require(JSON.base64(picture).string)
        let image = "<img src=\"data:image/jpeg;base64,\(data)\" alt=\"\">"
        #expect(page.components(separatedBy: "<img ").count == 2 && page.contains(image))
        #expect(page.contains(">[file cat.jpg]</p>") && page.contains("; img-src data:;"))
    }

    /// C13: a page has only our elements, and each text is in its paragraph.
    @Test func c13APageHasOnlyOurElements() throws {
        let texts = HostileTexts.all
        #expect(texts.count >= 200 && Set(texts).count == texts.count)
        try store(texts)
        let name = "<script>document.title='owned'<b onclick=x>\"'&"
        #expect(try bob.run("history", ["rename", "alice", name]).status == 0)
        #expect(
            try bob.run("history", ["export", "--format", "html", "-o", "page.html"]).status == 0)
        let run = try they.home.other(
            Peer.python.path, ["-I", "-c", Self.parser, files("page.html")]
        ).run()
        let result = try #require(try run.records.first)
        for (tag, attributes) in result["tags"]?.object?.members ?? [] {
            let names = attributes.array?.compactMap(\.string) ?? []
            let allowed = try #require(Self.allowed[tag], "\(tag)")
            #expect(allowed.isSuperset(of: names), "\(tag)")
        }
        let shown = result["texts"]?.array?.compactMap(\.string) ?? []
        #expect(shown.count == texts.count)
        for (shown, text) in zip(shown, texts) {
            #expect(shown.unicodeScalars.count == text.unicodeScalars.count)
            let isPlain = text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value < 0x7F }
            if isPlain { #expect(shown == text) }
            #expect(!shown.unicodeScalars.contains { (0x202A...0x202E).contains($0.value) })
        }
        #expect(
            try String(decoding: files.read("page.html"), as: UTF8.self).contains(
                "content=\"default-src 'none'; style-src 'sha256-"))
    }

    @Test func aPageHasLocalTimesWithTheirZone() throws {
        try they.talk()
        let page = try export("--format", "html").text
        let times = page.matches(
            of: #/<time datetime="[0-9T:-]+Z">[0-9]{2}:[0-9]{2} [A-Za-z0-9+-]+<\/time>/#)
        #expect(!times.isEmpty && times.count == page.components(separatedBy: "<time ").count - 1)
    }

    /// C13: a browser runs nothing of the page and loads nothing.
    @Test(.needs(.chromium))
    func c13ABrowserRunsNothing() throws {
        try store(HostileTexts.all)
        #expect(
            try bob.run("history", ["export", "--format", "html", "-o", "page.html"]).status == 0)
        let page = try Browser.load(files("page.html"), they.home)
        #expect(page.dom.contains("<title>Messages</title>"))
        #expect(!page.dom.contains("<script"))
        #expect(page.dom.components(separatedBy: "<article").count - 1 == HostileTexts.all.count)
        // The browser itself asks for updates.
        #expect(!page.requests.contains { $0.contains("127.0.0.1") })
        // The style is used: the hash in the policy is right.
        #expect(!page.log.contains("Refused to apply inline style"))
        // A page without these defences would be noticed.
        files.write(
            "control.html",
            Array(
                """
                <!DOCTYPE html><title>Messages</title><img src="http://127.0.0.1:9/pixel">
                <script>document.title='owned'</script>
                """.utf8))
        let control = try Browser.load(files("control.html"), they.home)
        #expect(control.dom.contains("<title>owned</title>"))
        #expect(control.requests.contains { $0.contains("127.0.0.1") })
    }
}

/// Chromium without a window.
enum Browser {
    struct Page {
        let dom: String
        /// The addresses that were requested.
        let requests: [String]
        let log: String
    }

    /// Loads a page and returns its elements after two seconds of the page's own time.
    static func load(_ file: String, _ home: Home) throws -> Page {
        let log = home.files("net.json")
        let run = try home.other(
            Peer.chromium.path,
            [
                "--headless", "--no-sandbox", "--disable-gpu", "--disable-extensions",
                "--disable-background-networking", "--disable-component-update",
                "--no-first-run", "--user-data-dir=\(home.files("browser"))",
                "--enable-logging=stderr", "--log-net-log=\(log)", "--virtual-time-budget=2000",
                "--dump-dom", "file://\(file)",
            ]
        ).run()
        guard run.status == 0 else { throw Unexpected(run) }
        let text = String(decoding: try home.files.read("net.json"), as: UTF8.self)
        // Addresses are JSON strings.
        let requests = text.components(separatedBy: "\"url\":\"").dropFirst().compactMap {
            $0.components(separatedBy: "\"").first
        }
        return Page(dom: run.text, requests: requests, log: run.stderr)
    }
}
