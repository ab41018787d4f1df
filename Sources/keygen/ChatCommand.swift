import Arguments
import Sotto
import SottoTool

struct ChatCommand: Program {
    static let configuration = CommandConfiguration(
        name: "chat",
        abstract: "Create a chat file from a phrase, or print the chat's public record.",
        usage: """
            sotto keygen chat [--name NAME] [--phrase SOURCE] -o FILE
            sotto keygen chat --public FILE
            sotto keygen chat --read-name FILE < RECORD
            """,
        discussion: """
            Everyone who knows the phrase can read and write in the chat. The phrase is asked for twice, or read from \
            the first line of a pipe or from --phrase. The file contains the keys and not the phrase.

            EXAMPLES
              sotto keygen chat --name friends -o friends.chat
              sotto keygen chat --public friends.chat
            """)

    @OptionGroup var options: ChatFileOptions

    let given = GivenArguments()

    func checkMode() throws { try given.check(for: options.mode) }

    func execute() throws {
        try options.run(tool: KeygenTool.toolName) { phrase in
            let chat = try Chat(phrase: phrase, name: options.name)
            if !options.quiet {
                Terminal.say(
                    "\(KeygenTool.toolName): note: the phrase's strength is about \(chat.strength) bits"
                )
            }
            return chat.record
        } record: { path, output in
            try output.writeLine(ChatFile.read(path).nameRecord)
        } name: { path, record in
            try ChatFile.read(path).name(in: record())
        }
    }
}
