public import Arguments
public import Sotto
import SottoContacts
import SottoTool

@main
struct FingerprintTool: Program {
    static let configuration = CommandConfiguration(
        name: "fingerprint",
        abstract: "Show keys for people, and check them: safety numbers.",
        usage: """
            fingerprint [--json] [--words] [--randomart] [--qr] [CARD ...]
            fingerprint --with CARD [--json] [--words] [--randomart] [--qr] [CARD ...]
            fingerprint --with CARD --check NUMBER [-q] [--json] [CARD]
            """,
        discussion: """
            One card shows its 30 digits; two show the 60-digit safety number, which is the same on both \
            sides. Compare it over a call or in person. With --check the exit status is the answer: 0 or 14. \
            Without CARD it is the default identity's own. The name of a contact serves as a card. Several \
            cards have a line each, with what was named behind it.

            EXAMPLES
              fingerprint bob.card
              fingerprint --with bob.card alice.card
              fingerprint --with bob.card --check "$DIGITS" alice.card
              fingerprint --with bob.card --qr
              qr scan photo.jpg | fingerprint --with alice.card --check - bob.card
            """,
        version: sottoVersion)

    @Option("--with", value: "card", help: "The other's card or contact; shows the safety number.")
    var other: String?

    @Option(
        "--check", value: "number",
        help:
            "Compare with this number or its words, or with stdin for `-`; white space, dashes and colons are ignored. Exit 0 or 14."
    )
    var check: String?

    @Option(
        "--style", value: "style",
        help: "sotto, or signal: libsignal's digits for the X25519 form of the keys.")
    var style = Fingerprint.Style.sotto

    @Option("--key", value: "hex", help: "A raw key in hexadecimal in place of CARD.")
    var key: String?

    @Option("--user", value: "id", help: "The user id that goes with --key.")
    var user: String?

    @Option("--with-key", value: "hex", help: "A raw key in place of --with.")
    var withKey: String?

    @Option("--with-user", value: "id", help: "The user id that goes with --with-key.")
    var withUser: String?

    @OptionGroup var identity: IdentityOptions

    @Flag("--json", help: "Print a JSON record.")
    var json = false

    @Flag(
        "--words",
        help: "Words in place of digits: ten of the English BIP 39 list for each 30 digits.")
    var words = false

    @Flag("--randomart", help: "Add a field of 17 by 9 squares, as ssh-keygen draws it.")
    var randomart = false

    @Flag("--qr", help: "Draw the digits as a QR code too, which qr does.")
    var qr = false

    @Flag("-q", "--quiet", help: "With --check, say nothing: the exit status tells.")
    var quiet = false

    @Argument("card", help: "Card files, sotto: URIs, contacts, or `-` for stdin.")
    var cards: [String] = []

    /// How long another process that uses the state is waited for, in seconds.
    private static let lockTimeout = 10.0

    func validate() throws {
        guard (key == nil) == (user == nil), (withKey == nil) == (withUser == nil) else {
            throw UsageError("a raw key goes with a user id")
        }
        guard key == nil || cards.isEmpty, withKey == nil || other == nil else {
            throw UsageError("give a card or a raw key, not both")
        }
        guard !(cards.contains("-") && check == "-") else {
            throw UsageError("stdin can be the card or the number, not both")
        }
        guard cards.count(where: { $0 == "-" }) < 2 else {
            throw UsageError("stdin can be one card only")
        }
        guard check == nil || cards.count < 2 else {
            throw UsageError("--check is about one card")
        }
        guard check == nil || !words && !randomart && !qr else {
            throw UsageError(
                "--check prints no number; leave out --words, --randomart and --qr")
        }
        guard !json || !randomart && !qr else {
            throw UsageError("--randomart and --qr are for people; leave out --json")
        }
    }

    func execute() throws {
        let book = AddressBook({ try identity.load() }, lockTimeout: Self.lockTimeout)
        book.openWithoutPrompt(identity)
        // The other first: a card in a file is read without the address book, also beside one's own identity.
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

    /// The fingerprints whose numbers are asked for, and what each was called; not empty.
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
                "the number to compare with has neither \(number.digits.utf8.count) digits nor \(number.digits.utf8.count / 3) words",
                hint: other == nil && withKey == nil
                    ? "the number of one card has 30 digits; that of two, with --with, has 60"
                    : "a safety number has 60 digits; compare the whole of it")
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
                    : "read it once more; if it differs again, one side has another key: trust it only when you know why"
            )
        }
    }

    /// The digits of a number in words, or none where they are those of no digits; `nil` when there are not as
    /// many words as `number` has.
    private func phraseWords(_ text: String, insteadOf number: String) throws(Failure) -> [UInt8]? {
        guard let words = TypedDigits.readWords(text),
            words.count == Fingerprint.words(of: number).count
        else { return nil }
        if let place = Fingerprint.unknownWord(in: words) {
            throw Failure(
                .malformed,
                "word \(place + 1) of the number, \(words[place]), is not in the word list",
                hint: "the words are those of fingerprint --words")
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

/// The number of one card, or that of two.
private struct Number {
    /// 30 digits, or 60.
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
                    .usage, "this is one and the same card, compared with itself",
                    hint: "name your own card and the other's")
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
