import Arguments
import SottoBytes
import SottoTool

@main
struct DeviceTool: CoreProgram {
    static let configuration = CommandConfiguration(
        name: "device",
        abstract: "Several machines of one person: add, list and remove devices.",
        usage: """
            sotto device list [--text | --json]
            """,
        discussion: """
            A device is another machine of yours, with keys of its own. Your contacts see one person, and what they write \
            reaches each device. Machine one has the identity itself, and signs the list of the others.

            EXAMPLES
              sotto device list
            """,
        version: sottoVersion,
        subcommands: [ListCommand.self])

    func execute() throws {
        throw Failure(
            .usage, "no command is given: request, add, list, …",
            hint: "list the commands: sotto device --help")
    }
}
