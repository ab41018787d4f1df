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

    @OptionGroup var identity: SharedIdentityOptions

    func execute() throws {
        let options = [("--name", introduction.name), ("--relay", introduction.relay)]
        let given =
            options.flatMap { name, value in value.map { [name, $0] } ?? [] } + identity.words
        try Tool.run("contact", ["introduce"] + given + ["--", introduction.who])
    }
}
