import Arguments
import Glibc
import Sotto
import SottoContacts
import SottoMessengers
import SottoTool

/// `contact introduce`: adds a contact in one step, using the other tools.
struct IntroduceCommand: Program {
    static let configuration = CommandConfiguration(
        name: "introduce",
        abstract:
            "Add a contact from a card, a URI, a QR code or an id, and print the safety number.",
        usage: "sotto contact introduce [--name NAME] [--relay URL] WHO",
        discussion: """
            sotto add runs this. It runs qr scan, recv --card, contact add, recv --bundle and contact show. If WHO is a short form without the post-quantum \
            key, the signed card is fetched from the relay's directory. On a terminal it asks once whether a new contact \
            gets receipts, as with contact set NAME receipts=on. An account in another messenger, as a URL or a picture of its \
            code, is only added.

            EXAMPLES
              sotto contact introduce bob.card
              sotto contact introduce --name bob code.png
            """)

    @OptionGroup var options: IntroductionOptions

    @OptionGroup var identity: IdentityOptions

    func execute() throws {
        let path = try identity.identities.first ?? IdentityFile.defaultPath()
        let introduction = try AddressBook.withFiles(
            [options.who], identity.choice, lockTimeout: LockOptions().timeout,
            hint: { $0.showing }, { try Introduction(options.who) })
        let name = options.name.map { ["--name", $0] } ?? []
        let secret: PassedSecret? =
            if let passphrase = try identity.passphraseForTools(path) {
                PassedSecret(passphrase)
            } else {
                nil
            }
        func run(_ words: [String], input: [UInt8] = []) -> ToolRun {
            var arguments = words + ["-i", path]
            if secret != nil { arguments += ["--identity-passphrase", ToolRun.secretSource] }
            var step = ToolRun("contact", arguments, input: input)
            step.secret = secret
            return step
        }
        func contact(_ words: [String], input: [UInt8] = []) throws(Failure) -> [UInt8] {
            try run(words, input: input).output()
        }
        if case .account(let code) = introduction {
            _ = try contact(["add"] + name, input: code)
            return
        }
        let card = try wholeCard(of: introduction, path, secret)
        var asksForReceipts = Terminal.isTerminal(0) && Terminal.isTerminal(1)
        if asksForReceipts {
            var known = run(["show", "--json", card.id.description])
            known.collectsMessages = true
            asksForReceipts = try known.run().status != 0
        }
        let text = card.record?.serialized() ?? Array(card.uri.text.utf8)
        _ = try contact(
            ["add"] + name,
            input: text + [UInt8(ascii: "\n")])
        if card.record != nil { claimBundle(of: card.id, path, secret) }
        let shown = try JSON.object(
            parsing: contact(["show", "--json", card.id.description]).split(
                separator: UInt8(ascii: "\n")
            ).first.map(Array.init) ?? [])
        if card.record == nil { noteShortForm(card, shown["name"]?.string) }
        try say(shown)
        guard asksForReceipts else { return }
        let known = shown["name"]?.string ?? ""
        if Self.wantsReceipts(for: known) {
            _ = try contact(["set", card.id.description, "receipts=on"])
        } else {
            Terminal.say(
                "contact: \(known) gets no receipts; to send them: sotto contact set \(shellWord(known)) receipts=on"
            )
        }
    }

    /// Asks on the terminal whether a new contact gets receipts. Without an answer it gets none.
    private static func wantsReceipts(for name: String) -> Bool {
        let question =
            "Send \(name) receipts for messages that arrive and are read here? Type yes to send them: "
        return (try? Terminal.confirms(question)) ?? false
    }

    /// Reports that the contact has only the short form of the card.
    private func noteShortForm(_ card: Card, _ name: String?) {
        let own = environmentVariable("SOTTO_RELAY")
        let relay = options.relay ?? (own == nil ? card.relay : nil)
        Terminal.say(
            "contact: note: no relay has the signed card, so the contact has no post-quantum key; to try again: \(cardLookupCommand(card.id, name: name, relay: relay))"
        )
    }

    /// Claims a bundle of prekeys, so that the first message begins a session. Without a bundle the message is sealed,
    /// and `recv` claims one later.
    private func claimBundle(of id: KeyID, _ path: String, _ secret: PassedSecret?) {
        var arguments = ["-q", "--bundle", id.description, "-i", path]
        if let relay = options.relay { arguments += ["--relay", relay] }
        if secret != nil { arguments += ["--identity-passphrase", ToolRun.secretSource] }
        var claim = ToolRun("recv", arguments)
        claim.secret = secret
        claim.collectsMessages = true
        _ = try? claim.run()
    }

