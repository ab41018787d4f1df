import Arguments
import SottoBytes
import SottoTool

@main
struct ComposeTool: CoreProgram {
    static let configuration = CommandConfiguration(
        name: "compose",
        abstract:
            "Write message records for encrypt: texts, files, replies, reactions, edits, receipts, calls.",
        usage: """
            sotto compose text [WHO] | reply TARGET | edit TARGET
            sotto compose file PATH [WHO] | file --reply TARGET PATH
            sotto compose react TARGET EMOJI
            sotto compose delete TARGET ... | pin [--until TIME] TARGET | unpin TARGET
            sotto compose forward TARGET --to WHO [--to WHO ...]
            sotto compose read TARGET ... | read WHO
            sotto compose typing [--stop] WHO | presence [--offline] WHO
            sotto compose timer WHO DURATION
            sotto compose call offer|answer|candidates|hangup|busy --to WHO
            """,
        discussion: """
            The text of text, file, reply and edit is standard input. TARGET is the id of a message in the history, the \
            beginning of one with at least 4 characters, or -1 for the last message of the conversation that --with \
            names, -2 for the one before, and so on. The output has one JSON record for each message, with the \
            recipient. Nothing is stored or sent: pipe the records into encrypt, and its output into send.

            EXAMPLES
              echo 'see you at 8' | sotto compose text bob | sotto encrypt | sotto send
              echo yes | sotto compose reply -1 --with bob | sotto encrypt | sotto send
              echo 'as promised' | sotto compose file plan.pdf bob | sotto encrypt | sotto send
              sotto compose react -1 👍 --with bob | sotto encrypt | sotto send
              sotto compose delete 5f0c81aa | sotto encrypt | sotto send
              sotto compose forward 5f0c81aa --to carol | sotto encrypt | sotto send
              sotto compose timer bob 1w | sotto encrypt | sotto send
            """,
        version: sottoVersion,
        subcommands: [
            TextCommand.self, FileCommand.self, ReplyCommand.self, EditCommand.self,
            ReactCommand.self,
            DeleteCommand.self, PinCommand.self, UnpinCommand.self, ForwardCommand.self,
            ReadCommand.self, TypingCommand.self, PresenceCommand.self, TimerCommand.self,
            CallCommand.self,
        ])

    func execute() throws {
        throw Failure(
            .usage, "no command is given: text, reply, react, …",
            hint: "list the commands: sotto compose --help")
    }
}
