public import ArgumentParser
public import Sotto
import SottoContacts
import SottoTool

@main
struct FingerprintTool: Program {
    static let configuration = CommandConfiguration(
        commandName: "fingerprint",
        abstract: "Show keys for people, and check them: safety numbers.",
        usage: """
            fingerprint [--json] [CARD]
            fingerprint --with CARD [--check NUMBER] [CARD]
            """,
        discussion: """
            One card shows its 30 digits; two show the 60-digit safety number, which is the same on both \
            sides. Compare it over a call or in person. With --check the exit status is the answer: 0 or 14. \
            Without CARD it is the default identity's own. The name of a contact serves as a card.

            EXAMPLES
              fingerprint bob.card
              fingerprint --with bob.card alice.card
              fingerprint --with bob.card --check "$DIGITS" alice.card
            """,
        version: sottoVersion)

    @Option(
        name: .customLong("with"),
        help: ArgumentHelp(
            "The other's card or contact; shows the safety number.", valueName: "card"))
    var other: String?

    @Option(
        help: ArgumentHelp(
            "Compare with this number, or with stdin for `-`; white space, dashes and colons are ignored. Exit 0 or 14.",
            valueName: "number"))
    var check: String?

    @Option(
        help: ArgumentHelp(
            "sotto, or signal: libsignal's digits for the X25519 form of the keys.",
            valueName: "style"))
    var style = Fingerprint.Style.sotto

    @Option(help: ArgumentHelp("A raw key in hexadecimal in place of CARD.", valueName: "hex"))
    var key: String?

    @Option(help: ArgumentHelp("The user id that goes with --key.", valueName: "id"))
    var user: String?

    @Option(help: ArgumentHelp("A raw key in place of --with.", valueName: "hex"))
    var withKey: String?

    @Option(help: ArgumentHelp("The user id that goes with --with-key.", valueName: "id"))
    var withUser: String?

    @OptionGroup var identity: IdentityOptions

    @Flag(help: "Print a JSON record.")
    var json = false

    @Flag(name: [.short, .long], help: "With --check, say nothing: the exit status tells.")
    var quiet = false

    @Argument(help: "Card file, sotto: URI, contact, or `-` for stdin.")
    var card: String?

    /// How long another process that uses the state is waited for, in seconds.
    private static let lockTimeout = 10.0

    func validate() throws {
        guard (key == nil) == (user == nil), (withKey == nil) == (withUser == nil) else {
            throw ValidationError("a raw key goes with a user id")
        }
        guard key == nil || card == nil, withKey == nil || other == nil else {
            throw ValidationError("give a card or a raw key, not both")
        }
        guard !(card == "-" && check == "-") else {
            throw ValidationError("stdin can be the card or the number, not both")
        }
    }

    func execute() throws {
        let book = AddressBook({ try identity.load() }, lockTimeout: Self.lockTimeout)
        book.openQuietly(identity)
        // The other first: a card in a file is read without the address book, also beside one's own identity.
        let theirs = try others(book)
        let mine = try own(book)
        var digits = mine.digits
        var record = JSONObject([
            ("v", .integer(1)), ("type", .string("fingerprint")),
            ("style", .string(style.rawValue)), ("id", .string(mine.userID)),
        ])
        if let theirs {
            guard theirs.key != mine.key else {
                throw Failure(
                    .usage, "this is one and the same card, compared with itself",
                    hint: "name your own card and the other's")
            }
            digits = Fingerprint.safetyNumber(mine, theirs, style: style)
            record["with"] = .string(theirs.userID)
            record["safety_number"] = .string(digits)
        } else {
            record["key"] = .string(hex(mine.key))
            record["fingerprint"] = .string(digits)
        }
        var matches: Bool?
        if let check {
            matches = try compare(check, with: digits)
            record["match"] = .bool(matches!)
        }
        try show(digits, record, matches)
        if matches == false {
            throw Failure(
                .mismatch, quiet ? "" : "the numbers do not match",
                hint: quiet ? nil : "one side has another key: do not trust it before you know why")
        }
    }

    private func own(_ book: AddressBook) throws -> Fingerprint {
        if let key, let user { return try raw(key, user) }
        let id = try card.map { try book.find($0).id } ?? book.identity().id
        return try of(id)
    }

    private func others(_ book: AddressBook) throws -> Fingerprint? {
        if let withKey, let withUser { return try raw(withKey, withUser) }
        return try other.map { try of(book.find($0).id) }
    }

    private func of(_ id: SessionID) throws -> Fingerprint {
        guard let fingerprint = Fingerprint(id, style: style) else {
            throw Failure(.malformed, "the id's key is not on the curve")
        }
        return fingerprint
    }

    private func raw(_ text: String, _ user: String) throws -> Fingerprint {
        let size = style == .signal ? 33 : 32
        guard let key = bytes(hex: text), key.count == size else {
            throw Failure(
                .usage, "a raw key of style \(style.rawValue) is \(size) bytes in hexadecimal")
        }
        return Fingerprint(userID: user, key: key)
    }

    private func compare(_ number: String, with digits: String) throws -> Bool {
        var text = number
        if number == "-" {
            let bytes = try Input(path: nil).readAll(limit: 64 << 10)
            text = String(decoding: bytes, as: UTF8.self)
        }
        guard let typed = TypedDigits.read(text), typed.count == digits.utf8.count else {
            throw Failure(
                .malformed, "the number to compare with has not \(digits.utf8.count) digits",
                hint: other == nil && withKey == nil
                    ? "the number of one card has 30 digits; that of two, with --with, has 60"
                    : "a safety number has 60 digits; compare the whole of it")
        }
        return constantTimeEqual(typed, Array(digits.utf8))
    }

    private func show(_ digits: String, _ record: JSONObject, _ matches: Bool?) throws {
        let output = try Output(path: "-", content: .text)
        if json {
            try output.writeLine(record)
        } else if matches == nil {
            try output.writeText(Fingerprint.grouped(digits) + "\n")
        } else if matches == true, !quiet {
            Terminal.say("fingerprint: the numbers match")
        }
        try output.finish()
    }
}

extension Fingerprint.Style: ExpressibleByArgument {}
