import Arguments
import Sotto
import SottoContacts
import SottoState
import SottoTool

struct VerifyCommand: Program {
    static let configuration = CommandConfiguration(
        name: "verify",
        abstract: "Compare a contact's key with its owner's, and remember that it is the same.",
        usage: """
            contact verify NAME NUMBER
            contact verify NAME --scan [FILE]
            """,
        discussion: """
            NUMBER is the 60-digit safety number as they read it out, in as many words as you like, or `-` for \
            stdin. FILE is what their QR code says, or their card, in a file, on stdin, or as a URI.
            """)

    @Flag("--scan", help: "Compare with what was scanned from their screen, in place of a number.")
    var scan = false

    @OptionGroup var options: ContactOptions

    @Argument("name", help: "A name, an id, or the beginning of one.")
    var name: String

    @Argument("number", help: "The safety number that they see; with --scan, a file.")
    var number: [String] = []

    func validate() throws {
        guard !scan || number.count <= 1 else { throw UsageError("--scan takes one file") }
    }

    func execute() throws {
        let open = try options.open()
        let contact = try open.contact(name)
        guard scan || !number.isEmpty else {
            let name = shellWord(contact.name)
            throw Failure(
                .usage, "give the number that \(contact.name) sees",
                hint: "this is yours, to compare: contact show \(name)")
        }
        if scan {
            let scanned = try Newcomer(number.first)
            try verify(contact, open) { contact in
                switch scanned {
                case .card(let card): try Self.compare(&contact, with: card)
                case .account(let account): try Self.compare(&contact, with: account)
                }
            }
        } else {
            let digits = try readNumber()
            try verify(contact, open) { try Self.compare(&$0, with: digits, of: open.identity) }
        }
    }

    private func verify(
        _ contact: Contact, _ open: OpenBook, _ compare: (inout Contact) throws -> Void
    ) throws {
        let contact = try open.change(contact.id.description) { contact, _ in
            guard !contact.name.isEmpty else {
                throw Failure(.usage, "this id is blocked, and no contact")
            }
            try compare(&contact)
            contact.trust = .verified
        }
        let covered = contact.verifiedKeys.joined(separator: ", ")
        options.note("\(contact.name) is verified; the comparison covers: \(covered)")
        for account in contact.uncomparedAccounts {
            options.note(
                "not compared: the \(account), which nothing signed by \(contact.name) names")
        }
        if contact.changed != nil {
            options.note(
                "the key that was offered instead is not theirs: contact keep-key \(shellWord(contact.name))"
            )
        }
    }

    private func readNumber() throws -> [UInt8] {
        var text = number.joined()
        if text == "-" {
            let bytes = try Input(path: nil).readAll(limit: 64 << 10)
            text = String(decoding: bytes, as: UTF8.self)
        }
        guard let digits = TypedDigits.read(text), digits.count == 60 else {
            throw Failure(
                .malformed, "a safety number has 60 digits",
                hint: "it is that of the two of you, as contact show prints it on both sides")
        }
        return digits
    }

    // MARK: Comparing

    private static func compare(
        _ contact: inout Contact, with digits: [UInt8], of identity: Identity
    ) throws {
        guard constantTimeEqual(digits, try number(contact.id, identity)) else {
            if let changed = contact.changed, changed.id != contact.id,
                constantTimeEqual(digits, try number(changed.id, identity))
            {
                throw Failure(
                    .mismatch, "this is the number of the key that was offered for \(contact.name)",
                    hint: "take it: \(contact.acceptKeyCommand)")
            }
            throw mismatch
        }
        // The number is of ids alone.
        try checkThatTheIDVouches(for: contact)
        guard contact.card == nil else { return }
        if let bundle = contact.learned.mercurio, contact.binding(of: bundle) < .compared {
            throw Failure(
                .untrusted,
                "the number is right, but nobody signed the RSA key of \(contact.name)",
                hint: "their owner prints the signed one: keygen public --profile mercurio --bundle"
            )
        }
        if let account = contact.learned.whisper2, contact.binding(of: account) < .compared {
            throw Failure(
                .untrusted,
                "the number is right, but no signature ties the encryption key of \(contact.name) to it",
                hint: "scan their Whisper2 code: \(scanCommand(contact))")
        }
    }

    private static func compare(_ contact: inout Contact, with scanned: Card) throws {
        guard constantTimeEqual(scanned.id.publicKey, contact.id.publicKey),
            contact.agrees(with: scanned)
        else { throw mismatch }
        if scanned.record == nil { contact.compared.insert(scanned.age) }
        if scanned.supersedes(contact.card) { contact.keep(scanned) }
    }

    /// On a signed card the id vouches for the key that is encrypted to, on a URI it does not.
    private static func checkThatTheIDVouches(for contact: Contact) throws(Failure) {
        guard let card = contact.card, !contact.vouches(for: card) else { return }
        throw Failure(
            .untrusted,
            "the key is right, but the card of \(contact.name) is a URI: no signature ties its encryption key to the id",
            hint:
                "get the signed card, then verify again: \(cardLookupCommand(contact.id, relay: card.relay))"
        )
    }

    /// A messenger's own code shows all that is kept of that account. It says nothing about a contact whose key has
    /// nothing to do with the account.
    private static func compare(_ contact: inout Contact, with account: Account) throws {
        switch account {
        case .kecalek(let code):
            guard contact.id == account.id, contact.profiles.kecalek == code.userID else {
                throw mismatch
            }
            try checkThatTheIDVouches(for: contact)
            contact.compared.insert(kecalekUserID: code.userID)
        case .mercurio(let bundle):
            // The id alone is no proof of the RSA key, and an app's code has nothing else.
            guard let kept = contact.profiles.mercurio, bundle.signature != nil,
                bundle.id == kept.id, bundle.key == kept.key
            else { throw mismatch }
            guard contact.signs(with: kept) else { throw untied(contact) }
            try checkThatTheIDVouches(for: contact)
            contact.compared.insert(kept)
        case .whisper2(let scanned):
            guard let kept = contact.profiles.whisper2, scanned.agrees(with: kept),
                scanned.signingKey != nil
            else { throw mismatch }
            guard contact.signs(with: kept) else { throw untied(contact) }
            try checkThatTheIDVouches(for: contact)
            contact.compared.insert(kept)
        }
    }

    private static func scanCommand(_ contact: Contact) -> String {
        "qr scan --camera /dev/video0 | contact verify \(shellWord(contact.name)) --scan"
    }

    private static func untied(_ contact: Contact) -> Failure {
        Failure(
            .untrusted,
            "the account is the one that was introduced, but nothing ties it to the id of \(contact.name)",
            hint:
                "get the signed card, which may name it: \(cardLookupCommand(contact.id, relay: contact.card?.relay))"
        )
    }

    private static let mismatch = Failure(
        .mismatch, "the keys do not match; nothing was changed",
        hint:
            "read it once more; if it differs again, one side has another key: trust it only when you know why"
    )

    /// The digits of the safety number with an id.
    static func number(_ id: SessionID, _ identity: Identity) throws -> [UInt8] {
        guard let theirs = Fingerprint(id), let ours = Fingerprint(identity.id) else {
            throw Failure(.malformed, "the id's key is not on the curve")
        }
        return Array(Fingerprint.safetyNumber(ours, theirs, style: .sotto).utf8)
    }
}
