import Glibc
import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool

/// Messages as one web page without scripts and without references to other files.
struct PageExport {
    private let history: OpenHistory
    private let output: Output
    private let people: People

    init(_ history: OpenHistory, _ output: Output) {
        self.history = history
        self.output = output
        people = People(history)
    }

    func write(_ conversation: Conversation?) throws -> Int {
        var count = 0
        let title = try title(conversation)
        try write(head(title))
        try history.forEachConversation(conversation) { summary, nextBlock in
            let name = try history.name(of: summary)
            var changes = try ShownChanges(history, summary.conversation)
            var day = ""
            var isFirst = true
            while let views = try nextBlock() {
                if isFirst {
                    try write(
                        "<section>\n<h1 dir=\"auto\">\(Self.escaped(name))</h1>\n"
                            + profile(of: summary.conversation)
                    )
                    isFirst = false
                }
                for view in views {
                    for change in changes.next(before: view.entry.place) {
                        try write(change, &day)
                    }
                    try write(heading(for: view.entry.shownTime, &day))
                    try write(message(view, conversation: name))
                    count += 1
                }
            }
            guard !isFirst else { return }
            for change in changes.next(before: .end) { try write(change, &day) }
            try write("</section>\n")
        }
        try write("</main>\n</body>\n</html>\n")
        return count
    }

    private func write(_ text: String) throws { try output.write(utf8: text) }

    /// Returns the heading before a message of another day than the one before, or an empty text.
    private func heading(for time: Timestamp?, _ day: inout String) -> String {
        let today = time.map { $0.local.day } ?? "no date"
        guard today != day else { return "" }
        day = today
        return "<h2>\(today)</h2>\n"
    }

    /// Writes a change of a group.
    private func write(_ change: ShownChange, _ day: inout String) throws {
        let text = Self.escaped(Quotation.text(of: change.body))
        try write(
            heading(for: change.time, &day)
                + "<p class=\"change\">\(Self.clock(change.time)) <bdi>\(text)</bdi></p>\n")
    }

    /// Returns the element with the local time and the zone.
    private static func clock(_ time: Timestamp) -> String {
        let local = time.local
        return "<time datetime=\"\(time)\">\(escaped("\(local.minute) \(local.zone)"))</time>"
    }

    private func title(_ conversation: Conversation?) throws -> String {
        guard let conversation, let summary = try history.store.summary(of: conversation) else {
            return "Messages"
        }
        return try history.name(of: summary)
    }

    // MARK: Page

    private func head(_ title: String) -> String {
        let hash = JSON.base64(sha256(Array(Self.style.utf8))).string ?? ""
        // Nothing is loaded and nothing runs. The style is allowed by its hash, and pictures are in the page itself.
        let policy =
            "default-src 'none'; style-src 'sha256-\(hash)'; img-src data:; base-uri 'none'; form-action 'none'"
        return """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta http-equiv="Content-Security-Policy" content="\(policy)">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="referrer" content="no-referrer">
            <meta name="color-scheme" content="light dark">
            <meta name="generator" content="sotto \(sottoVersion)">
            <title>\(Self.escaped(title))</title>
            <style>\(Self.style)</style>
            </head>
            <body>
            <main>

            """
    }

    private static let style = """
        :root { color-scheme: light dark; --page: #f3f3f0; --ink: #1c1c1c; --faint: #5f5f5f;
          --other: #ffffff; --own: #d9ecd9; --line: #c9c9c4; }
        @media (prefers-color-scheme: dark) {
          :root { --page: #161616; --ink: #ececec; --faint: #a5a5a5; --other: #262626;
            --own: #1f3a26; --line: #4a4a4a; }
        }
        * { box-sizing: border-box; }
        body { margin: 0; background: var(--page); color: var(--ink);
          font: 16px/1.45 system-ui, sans-serif; }
        main { max-width: 46rem; margin: 0 auto; padding: 1rem; }
        h1 { font-size: 1.3rem; overflow-wrap: anywhere; }
        h2 { font-size: .85rem; font-weight: 600; color: var(--faint); text-align: center;
          margin: 1.5rem 0 .75rem; }
        section + section { border-top: 1px solid var(--line); margin-top: 2rem; }
        article { width: fit-content; max-width: 85%; margin: .4rem 0; padding: .5rem .75rem;
          background: var(--other); border-radius: .75rem; border: 1px solid transparent; }
        article.own { margin-left: auto; background: var(--own); }
        article:target { border-color: var(--faint); }
        article header, article footer { font-size: .8rem; color: var(--faint); }
        article header b { color: var(--ink); overflow-wrap: anywhere; }
        article p { margin: .15rem 0; white-space: pre-wrap; overflow-wrap: anywhere; }
        article p.note { color: var(--faint); font-style: italic; }
        article img, aside img { display: block; max-width: 100%; height: auto;
          border-radius: .5rem; }
        aside { color: var(--faint); font-size: .85rem; }
        aside p { margin: .15rem 0; overflow-wrap: anywhere; }
        p.change { margin: .75rem 0; font-size: .85rem; color: var(--faint); text-align: center;
          overflow-wrap: anywhere; }
        blockquote { margin: .25rem 0; padding-left: .6rem; border-left: 3px solid var(--line);
          color: var(--faint); white-space: pre-wrap; overflow-wrap: anywhere; }
        a { color: inherit; }
        footer span { margin-right: .75rem; overflow-wrap: anywhere; }
        bdi { unicode-bidi: isolate; }
        @media print { article { break-inside: avoid; } }
        """

