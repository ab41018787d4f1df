import Arguments
import SottoTool

@main
struct HistoryTool: CoreProgram {
    static let configuration = CommandConfiguration(
        name: "history",
        abstract: "Read, search and delete the messages that were sent and received here.",
        usage: """
            sotto history [WHO] [--limit N] [--before N|TIME] [--after TIME] [--text]
            sotto history [WHO] --follow | --changed-since TIME | --pinned | --unread | --raw
            sotto history list | unread | readers | keep [--text | --json]
            sotto history unsent [--all] [--text] [WHO] | repeat WHO ... | ID ...
            sotto history search TEXT [WHO] [--before N|TIME] [--text]
            sotto history show [--raw] ID | save [-o FILE|FOLDER] ID
            sotto history read WHO ... | wait ID --status STATUS [--timeout DURATION]
            sotto history --as NAME [--from-start | --from-now] [--follow] [--exec CMD]
            sotto history ack --as NAME NUMBER | readers
            sotto history delete ID ... | delete --all WHO
            sotto history favourite WHO | rename WHO NAME | mute WHO
            sotto history export [WHO] [--format ndjson|text|mbox|html] [-o FILE]
            sotto history export --backup [--passphrase SOURCE] [-o FILE]
            sotto history import [--passphrase SOURCE] [FILE]
            sotto history keep [DURATION|forever [WHO]] | wipe
            """,
        discussion: """
            decrypt stores what it opened and encrypt what it sealed, unless --stateless is given. Each message has a \
            number, and later messages have higher ones. WHO is a contact, an id, me for notes to yourself, or the \
            name of a chat. The output is text on a terminal, and records in a pipe or a file, one JSON object per line; --text and --json choose.

            EXAMPLES
              sotto history bob
              sotto history bob --before 1200 --limit 100
              sotto history --follow | jq -r .body.text
              sotto history search 'dinner at' bob
              sotto history read bob
              sotto history delete 5f0c
              sotto history --as bot --from-start --follow --exec 'jq -r .body.text >> log'
              sotto history keep 90d
            """,
        version: sottoVersion,
        subcommands: [
            PageCommand.self, ListCommand.self, UnreadCommand.self, UnsentCommand.self,
            RepeatCommand.self, SearchCommand.self, ShowCommand.self, SaveCommand.self,
            ReadCommand.self, WaitCommand.self,
            DeleteCommand.self, FavouriteCommand.self, RenameCommand.self, MuteCommand.self,
            AckCommand.self, ReadersCommand.self,
            ExportCommand.self, ImportCommand.self, KeepCommand.self, WipeCommand.self,
        ], defaultSubcommand: PageCommand.self)

    func execute() throws {}
}