    /// Returns the signed card: the given one, else the relay's, else the given short form.
    private func wholeCard(
        of introduction: Introduction, _ path: String, _ secret: PassedSecret?
    ) throws -> Card {
        if case .card(let card) = introduction, card.record != nil { return card }
        let short: Card? = if case .card(let card) = introduction { card } else { nil }
        guard let id = introduction.id else {
            throw Failure(.bug, "an account in another messenger has no card")
        }
        var arguments = ["--card", id.description, "-i", path]
        if let relay = options.relay ?? environmentVariable("SOTTO_RELAY") ?? short?.relay {
            arguments += ["--relay", relay]
        }
        if secret != nil { arguments += ["--identity-passphrase", ToolRun.secretSource] }
        var lookup = ToolRun("recv", arguments)
        lookup.secret = secret
        // With a short form the relay's card is optional, so its failure is not an error.
        lookup.collectsMessages = short != nil
        let result = try lookup.run()
        guard result.status == 0 else {
            guard let short else { throw Failure.ended(result.status, "recv") }
            return short
        }
        let card = try Card(record: JSON.object(parsing: Self.trimmed(result.output)))
        guard card.id == id else {
            throw Failure(.malformed, "the relay sent the card of a different id")
        }
        guard short?.age ?? card.age == card.age else {
            throw Failure(
                .untrusted,
                "the encryption key on the relay's card differs from the given code",
                hint: "ask the contact for the card as a file")
        }
        return card
    }

    private func say(_ contact: JSONObject) throws {
        guard let name = contact["name"]?.string,
            let number = contact["safetyNumber"]?.string
        else { throw Failure(.bug, "the output of contact show has no safety number") }
        let output = try Output(path: "-", content: .text)
        try output.writeText("The safety number of you and \(name), the same on both sides:\n\n")
        let groups = stride(from: 0, to: number.count, by: 5).map { start in
            String(number.dropFirst(start).prefix(5))
        }
        for row in stride(from: 0, to: groups.count, by: 6) {
            try output.writeText(
                "    \(groups[row..<min(row + 6, groups.count)].joined(separator: " "))\n")
        }
        try output.writeText(
            "\nAsk \(name) to read the number aloud, by telephone or in person, and type it:\n\n")
        try output.writeText("    sotto contact verify \(shellWord(name)) NUMBER\n")
        try output.finish()
    }

    fileprivate static func trimmed(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes[...]
        while let last = bytes.last, last <= 0x20 { bytes.removeLast() }
        return Array(bytes.drop { $0 <= 0x20 })
    }
}

/// The argument of `sotto add`.
private enum Introduction {
    case card(Card)
    case id(KeyID)
    /// The URL or the content of the code of an account in another messenger.
    case account([UInt8])

    var id: KeyID? {
        switch self {
        case .card(let card): card.id
        case .id(let id): id
        case .account: nil
        }
    }

    init(_ argument: String) throws {
        let argument = RecipientArgument.pasted(argument)
        if let id = KeyID(argument) {
            self = .id(id)
        } else if RecipientArgument.isWhisper2(argument) {
            self = .account(Array(argument.utf8))
        } else if RecipientArgument.isWritten(argument) {
            self = .card(try RecipientArgument.card(argument))
        } else {
            var bytes = try Self.contents(of: argument)
            if Self.isPicture(bytes) { bytes = try ToolRun("qr", ["scan"], input: bytes).output() }
            let text = String(decoding: IntroduceCommand.trimmed(bytes), as: UTF8.self)
            if let id = KeyID(text) {
                self = .id(id)
            } else if try Account(bytes) != nil {
                self = .account(bytes)
            } else {
                self = .card(try RecipientArgument.only(in: bytes, of: argument).card())
            }
        }
    }

    /// Reads a file. The hint for a missing one names the forms of this command.
    private static func contents(of argument: String) throws(Failure) -> [UInt8] {
        do throws(Failure) {
            return try RecipientArgument.contents(of: argument)
        } catch {
            guard error.status == .noInput, !RecipientArgument.isURI(argument) else { throw error }
            guard ContactName.looksLikeID(argument) else {
                throw Failure(
                    .noInput, error.message,
                    hint:
                        "give a card file, a sotto: URI, a picture of a code, or an id of 66 characters"
                )
            }
            throw Failure(
                .noInput, "\(argument) is neither a file nor a whole id",
                hint:
                    "for the sender of a message request: sotto contact accept \(shellWord(argument))"
            )
        }
    }

    /// Returns whether the bytes begin like PNG, JPEG, PGM or PPM.
    private static func isPicture(_ bytes: [UInt8]) -> Bool {
        [[0x89, 0x50, 0x4E, 0x47], [0xFF, 0xD8, 0xFF], [0x50, 0x35], [0x50, 0x36]].contains {
            bytes.starts(with: $0)
        }
    }
}
