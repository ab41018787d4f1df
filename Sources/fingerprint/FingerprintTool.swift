public import Arguments
public import Sotto
import SottoContacts
import SottoTool

@main
struct FingerprintTool: CoreProgram {
    static let configuration = CommandConfiguration(
        name: "fingerprint",
        abstract: "Show and compare safety numbers of keys.",
        usage: """
            fingerprint [--json] [--words] [--randomart] [--qr] [CARD ...]
            fingerprint --with CARD [--json] [--words] [--randomart] [--qr] [CARD ...]
            fingerprint --with CARD --check NUMBER [-q] [--json] [CARD]
            """,
        discussion: """
            Prints the 30 digits of one card, or with --with the 60-digit safety number, which is the same on both \
            sides. Compare it over a call or in person. With --check the exit status is the result: 0 or 14. \
            The default for CARD is the default identity's card. A contact's name can be used as a card. Several \
            cards are printed one per line, each followed by its argument.

            EXAMPLES
              fingerprint bob.card
              fingerprint --with bob.card alice.card
              fingerprint --with bob.card --check "$DIGITS" alice.card
              fingerprint --with bob.card --qr
              qr scan photo.jpg | fingerprint --with alice.card --check - bob.card
            """,
        version: sottoVersion)

    @Option(
        "--with", value: "card",
        help: "The other person's card or contact; shows the safety number.")
    var other: String?

    @Option(
        "--check", value: "number",
        help:
            "Compare with this number or its words, or with stdin for `-`; white space, dashes and colons are ignored. Exits with 0 or 14."
    )
    var check: String?

    @Option(
        "--style", value: "style",
        help: "sotto, or signal: libsignal's digits for the X25519 form of the keys.")
    var style = Fingerprint.Style.sotto

    @Option("--key", value: "hex", help: "A raw key in hexadecimal instead of CARD.")
    var key: String?

    @Option("--user", value: "id", help: "The user id for --key.")
    var user: String?

    @Option("--with-key", value: "hex", help: "A raw key instead of --with.")
    var withKey: String?

    @Option("--with-user", value: "id", help: "The user id for --with-key.")
    var withUser: String?

    @OptionGroup var identity: IdentityOptions

    @Flag("--json", help: "Print a JSON record.")
    var json = false

    @Flag(
        "--words",
        help: "Words instead of digits: ten of the English BIP 39 list for each 30 digits.")
    var words = false

    @Flag("--randomart", help: "Add a picture of 17 by 9 squares, as drawn by ssh-keygen.")
    var randomart = false

    @Flag("--qr", help: "Draw the digits as a QR code too, using qr.")
    var qr = false

    @Flag("-q", "--quiet", help: "With --check, print nothing: the exit status is the result.")
    var quiet = false

    @Argument("card", help: "Card files, sotto: URIs, contacts, or `-` for stdin.")
    var cards: [String] = []

    /// The maximum time to wait for another process that uses the state, in seconds.
    private static let lockTimeout = 10.0

    func validate() throws {
        guard (key == nil) == (user == nil), (withKey == nil) == (withUser == nil) else {
            throw UsageError("a raw key requires a user id")
        }
        guard key == nil || cards.isEmpty, withKey == nil || other == nil else {
            throw UsageError("use a card or a raw key, not both")
        }
        guard !(cards.contains("-") && check == "-") else {
            throw UsageError("stdin can be the card or the number, not both")
        }
        guard cards.count(where: { $0 == "-" }) < 2 else {
            throw UsageError("stdin can be only one of the cards")
        }
        guard check == nil || cards.count < 2 else {
            throw UsageError("--check accepts only one card")
        }
        guard check == nil || !words && !randomart && !qr else {
            throw UsageError(
                "--check cannot be combined with --words, --randomart or --qr")
        }
        guard !json || !randomart && !qr else {
            throw UsageError("--json cannot be combined with --randomart or --qr")
        }
    }

    func execute() throws {
        let book = AddressBook({ try identity.load() }, lockTimeout: Self.lockTimeout)
        book.openWithoutPrompt(identity)
        // The other card is read first: a card file needs no address book, even next to the own identity.
        let theirs = try others(book)
        let mine = try own(book)
        let output = try Output(path: "-", content: .text)
        for (name, fingerprint) in mine {
            let number = try Number(of: fingerprint, with: theirs, style: style)
            if let check {
                try compare(number, with: check, output)
            } else {
                try show(number, of: mine.count > 1 ? name : nil, output)
            }
        }
        try output.finish()
    }

    /// Returns the fingerprints to show, each with the argument that named it; not empty.
    private func own(_ book: AddressBook) throws -> [(name: String, Fingerprint)] {
        if let key, let user { return [(user, try raw(key, user))] }
        if cards.isEmpty { return [("", try of(book.identity().id))] }
        return try cards.map { ($0, try of(book.find($0).id)) }
    }

