import Arguments
import Sotto
import SottoTool

/// `keygen paper`: a printable page of an identity.
struct PaperCommand: Program {
    static let configuration = CommandConfiguration(
        name: "paper",
        abstract:
            "Write a printable page with an identity's words, a QR code of the words, and its fingerprint.",
        usage: "sotto keygen paper -o SVG [FILE]",
        discussion: """
            The page is an SVG picture in A4 size. It contains the secret words: print it, then delete the file.

            EXAMPLES
              sotto keygen paper -o alice.svg alice.key
              sotto qr scan photo.jpg | sotto keygen recover -o alice.key
            """)

    @OptionGroup var destination: SecretFileOptions

    @OptionGroup var identity: IdentityOptions

    @Argument("file", help: "Identity file. Default: as -i.")
    var file: String?

    func execute() throws {
        let output = try destination.open(tool: KeygenTool.toolName)
        let identity = try identity.load(argument: file)
        try requireMachineOne(identity)
        guard identity.isConsistent() else {
            throw Failure(
                .malformed, "the words in the identity do not match its keys",
                hint: "the file was edited; do not use these words")
        }
        let mnemonic = try identity.mnemonic()
        let code = try PaperCode(Array(mnemonic.sentenceText().utf8), level: "Q")
        try output.writeText(try Page(identity, mnemonic, code: code).svg)
        try output.finish()
    }
}

/// The page of an identity.
private struct Page {
    private let identity: Identity
    private let words: [String]
    private let code: PaperCode
    private let fingerprint: [String]

    init(_ identity: Identity, _ mnemonic: Mnemonic, code: PaperCode) throws(Failure) {
        self.identity = identity
        words = mnemonic.sentenceText().split(whereSeparator: \.isWhitespace).map(String.init)
        guard let fingerprint = Fingerprint(identity.id) else {
            throw Failure(.bug, "the id has no fingerprint")
        }
        self.code = code
        self.fingerprint = pieces(fingerprint.digits, 15).map { Fingerprint.grouped(String($0)) }
    }

    var svg: String {
        var page = PaperPage()
        page.add(20, 28, PaperPage.title("Sotto identity", identity.name), size: 7, weight: "bold")
        page.add(
            20, 36, "This page gives full access to the identity. Store it like a key.", size: 4)
        page.add(20, 43, "Made on \(Timestamp.now().description.prefix(10)).", size: 4)
        let columns = 4
        let rows = (words.count + columns - 1) / columns
        for (place, word) in words.enumerated() {
            let (x, y) = (20 + 44 * (place / rows), 52 + 9 * (place % rows))
            page.add(x + 6, y, "\(place + 1)", size: 3, anchor: "end")
            page.add(x + 8, y, word, size: 5.5)
        }
        let top = 52 + 9 * rows
        page.add(code, x: 16, y: top, side: 84)
        page.place(108, top + 12)
        page.paragraph("Fingerprint", fingerprint.map { ($0, true) })
        page.paragraph("Id", pieces(identity.id.description, 22).map { (String($0), true) })
        page.paragraph("The QR code", [("contains the words in order.", false)])
        page.place(20, top + 94)
        let option = identity.hasWordsPassphrase ? " --words-passphrase ask" : ""
        page.paragraph(
            "To restore it",
            [
                ("sotto qr scan PHOTO | sotto keygen recover\(option) -o FILE", true),
                (
                    "or type the words into sotto keygen recover. Then compare the fingerprint:",
                    false
                ),
                ("sotto fingerprint -i FILE", true),
            ])
        page.paragraph("What the words do not restore", missing)
        return page.svg
    }

    /// The longest member of the identity that is printed, in bytes.
    private static let shortMember = 64

    /// The data that the words do not restore, with the address of the relay.
    private var missing: [(text: String, isTyped: Bool)] {
        var lines = ["Contacts, groups and messages: only a backup has them."]
        if identity.hasWordsPassphrase {
            lines.append("The passphrase of the words: without it they give different keys.")
        }
        for (name, value) in identity.otherMembers.members {
            guard let text = value.string else { continue }
            lines.append(
                text.utf8.count <= Self.shortMember
                    ? "For another messenger, \(name): \(text)."
                    : "For another messenger, \(name): sotto bridge export \(name) -o FILE.")
        }
        guard let relay = identity.relay else { return lines.map { ($0, false) } }
        return (lines + ["The relay, for --relay:"]).map { ($0, false) }
            + pieces(relay, 70).map { (String($0), true) }
    }
}
