public import Arguments
public import Sotto
import SottoTool

@main
struct FingerprintTool: CoreProgram {
    static let configuration = CommandConfiguration(
        name: "fingerprint",
        abstract: "Show and compare safety numbers of keys.",
        usage: """
            sotto fingerprint [--json] [--words] [--randomart] [--qr] [CARD ...]
            sotto fingerprint --with CARD [--json] [--words] [--randomart] [--qr] [CARD ...]
            sotto fingerprint --with CARD --check NUMBER [-q] [--json] [CARD]
            """,
        discussion: """
            Prints the 30 digits of one card, or with --with the 60-digit safety number, which is the same on both \
            sides. Compare it over a call or in person. With --check the exit status is the result: 0 or 14. \
            The default for CARD is the default identity's card. A contact's name can be used as a card. Several \
            cards are printed one per line, each followed by its argument.

            EXAMPLES
              sotto fingerprint bob.card
              sotto fingerprint --with bob.card alice.card
              sotto fingerprint --with bob.card --check "$DIGITS" alice.card
              sotto fingerprint --with bob.card --qr
              sotto qr scan photo.jpg | sotto fingerprint --with alice.card --check - bob.card
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

    let given = GivenArguments()

    @Argument("card", help: "Card files, sotto: URIs, contacts, or `-` for stdin.")
    var cards: [String] = []

    func checkMode() throws { try given.check(for: mode) }

    func execute() throws { try FingerprintPlan(self).run() }
}

extension Fingerprint.Style: ExpressibleByArgument {}
