import Arguments
import SottoTool

@main
struct ContactTool: Program {
    static let configuration = CommandConfiguration(
        name: "contact",
        abstract: "The address book and its trust: add, verify, block, accept.",
        usage: """
            contact add [--name NAME] [CARD]
            contact list | show NAME | rename OLD NEW | remove NAME
            contact verify NAME NUMBER | verify NAME --scan [FILE] | unverify NAME
            contact block NAME | unblock NAME | set NAME --suite SUITE
            contact address [--relay URL] [--new] NAME | address --revoke NAME
            contact accept-key NAME [ID-OR-NUMBER] | keep-key NAME
            contact requests [ID] | requests --drop ID | requests --drop-all
            contact accept ID [--name NAME] [CARD]
            contact export [NAME ...] | export --backup [-o FILE] | import [FILE]
            contact export --whisper2 [-o FILE] | import --whisper2 [FILE]
            """,
        discussion: """
            A contact is a name of yours for somebody's key. Wherever a tool wants a card, the name serves. A key \
            is taken when it is first seen, and is verified once you have compared it with its owner. Another key \
            under a known name is never taken silently: exit 12, and nothing is sent until you decide. With \
            contacts, messages of others wait as requests.

            EXAMPLES
              contact add bob.card
              qr scan bob.png | contact add --name bob
              contact show bob
              contact verify bob 12345 67890 ...
              contact requests
              contact accept 05ab12cd34ef5678 --name carol | decrypt --text
              contact export --backup -o contacts.age
            """,
        version: sottoVersion,
        subcommands: [
            AddCommand.self, ListCommand.self, ShowCommand.self, RenameCommand.self,
            RemoveCommand.self, VerifyCommand.self, UnverifyCommand.self, BlockCommand.self,
            UnblockCommand.self, SetCommand.self, AcceptKeyCommand.self, KeepKeyCommand.self,
            AddressCommand.self, RequestsCommand.self, AcceptCommand.self, ExportCommand.self,
            ImportCommand.self,
        ])

    func execute() throws {
        throw Failure(
            .usage, "say what to do: list, add, show, verify, …",
            hint: "see all of it: contact --help")
    }
}
