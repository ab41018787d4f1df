import Arguments
import Sotto
import SottoTool

struct ChatCommand: Program {
    static let configuration = CommandConfiguration(
        name: "chat",
        abstract: "Create a chat file from a phrase, or print the chat's public record.",
        usage: """
            keygen chat [--name NAME] [--phrase SOURCE] -o FILE
            keygen chat --public FILE
            keygen chat --read-name FILE < RECORD
            """,
        discussion: """
            Everyone who knows the phrase can read and write in the chat. The phrase is asked for twice, or read from \
            the first line of a pipe or from --phrase. The file contains the keys and not the phrase.

            EXAMPLES
              keygen chat --name friends -o friends.chat
              keygen chat --public friends.chat
            """)

    @OptionGroup var new: NewChatOptions

    @Option(
        "--public", value: "file",
        help: "Print the public record of the chat in this file: its id and its encrypted name.")
    var publicRecord: String?

    @Option(
        "--read-name", value: "file",
        help: "Print the chat's name from its public record on stdin; the chat is in this file.")
    var readName: String?

    @Flag("-q", "--quiet", help: "Print only warnings on stderr.")
    var quiet = false

    let given = GivenArguments()

    func checkMode() throws {
        try given.check(
            for: publicRecord != nil ? ChatMode.printed : readName != nil ? .read : .new)
    }

    func execute() throws {
        if let publicRecord { return try printRecord(of: publicRecord) }
        if let readName { return try printName(of: readName) }
        try make()
    }

    private func make() throws {
        let output = try new.open(tool: KeygenTool.toolName, quiet: quiet)
        let secret = try new.readPhrase(tool: KeygenTool.toolName)
        let chat = try Chat(phrase: secret, name: new.name)
        if !quiet {
            Terminal.say(
                "\(KeygenTool.toolName): note: the phrase's strength is about \(chat.strength) bits"
            )
        }
        try output.write(chat.record.serialized() + [UInt8(ascii: "\n")])
        try output.finish()
    }

    // MARK: Its public record

    private func printRecord(of path: String) throws {
        let chat = try ChatFile.read(path)
        let output = try Output(path: "-", content: .text)
        try output.writeLine(chat.nameRecord)
        try output.finish()
    }

    private func printName(of path: String) throws {
        let chat = try ChatFile.read(path)
        let record = try JSON.object(parsing: try Input(path: nil).readText(limit: 1 << 20))
        let name = try chat.name(in: record)
        let output = try Output(path: "-", content: .text)
        try output.writeText(name + "\n")
        try output.finish()
    }
}
