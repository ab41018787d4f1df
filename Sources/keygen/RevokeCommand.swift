import Arguments
import Sotto
import SottoTool

/// `keygen revoke`: the revocation of an identity, made in advance.
struct RevokeCommand: Program {
    static let configuration = CommandConfiguration(
        name: "revoke",
        abstract:
            "Write the revocation of an identity, to be sent if its words are stolen or lost.",
        usage: "sotto keygen revoke [--paper] -o FILE [FILE]",
        discussion: """
            Make it now, and keep it in another place than the words: a finder can end the identity, but cannot \
            read or write anything. Sent, it ends the identity for ever, without the words and without the identity file. \
            Contacts then refuse the identity and every succession of it, whenever that was made, and relays serve the \
            revocation in place of the card and the prekeys. Nothing takes it back. It does not reach contacts from whom a \
            relay withholds it.

            EXAMPLES
              sotto keygen revoke --paper -o revocation.svg alice.key
              sotto keygen revoke -o alice.revocation alice.key
              sotto send < alice.revocation
              sotto qr scan photo.jpg | sotto send
            """)

    @Flag("--paper", help: "Write a printable page, an SVG picture in A4 size, with a QR code.")
    var paper = false

    @Flag("-q", "--quiet", help: "Print nothing on stderr.")
    var quiet = false

    @OptionGroup var destination: SecretFileOptions

    @OptionGroup var identity: IdentityOptions

    @Argument("file", help: "Identity file. Default: as -i.")
    var file: String?

    func execute() throws {
        let output = try destination.open(tool: KeygenTool.toolName, quiet: quiet)
        let identity = try identity.load(argument: file)
        try requireMachineOne(identity)
        let revocation = Revocation(of: identity, issued: .now())
        // A relay with a long address can make the record too long for its readers.
        _ = try Revocation(record: revocation.record)
        let line = revocation.record.serialized()
        if paper {
            try output.writeText(
                try RevocationPage(revocation, name: identity.name, line: line).svg)
        } else {
            try output.write(line + [UInt8(ascii: "\n")])
        }
        try output.finish()
        guard !quiet else { return }
        Terminal.note(
            "nothing is revoked yet; keep the file in another place than the words, because it needs nothing else to end the identity"
        )
    }
}

/// The page of a revocation.
private struct RevocationPage {
    private let revocation: Revocation
    private let title: String
    private let line: String
    private let code: PaperCode

    init(_ revocation: Revocation, name: String, line: [UInt8]) throws {
        self.revocation = revocation
        self.line = String(decoding: line, as: UTF8.self)
        title = PaperPage.title("Revocation", name)
        code = try PaperCode(line, level: "M")
    }

    var svg: String {
        var page = PaperPage()
        page.add(20, 28, title, size: 7, weight: "bold")
        page.add(
            20, 36, "This page, when it is sent, ends the identity for ever. It reads no message.",
            size: 4)
        page.add(
            20, 43, "Keep it in another place than the words, and never with the machine.", size: 4)
        page.add(20, 50, "Made on \(revocation.issued.description.prefix(10)).", size: 4)
        page.add(code, x: 16, y: 58, side: 84)
        page.place(108, 70)
        page.paragraph("Id", pieces(revocation.id.description, 22).map { (String($0), true) })
        page.paragraph("The QR code", [("contains the revocation, the record below.", false)])
        page.place(20, 158)
        page.paragraph(
            "To revoke the identity, if its words were seen or are lost",
            [
                ("sotto qr scan PHOTO | sotto send", true),
                ("and give the same record to contacts: sotto qr scan PHOTO > FILE", false),
                ("They take it with: sotto contact add FILE", false),
                ("No words and no identity file are needed.", false),
            ])
        var end: [(text: String, isTyped: Bool)] = [("Nothing takes it back.", false)]
        if let relay = revocation.relay {
            end.append(("It goes to the relay:", false))
            end += pieces(relay, 70).map { (String($0), true) }
        }
        page.paragraph("What it does", end)
        page.paragraph("The record", pieces(line, 72).map { (String($0), true) })
        return page.svg
    }
}
