import Arguments
import SottoTool

/// `relay`: the main program, which runs ``RelayTool`` without a subcommand.
@main
struct RelayProgram: CoreProgram {
    static let configuration = CommandConfiguration(
        name: "relay",
        abstract: "Store encrypted messages until their recipients fetch them.",
        usage: """
            sotto relay --store FILE [--listen HOST:PORT] [--name HOST:PORT ...]
            sotto relay check --store FILE [--listen HOST:PORT] [--name HOST:PORT ...] [--json]
            sotto relay invite --store FILE [--label NAME | --count N] [--days N]
            sotto relay members --store FILE
            sotto relay invitations --store FILE
            sotto relay revoke --store FILE TAG ...
            sotto relay admit --store FILE [--remove] CARD|ID ...
            sotto relay backup --store FILE -o FILE
            sotto relay migrate FROM TO
            """,
        discussion: """
            A message that the relay calls stored is on disk, and is delivered at least once. The relay sees \
            addresses and sizes, never contents. It shuts down cleanly on SIGTERM.

            EXAMPLES
              sotto relay --listen 127.0.0.1:7667 --store relay.db
              sotto relay --listen 0.0.0.0:7667 --name relay.example.org:7667 --store r.db
              sotto relay check --listen 0.0.0.0:7667 --store r.db
              sotto relay backup --store r.db -o r.backup

            For the options of the first form, run: sotto relay run --help
            """,
        version: sottoVersion,
        subcommands: [
            RelayTool.self, CheckCommand.self, InviteCommand.self, MembersCommand.self,
            InvitationsCommand.self, RevokeCommand.self, AdmitCommand.self, BackupCommand.self,
            MigrateCommand.self,
        ],
        defaultSubcommand: RelayTool.self)

    func execute() {}
}
