import Arguments
import SottoBytes
import SottoTool

@main
struct ContactTool: CoreProgram {
    static let configuration = CommandConfiguration(
        name: "contact",
        abstract: "The address book and its trust: add, verify, block, accept.",
        usage: """
            contact add [--name NAME] [CARD] | introduce [--name NAME] [--relay URL] WHO
            contact list | show NAME | rename OLD NEW | remove NAME
            contact meet [--code SOURCE] [--name NAME]
            contact verify NAME NUMBER | verify NAME --scan [FILE] | unverify NAME
            contact block NAME | unblock NAME | set NAME --suite SUITE
            contact set NAME receipts=on|off typing=on|off presence=on|off
            contact address [--relay URL] [--new] NAME | address --revoke NAME
            contact accept-key NAME [ID-OR-NUMBER] | keep-key NAME
            contact requests [ID] | requests --drop ID | requests --drop-all
            contact accept ID [--name NAME] [CARD]
            contact export [NAME ...] | export --backup [-o FILE] | import [FILE]
            """,
        discussion: """
            A contact is your name for another person's key. The name can be used wherever a tool needs a card. A key \
            is trusted on first use, and verified after you have compared it with its owner. A different key for a \
            known name is never accepted silently: exit status 12, and nothing is sent until you decide. Once you have \
            contacts, messages of other senders wait as requests.

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
            AddCommand.self, IntroduceCommand.self, MeetCommand.self, ListCommand.self,
            ShowCommand.self, RenameCommand.self,
            RemoveCommand.self, VerifyCommand.self, UnverifyCommand.self, BlockCommand.self,
            UnblockCommand.self, SetCommand.self, AcceptKeyCommand.self, KeepKeyCommand.self,
            AddressCommand.self, RequestsCommand.self, AcceptCommand.self, ExportCommand.self,
            ImportCommand.self,
        ])

    func execute() throws {
        throw Failure(
            .usage, "no command is given: list, add, show, verify, …",
            hint: "list the commands: sotto contact --help")
    }
}
