import Arguments
import Sotto
import SottoContacts
import SottoTool

struct ChatCommand: Program {
    static let configuration = CommandConfiguration(
        name: "chat",
        abstract: "Create a chat from a phrase, list the stored chats, or print a public record.",
        usage: """
            sotto keygen chat [--name NAME] [--phrase SOURCE] -o FILE
            sotto keygen chat --store --name NAME [--phrase SOURCE]
            sotto keygen chat --add FILE [--name NAME]
            sotto keygen chat --list | --forget NAME
            sotto keygen chat --public CHAT
            sotto keygen chat --read-name CHAT < RECORD
            """,
        discussion: """
            Everyone who knows the phrase can read and write in the chat. The phrase is asked for twice, or read from \
            the first line of a pipe or from --phrase. The file, or with --store the state of your identity, contains the keys \
            and not the phrase. CHAT is a file or the name of a stored chat.

            EXAMPLES
              sotto keygen chat --name friends -o friends.chat
              sotto keygen chat --public friends.chat
              sotto keygen chat --store --name family
            """)

    @OptionGroup var options: ChatFileOptions

    let given = GivenArguments()

    func checkMode() throws { try given.check(for: options.mode) }

    func execute() throws {
        try options.run(tool: KeygenTool.toolName) { phrase in
            let chat = try Chat(phrase: phrase, name: options.name ?? "")
            if !options.quiet {
                Terminal.say(
                    "\(KeygenTool.toolName): note: the phrase's strength is about \(chat.strength) bits"
                )
            }
            return chat.record
        } record: { chat, output in
            try output.writeLine(Chat(record: chat).nameRecord)
        } name: { chat, record in
            try Chat(record: chat).name(in: record())
        }
    }
}
