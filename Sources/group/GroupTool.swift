import Arguments
import SottoBytes
import SottoTool

@main
struct GroupTool: CoreProgram {
    static let configuration = CommandConfiguration(
        name: "group",
        abstract: "Groups: create, invite, accept, leave, remove, and the rules of each.",
        usage: """
            group create [--preset PRESET] [--visibility WHO] [--nickname NAME] NAME [WHO ...]
            group invite [--reader] GROUP WHO ...
            group accept [--nickname NAME] GROUP | decline GROUP
            group leave GROUP | delete GROUP | forget GROUP
            group remove GROUP WHO ... | ban GROUP WHO ... | role GROUP WHO RANK
            group rename GROUP NAME | about GROUP TEXT | timer GROUP DURATION
            group nickname GROUP NAME | policy GROUP [KEY=VALUE ...]
            group grant GROUP WHO ... | grant GROUP --all | --newcomers | revoke GROUP --newcomers
            group list [--text | --json] | show | participants GROUP | log GROUP
            group avatar GROUP [FILE] | continue GROUP | sync [GROUP ...]
            group check | join | door
            """,
        discussion: """
            A group is a log of signed changes that every member has. No relay knows it. The commands that change a \
            group store the change, and print the records that tell the other members: pipe them into encrypt, and \
            its output into send. A member who missed one gets it before your next message.

            GROUP is the name of a group, its id, or the beginning of the id. Write to a group with encrypt --group.

            EXAMPLES
              group create climbing bob carol | encrypt | send
              group list
              group accept climbing | encrypt | send
              echo 'friday at 6?' | encrypt --group climbing | send
              group remove climbing carol | encrypt | send
              group policy climbing post=admin | encrypt | send
              group sync | encrypt | send
              group create --preset room --phrase @FILE:phrase climbing | encrypt | send
              group join --nickname Bo --phrase @FILE:phrase | encrypt | send
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
