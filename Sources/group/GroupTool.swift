import Arguments
import SottoBytes
import SottoTool

@main
struct GroupTool: CoreProgram {
    static let configuration = CommandConfiguration(
        name: "group",
        abstract: "Groups: create, invite, accept, leave, remove, and the rules of each.",
        usage: """
            sotto group create [--preset PRESET] [--visibility WHO] [--nickname NAME] NAME [WHO ...]
            sotto group invite [--reader] GROUP WHO ...
            sotto group accept [--nickname NAME] GROUP | decline GROUP
            sotto group leave GROUP | delete GROUP | forget GROUP
            sotto group remove GROUP WHO ... | ban GROUP WHO ... | role GROUP WHO RANK
            sotto group rename GROUP NAME | about GROUP TEXT | timer GROUP DURATION
            sotto group nickname GROUP NAME | policy GROUP [KEY=VALUE ...]
            sotto group grant GROUP WHO ... | grant GROUP --all | --newcomers | revoke GROUP --newcomers
            sotto group list [--text | --json] | show | participants GROUP | log GROUP
            sotto group avatar GROUP [FILE] | continue GROUP | sync [GROUP ...]
            sotto group check | join | door
            """,
        discussion: """
            A group is a log of signed changes that every member has. No relay knows it. The commands that change a \
            group store the change, and print the records that tell the other members: pipe them into encrypt, and \
            its output into send. A member who missed one gets it before your next message.

            GROUP is the name of a group, its id, or the beginning of the id. Write to a group with encrypt --group.

            EXAMPLES
              sotto group create climbing bob carol | sotto encrypt | sotto send
              sotto group list
              sotto group accept climbing | sotto encrypt | sotto send
              echo 'friday at 6?' | sotto encrypt --group climbing | sotto send
              sotto group remove climbing carol | sotto encrypt | sotto send
              sotto group policy climbing post=admin | sotto encrypt | sotto send
              sotto group sync | sotto encrypt | sotto send
              sotto group create --preset room --phrase @FILE:phrase climbing | sotto encrypt | sotto send
              sotto group join --nickname Bo --phrase @FILE:phrase | sotto encrypt | sotto send
            """,
        version: sottoVersion,
        subcommands: [
            CreateCommand.self, InviteCommand.self, AcceptCommand.self, DeclineCommand.self,
            LeaveCommand.self, DeleteCommand.self, ForgetCommand.self, RemoveCommand.self,
            BanCommand.self, RoleCommand.self,
            RenameCommand.self, AboutCommand.self, TimerCommand.self, NicknameCommand.self,
            AvatarCommand.self, ContinueCommand.self,
            PolicyCommand.self, GrantCommand.self, RevokeCommand.self, ListCommand.self,
            ShowCommand.self, ParticipantsCommand.self, LogCommand.self, SyncCommand.self,
            CheckCommand.self,
            JoinCommand.self, DoorCommand.self,
        ])

    func execute() throws {
        throw Failure(
            .usage, "no command is given: create, list, invite, …",
            hint: "list the commands: sotto group --help")
    }
}
