import Arguments
import SottoProgram

/// `sotto add`: adds a contact in one step, using the other tools.
struct AddCommand: Program {
    static let configuration = CommandConfiguration(
        name: "add",
        abstract:
            "Add a contact from a card, a URI, a QR code or an id, and print the safety number.",
        usage: "sotto add [--name NAME] [--relay URL] WHO",
        discussion: """
            Runs contact introduce, which explains the steps.

            EXAMPLES
              sotto add bob.card
              sotto add --name bob code.png
            """)

    @OptionGroup var introduction: IntroductionOptions

    @Option(
        "-i", "--identity", value: "file",
        help: "Identity file. Default: $SOTTO_IDENTITY, else the default identity file.")
    var identity: String?

    @Option(
        "--identity-passphrase", value: "source",
        help: "Passphrase of a protected identity: @ENV:NAME, @FD:N or @FILE:PATH. Default: ask.")
    var passphrase: String?

    func execute() throws {
        let options = [
            ("--name", introduction.name), ("--relay", introduction.relay),
            ("--identity", identity),
            ("--identity-passphrase", passphrase),
        ]
        let given = options.flatMap { name, value in value.map { [name, $0] } ?? [] }
        try Tool.run("contact", ["introduce"] + given + ["--", introduction.who])
    }
}
