import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoMessengers
import SottoState
import SottoTool

struct VerifyCommand: Program {
    static let configuration = CommandConfiguration(
        name: "verify",
        abstract: "Compare a contact's key with its owner's, and mark it as verified.",
        usage: """
            sotto contact verify NAME NUMBER
            sotto contact verify NAME --scan [FILE]
            """,
        discussion: """
            NUMBER is the 60-digit safety number that the contact reads out, in one or more words, or `-` for \
            stdin. FILE is the content of the contact's QR code or the card, in a file, on stdin, or as a URI.
            """)

    @Flag(
        "--scan", help: "Compare with a code scanned from the contact's screen instead of a number."
    )
    var scan = false

    @OptionGroup var options: ContactOptions

    @Argument("name", help: "The whole name, or an id.")
    var name: String

    @Argument("number", help: "The safety number on the contact's screen; with --scan, a file.")
    var number: [String] = []

    func validate() throws {
        guard !scan || number.count <= 1 else { throw UsageError("--scan accepts one file") }
    }

    func execute() throws {
        let open = try options.open()
        let contact = try open.contact(name)
        guard !contact.isKeyless else { throw Failure.noSigningKey(of: contact) }
        guard scan || !number.isEmpty else {
            let name = shellWord(contact.name)
            throw Failure(
                .usage, "the safety number that \(contact.name) sees is missing",
                hint: "show yours and compare: sotto contact show \(name)")
        }
        if scan {
            let scanned = try Newcomer(number.first)
            try verify(contact, open) { contact in
                switch scanned {
                case .card(let card): try Self.compare(&contact, with: card)
                case .account(let account): try Self.compare(&contact, with: account)
                case .news: throw Newcomer.isNews
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
        let contact = try open.change(contact.id.description) { contact, transaction in
            guard !contact.name.isEmpty else {
                throw Failure(.usage, "this id is only blocked and is not a contact")
            }
            if contact.doubt == .revoked, let failure = contact.doubtFailure { throw failure }
            try compare(&contact)
            if contact.trust != .verified {
                try transaction.recordSystem(.verified, about: contact.id)
            }
            contact.trust = .verified
            // The comparison does not depend on the old key.
            (contact.former, contact.doubt) = (nil, nil)
        }
        let covered = contact.verifiedKeys.joined(separator: ", ")
        options.note("\(contact.name) is verified; the comparison covers: \(covered)")
        for account in contact.uncomparedAccounts {
            options.note(
                "not compared: the \(account), which \(contact.name) did not sign")
        }
        if contact.changed != nil {
            options.note(
                "reject the other key, which was offered before: sotto contact keep-key \(shellWord(contact.name))"
            )
        }
    }

    private func readNumber() throws -> [UInt8] {
        var text = number.joined()
        if text == "-" {
            let bytes = try Input(path: nil).readText(limit: 64 << 10)
            text = String(decoding: bytes, as: UTF8.self)
        }
        guard let digits = TypedDigits.read(text), digits.count == 60 else {
            throw Failure(
                .malformed, "a safety number must have 60 digits",
                hint: "use the number that sotto contact show prints on both sides")
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
                    .mismatch, "this is the safety number of the offered key of \(contact.name)",
                    hint: "accept the key: \(contact.acceptKeyCommand)")
            }
            throw Failure(
                .mismatch,
                "this is not the number of \(contact.name)'s key: an attacker may be between you; do not trust it",
                hint: "read the number again, by telephone or in person; nothing was changed")
        }
        // The number covers only the ids.
        try checkCardIsBound(for: contact)
        guard contact.card == nil else { return }
        if let bundle = contact.learned.mercurio, contact.binding(of: bundle) < .compared {
            throw Failure(
                .untrusted,
                "the number matches, but the RSA key of \(contact.name) is not signed",
                hint: "ask its owner for the signed key: sotto bridge account mercurio --signed"
            )
        }
        if let account = contact.learned.whisper2, contact.binding(of: account) < .compared {
            throw Failure(
                .untrusted,
                "the number matches, but no signature binds the encryption key of \(contact.name) to the id",
                hint: "scan the contact's Whisper2 code: \(scanCommand(contact))")
        }
    }

    private static func compare(_ contact: inout Contact, with scanned: Card) throws {
        guard constantTimeEqual(scanned.id.publicKey, contact.id.publicKey),
            contact.agrees(with: scanned)
        else { throw mismatch }
        if scanned.record == nil { contact.compared.insert(scanned.age) }
        if scanned.supersedes(contact.card) { contact.keep(scanned) }
    }

    /// A signed card binds the encryption key to the id; a URI does not.
    private static func checkCardIsBound(for contact: Contact) throws(Failure) {
        guard let card = contact.card, !contact.vouches(for: card) else { return }
        throw Failure(
            .untrusted,
            "the key matches, but the card of \(contact.name) is a URI: no signature binds its encryption key to the id",
            hint:
                "get the signed card, then verify again: \(cardLookupCommand(contact.id, name: contact.name, relay: card.relay))"
        )
    }

    /// A messenger's own code shows all stored keys of that account. It verifies the contact only if the account is
    /// bound to the contact's key.
    private static func compare(_ contact: inout Contact, with account: Account) throws {
        switch account {
        case .kecalek(let code):
            guard contact.id == account.id, contact.profiles.kecalek == code.userID else {
                throw mismatch
            }
            try checkCardIsBound(for: contact)
            contact.compared.insert(kecalekUserID: code.userID)
        case .mercurio(let bundle):
            // The id alone does not prove the RSA key, and an app's code has no more.
            guard let kept = contact.profiles.mercurio, bundle.signature != nil,
                bundle.id == kept.id, bundle.key == kept.key
            else { throw mismatch }
            guard contact.signs(with: kept) else { throw untied(contact) }
            try checkCardIsBound(for: contact)
            contact.compared.insert(kept)
        case .whisper2(let scanned):
            guard let kept = contact.profiles.whisper2, scanned.agrees(with: kept),
                scanned.signingKey != nil
            else { throw mismatch }
            guard contact.signs(with: kept) else { throw untied(contact) }
            try checkCardIsBound(for: contact)
            contact.compared.insert(kept)
        }
    }

    private static func scanCommand(_ contact: Contact) -> String {
        "sotto qr scan --camera /dev/video0 | sotto contact verify \(shellWord(contact.name)) --scan"
    }

    private static func untied(_ contact: Contact) -> Failure {
        Failure(
            .untrusted,
            "the account matches the introduced one, but no signature binds it to the id of \(contact.name)",
            hint:
                "get the signed card, which may name it: \(cardLookupCommand(contact.id, name: contact.name, relay: contact.card?.relay))"
        )
    }

    private static let mismatch = Failure(
        .mismatch, "the keys do not match; nothing was changed",
        hint:
            "compare again; if the numbers still differ, one side has a different key: do not trust it unless you know the reason"
    )

    /// Returns the digits of the safety number with an id.
    static func number(_ id: KeyID, _ identity: Identity) throws -> [UInt8] {
        guard let theirs = Fingerprint(id), let ours = Fingerprint(identity.id) else {
            throw Failure(.malformed, "the id does not contain a valid public key")
        }
        return Array(Fingerprint.safetyNumber(ours, theirs, style: .sotto).utf8)
    }
}
