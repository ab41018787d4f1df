import Arguments
import Glibc
import Sotto
import SottoTool

/// `sotto add`: a contact in one step, by means of the other tools.
struct AddCommand: Program {
    static let configuration = CommandConfiguration(
        name: "add",
        abstract:
            "Add a contact from a card, a URI, a QR code or an id, and print the number to compare.",
        usage: "sotto add [--name NAME] [--relay URL] WHO",
        discussion: """
            Runs qr scan, recv --card, contact add and contact show. The whole card comes from the relay's directory \
            where WHO is a short form without the post-quantum key.

            EXAMPLES
              sotto add bob.card
              sotto add --name bob code.png
            """)

    @Option(
        "--name", value: "name", help: "The name of the contact. Default: the name on the card.",
        values: .any)
    var name: String?

    @Option(
        "--relay", value: "url",
        help:
            "The relay to ask for the whole card. Default: $SOTTO_RELAY, else the one on the card, else yours."
    )
    var relay: String?

    @OptionGroup var identity: IdentityOptions

    @Argument(
        "who", help: "A card file, a sotto: URI, a picture of a QR code, or an id; `-` is stdin.")
    var who: String

    func execute() throws {
        let path = try identity.identities.first ?? IdentityFile.defaultPath()
        let introduction = try Introduction(who)
        let secret: PassedSecret? =
            if let passphrase = try identity.passphraseForTools(path) {
                PassedSecret(passphrase)
            } else {
                nil
            }
        let card = try wholeCard(of: introduction, path, secret)
        func contact(_ words: [String], input: [UInt8] = []) throws(Failure) -> [UInt8] {
            var arguments = words + ["-i", path]
            if secret != nil { arguments += ["--identity-passphrase", Step.secretSource] }
            var step = Step(.contact, arguments, input: input)
            step.secret = secret
            return try step.output()
        }
        let text = card.record?.serialized() ?? Array(card.uri.text.utf8)
        _ = try contact(
            ["add"] + (name.map { ["--name", $0] } ?? []), input: text + [UInt8(ascii: "\n")])
        if card.record != nil { claimBundle(of: card.id, path, secret) }
        let shown = try JSON.object(
            parsing: contact(["show", "--json", card.id.description]).split(
                separator: UInt8(ascii: "\n")
            ).first.map(Array.init) ?? [])
        try say(shown)
    }

    /// Claims a bundle of prekeys, so that the first message already begins a session. Without one it is sealed, and `recv`
    /// claims one later.
    private func claimBundle(of id: SessionID, _ path: String, _ secret: PassedSecret?) {
        var arguments = ["-q", "--bundle", id.description, "-i", path]
        if let relay { arguments += ["--relay", relay] }
        if secret != nil { arguments += ["--identity-passphrase", Step.secretSource] }
        var claim = Step(.recv, arguments)
        claim.secret = secret
        claim.collectsMessages = true
        _ = try? claim.run()
    }

    /// The signed card: what was given, else the relay's, else the short form that was given.
    private func wholeCard(
        of introduction: Introduction, _ path: String, _ secret: PassedSecret?
    ) throws -> Card {
        if case .card(let card) = introduction, card.record != nil { return card }
        let short: Card? = if case .card(let card) = introduction { card } else { nil }
        let id = introduction.id
        var arguments = ["--card", id.description, "-i", path]
        if let relay = relay ?? variable("SOTTO_RELAY") ?? short?.relay {
            arguments += ["--relay", relay]
        }
        if secret != nil { arguments += ["--identity-passphrase", Step.secretSource] }
        var lookup = Step(.recv, arguments)
        lookup.secret = secret
        // A short form serves without the relay, and then its failure is no error.
        lookup.collectsMessages = short != nil
        let result = try lookup.run()
        guard result.status == 0 else {
            guard let short else { throw Failure.ended(result.status) }
            Terminal.say(
                "sotto: note: no relay gave the whole card, so the contact has no post-quantum key; sotto add with --relay and \(id) gets it later"
            )
            return short
        }
        let card = try Card(record: JSON.object(parsing: Self.trimmed(result.output)))
        guard card.id == id else {
            throw Failure(.malformed, "the relay gave the card of another id")
        }
        guard short?.age ?? card.age == card.age else {
            throw Failure(
                .untrusted,
                "the relay's card has another encryption key than the code that you were given",
                hint: "ask for the card itself, as a file")
        }
        return card
    }

    private func say(_ contact: JSONObject) throws {
        guard let name = contact["name"]?.string,
            let number = contact["safety_number"]?.string
        else { throw Failure(.bug, "no safety number came from contact show") }
        let output = try Output(path: "-", content: .text)
        try output.writeText("The number of you and \(name), the same on both sides:\n\n")
        let groups = stride(from: 0, to: number.count, by: 5).map { start in
            String(number.dropFirst(start).prefix(5))
        }
        for row in stride(from: 0, to: groups.count, by: 6) {
            try output.writeText(
                "    \(groups[row..<min(row + 6, groups.count)].joined(separator: " "))\n")
        }
        try output.writeText(
            "\nAsk \(name) for theirs, by telephone or in person, and type what they read:\n\n")
        try output.writeText("    sotto contact verify \(shellWord(name)) NUMBER\n")
        try output.finish()
    }

    fileprivate static func trimmed(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes[...]
        while let last = bytes.last, last <= 0x20 { bytes.removeLast() }
        return Array(bytes.drop { $0 <= 0x20 })
    }
}

/// The content of the argument of `sotto add`.
private enum Introduction {
    case card(Card)
    case id(SessionID)

    var id: SessionID {
        switch self {
        case .card(let card): card.id
        case .id(let id): id
        }
    }

    init(_ argument: String) throws {
        if let id = SessionID(argument) {
            self = .id(id)
        } else if RecipientArgument.isWritten(argument) {
            self = .card(try RecipientArgument.card(argument))
        } else {
            var bytes = try RecipientArgument.contents(of: argument)
            if Self.isPicture(bytes) { bytes = try Step(.qr, ["scan"], input: bytes).output() }
            let text = String(decoding: AddCommand.trimmed(bytes), as: UTF8.self)
            if let id = SessionID(text) {
                self = .id(id)
            } else {
                self = .card(try RecipientArgument.only(in: bytes, of: argument).card())
            }
        }
    }

    /// Whether the bytes begin as PNG, JPEG, PGM or PPM.
    private static func isPicture(_ bytes: [UInt8]) -> Bool {
        [[0x89, 0x50, 0x4E, 0x47], [0xFF, 0xD8, 0xFF], [0x50, 0x35], [0x50, 0x36]].contains {
            bytes.starts(with: $0)
        }
    }
}