    // MARK: Message

    private func message(_ view: MessageView, conversation: String) throws -> String {
        let entry = view.entry
        var lines = [
            "<article id=\"m\(entry.number)\"\(entry.direction == .sent ? " class=\"own\"" : "")>"
        ]
        let time = entry.shownTime.map { " " + Self.clock($0) }
        lines.append(
            "<header><b><bdi>\(Self.escaped(try author(of: entry)))</bdi></b>\(time ?? "")</header>"
        )
        if view.body != nil {
            let parsed = view.parsedBody
            if let quotation = try quotation(view) { lines.append(quotation) }
            let text = Quotation.text(of: view)
            let isText: Bool
            if case .text? = parsed?.kind { isText = true } else { isText = false }
            if case .file(let file)? = parsed?.kind, let picture = file.thumbnail {
                lines += Self.image(picture)
            }
            lines.append(
                "<p\(isText ? "" : " class=\"note\"") dir=\"auto\">\(Self.escaped(text))</p>")
        } else {
            lines.append("<p class=\"note\">\(view.placeholder)</p>")
        }
        let marks = try view.marks(
            people.reactions(to: view), forwarded: people.origin(of: view),
            answering: people.answering(view))
        if !marks.isEmpty {
            let shown = marks.map { "<span><bdi>\(Self.escaped($0))</bdi></span>" }.joined()
            lines.append("<footer>\(shown)</footer>")
        }
        lines.append("</article>\n")
        return lines.joined(separator: "\n")
    }

    /// Returns the element of a picture in the page; none for one that a browser would need much memory for. Its author
    /// chose the bytes, and their form was checked. They are shown as nothing but a JPEG picture.
    private static func image(_ picture: [UInt8]) -> [String] {
        guard JPEGSize(of: picture)?.isSmall == true else { return [] }
        let data = JSON.base64(picture).string ?? ""
        return ["<img src=\"data:image/jpeg;base64,\(data)\" alt=\"\">"]
    }

    /// Returns what the contact of a conversation claims, or an empty text.
    private func profile(of conversation: Conversation) throws -> String {
        guard let peer = conversation.peer,
            let profile = try history.store.profile(of: peer), !profile.parts.isEmpty
        else { return "" }
        let texts = [
            ("calls itself", profile.name), ("about", profile.about), ("phone", profile.phone),
            ("location", profile.location),
        ]
        let lines = texts.compactMap { label, text in
            text.map { "<p>\(label): “<bdi>\(Self.escaped($0))</bdi>”</p>" }
        }
        var picture = profile.avatar.map(Self.image) ?? []
        if let whole = profile.picture, let number = try history.store.message(ofPictureOf: peer) {
            picture.append("<p>whole picture: \(whole.size) bytes, of message \(number)</p>")
        }
        return (["<aside>"] + picture + lines + ["</aside>\n"]).joined(separator: "\n")
    }

    private func author(of entry: HistoryEntry) throws -> String {
        try people.label(of: entry) ?? entry.chatName ?? "unknown sender"
    }

    /// Returns what a reply quotes: the message that is here, or the text that the writer claims.
    private func quotation(_ view: MessageView) throws -> String? {
        guard let quotation = try Quotation(view, history.store) else { return nil }
        let (text, note) = quotation.shown
        let beginning = Self.escaped(String(text.prefix(200)) + (text.count > 200 ? "…" : ""))
        let shown = quotation.entry.map { "<a href=\"#m\($0.number)\">\(beginning)</a>" }
        let end = note.map { " <i>[\($0)]</i>" } ?? ""
        return "<blockquote dir=\"auto\">\(shown ?? beginning)\(end)</blockquote>"
    }

    // MARK: Escapes

    /// Returns text for an element or a quoted attribute. Control characters and characters that change the direction of
    /// text become U+FFFD.
    static func escaped(_ text: String) -> String {
        guard !text.unicodeScalars.allSatisfy(isPlain) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x26: result += "&amp;"
            case 0x3C: result += "&lt;"
            case 0x3E: result += "&gt;"
            case 0x22: result += "&quot;"
            case 0x27: result += "&#39;"
            case 0x09, 0x0A: result.unicodeScalars.append(scalar)
            case 0x00...0x1F, 0x7F...0x9F, 0x2028, 0x2029, 0x202A...0x202E, 0x2066...0x2069,
                0xFFFE, 0xFFFF:
                result += "\u{FFFD}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// Whether a character is never escaped: a fast path for most texts.
    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x26, 0x3C, 0x3E, 0x22, 0x27: false
        case 0x20..<0x7F, 0xA0..<0x2028: true
        default: false
        }
    }
}