    private func others(_ book: AddressBook) throws -> Fingerprint? {
        if let withKey, let withUser { return try raw(withKey, withUser) }
        return try other.map { try of(book.find($0).id) }
    }

    private func of(_ id: SessionID) throws -> Fingerprint {
        guard let fingerprint = Fingerprint(id, style: style) else {
            throw Failure(.malformed, "the id's key is not a valid point on the curve")
        }
        return fingerprint
    }

    private func raw(_ text: String, _ user: String) throws -> Fingerprint {
        let size = style == .signal ? 33 : 32
        guard let key = bytes(hex: text), key.count == size else {
            throw Failure(
                .usage, "a raw key of style \(style.rawValue) must be \(size) bytes in hexadecimal")
        }
        return Fingerprint(userID: user, key: key)
    }

    private func compare(_ number: Number, with given: String, _ output: Output) throws {
        var text = given
        if given == "-" {
            let bytes = try Input(path: nil).readAll(limit: 64 << 10)
            text = String(decoding: bytes, as: UTF8.self)
        }
        let typed: [UInt8]
        if let digits = TypedDigits.read(text), digits.count == number.digits.utf8.count {
            typed = digits
        } else if let digits = try phraseWords(text, insteadOf: number.digits) {
            typed = digits
        } else {
            throw Failure(
                .malformed,
                "the number to compare has neither \(number.digits.utf8.count) digits nor \(number.digits.utf8.count / 3) words",
                hint: other == nil && withKey == nil
                    ? "use 30 digits for one card, or 60 digits with --with"
                    : "use all 60 digits of the safety number")
        }
        let matches = constantTimeEqual(typed, Array(number.digits.utf8))
        if json {
            var record = number.record
            record["match"] = .bool(matches)
            try output.writeLine(record)
        } else if matches, !quiet {
            Terminal.say("fingerprint: the numbers match")
        }
        guard matches else {
            throw Failure(
                .mismatch, quiet ? "" : "the numbers do not match",
                hint: quiet
                    ? nil
                    : "compare again; if the numbers still differ, one side has a different key: do not trust it unless you know the reason"
            )
        }
    }

    /// Returns the digits of a number that was given in words; empty if the words encode no digits, `nil` if their
    /// number differs from that of `number`.
    private func phraseWords(_ text: String, insteadOf number: String) throws(Failure) -> [UInt8]? {
        guard let words = TypedDigits.readWords(text),
            words.count == Fingerprint.words(of: number).count
        else { return nil }
        if let place = Fingerprint.unknownWord(in: words) {
            throw Failure(
                .malformed,
                "word \(place + 1) of the number, \(words[place]), is not in the word list",
                hint: "use the words that sotto fingerprint --words prints")
        }
        return Fingerprint.digits(of: words).map { Array($0.utf8) } ?? []
    }

    private func show(_ number: Number, of name: String?, _ output: Output) throws {
        let phraseWords = Fingerprint.words(of: number.digits)
        if json {
            var record = number.record
            if words { record["words"] = .array(phraseWords.map(JSON.string)) }
            try output.writeLine(record)
            return
        }
        var line = words ? phraseWords.joined(separator: " ") : Fingerprint.grouped(number.digits)
        if let name { line += "  " + name }
        var lines = [line]
        if randomart { lines += Randomart.lines(ofDigits: number.digits) }
        for line in lines { try output.writeText(line + "\n") }
        guard qr else { return }
        try output.flush()
        try Sibling.show("qr", [], input: Array(number.digits.utf8))
    }
}

/// The number of one card or of two.
private struct Number {
    /// 30 or 60 digits.
    let digits: String
    let record: JSONObject

    init(of mine: Fingerprint, with theirs: Fingerprint?, style: Fingerprint.Style) throws(Failure)
    {
        var record = JSONObject([
            ("v", .integer(1)), ("type", .string("fingerprint")),
            ("style", .string(style.rawValue)), ("id", .string(mine.userID)),
        ])
        if let theirs {
            guard theirs.key != mine.key else {
                throw Failure(
                    .usage, "the two cards are the same card",
                    hint: "give your own card and the other person's card")
            }
            digits = Fingerprint.safetyNumber(mine, theirs, style: style)
            record["with"] = .string(theirs.userID)
            record["safety_number"] = .string(digits)
        } else {
            digits = mine.digits
            record["key"] = .string(hex(mine.key))
            record["fingerprint"] = .string(digits)
        }
        self.record = record
    }
}

extension Fingerprint.Style: ExpressibleByArgument {}
