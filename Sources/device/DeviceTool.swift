import Arguments
import SottoBytes
import SottoTool

@main
struct DeviceTool: CoreProgram {
    static let configuration = CommandConfiguration(
        name: "device",
        abstract: "Several machines of one person: add, list and remove devices.",
        usage: """
            sotto device request --name NAME [--relay URL] [--uri] [-o FILE]
            sotto device add [--name NAME] [--now] CODE | --code SOURCE
            sotto device list [--text | --json | --private | --public]
            sotto device rename DEVICE NAME | remove DEVICE
            sotto device confirm [--now] DEVICE | object DEVICE
            sotto device announce [DEVICE]
            sotto device sync
            sotto device changes [DEVICE] [--text | --json]
            sotto device restore [FILE]
            """,
        discussion: """
            A device is another machine of yours, with keys of its own. Your contacts see one person, and what they write \
            reaches each device. Machine one has the identity itself, and signs the list of the others. The new machine runs \
            request, and shows a code; machine one runs add with it.

            EXAMPLES
              sotto device request --name laptop --send
              sotto device add 417-orbit-velvet-sunset --send
              sotto device list
              sotto device remove laptop --send
            """,
        version: sottoVersion,
        subcommands: [
            RequestCommand.self, AddCommand.self, ListCommand.self, RenameCommand.self,
            RemoveCommand.self, ConfirmCommand.self, ObjectCommand.self, AnnounceCommand.self,
            SyncCommand.self, ChangesCommand.self,
            RestoreCommand.self,
        ])

    func execute() throws {
        throw Failure(
            .usage, "no command is given: request, add, list, …",
            hint: "list the commands: sotto device --help")
    }
}
