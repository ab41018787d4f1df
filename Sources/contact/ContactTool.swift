import Arguments
import SottoBytes
import SottoTool

@main
struct ContactTool: CoreProgram {
    static let configuration = CommandConfiguration(
        name: "contact",
        abstract: "The address book and its trust: add, verify, block, accept.",
        usage: """
            sotto contact add [--name NAME] [CARD] | introduce [--name NAME] [--relay URL] WHO
            sotto contact list | show NAME | rename OLD NEW | remove NAME
            sotto contact meet [--code SOURCE] [--name NAME]
            sotto contact verify NAME NUMBER | verify NAME --scan [FILE] | unverify NAME
            sotto contact block NAME | unblock NAME | set NAME --suite SUITE
            sotto contact set NAME [receipts|typing|presence|phone|location]=on|off repair=auto|ask
            sotto contact profile set OPTION ... | show [NAME] | avatar [NAME] | send [NAME ...] | remove
            sotto contact repair [NAME ...]
            sotto contact address [--relay URL] [--new] NAME | address --revoke NAME
            sotto contact accept-key NAME [ID-OR-NUMBER] | keep-key NAME
            sotto contact requests [ID] | requests --drop ID | requests --drop-all
            sotto contact accept ID [--name NAME] [CARD]
            sotto contact export [NAME ...] | export --backup [-o FILE] | import [FILE]
            """,
        discussion: """
            A contact is your name for another person's key. The name can be used wherever a tool needs a card. A key \
            is trusted on first use, and verified after you have compared it with its owner. A different key for a \
            known name is never accepted silently: exit status 12, and nothing is sent until you decide. Once you have \
            contacts, messages of other senders wait as requests.

            EXAMPLES
              sotto contact add bob.card
              sotto qr scan bob.png | sotto contact add --name bob
              sotto contact show bob
              sotto contact verify bob 12345 67890 ...
              sotto contact requests
              sotto contact accept 05ab12cd34ef5678 --name carol | sotto decrypt --text
              sotto contact export --backup -o contacts.age
            """,
        version: sottoVersion,
        subcommands: [
            AddCommand.self, IntroduceCommand.self, MeetCommand.self, ListCommand.self,
            ShowCommand.self, RenameCommand.self,
            RemoveCommand.self, VerifyCommand.self, UnverifyCommand.self, BlockCommand.self,
            UnblockCommand.self, SetCommand.self, ProfileCommand.self, AcceptKeyCommand.self,
            KeepKeyCommand.self,
            AddressCommand.self, RequestsCommand.self, AcceptCommand.self, ExportCommand.self,
            ImportCommand.self, RepairCommand.self,
        ])

    func execute() throws {
        throw Failure(
            .usage, "no command is given: list, add, show, verify, …",
            hint: "list the commands: sotto contact --help")
    }
}
