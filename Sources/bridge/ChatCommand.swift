import Arguments
import Sotto
import SottoMessengers
import SottoTool

struct ChatCommand: Program {
    static let configuration = CommandConfiguration(
        name: "chat",
        abstract:
            "Create a chat file with SHAiny's key from a phrase, or print the chat's SHAiny record.",
        usage: """
            bridge chat [--name NAME] [--phrase SOURCE] -o FILE
            bridge chat --public FILE --show-secret
            bridge chat --read-name FILE < RECORD
            """,
        discussion: """
            The file also serves encrypt --chat and decrypt --chat. Everyone who knows the phrase can read and write in the chat. The phrase is asked for twice, or read from \
            the first line of a pipe or from --phrase. The file contains the keys and not the phrase.

            EXAMPLES
              bridge chat --name friends -o friends.chat
              bridge seal shainy --chat friends.chat --show-secret < text
            """)

    @OptionGroup var new: NewChatOptions

    @Option(
        "--public", value: "file",
        help: "Print SHAiny's record of the chat in this file, whose id is the chat's key.")
    var publicRecord: String?

    @Flag("--show-secret", help: "Allow printing a record that contains a secret.")
    var showSecret = false

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
        let output = try new.open(tool: BridgeTool.toolName, quiet: quiet)
        let secret = try new.readPhrase(tool: BridgeTool.toolName)
        let chat = try MessengerChat(phrase: secret, name: new.name)
        let isComposed = secret.withBytes { bytes in
            String(validating: bytes, as: UTF8.self).map { isNFC($0) } ?? true
        }
        report(chat, isComposed: isComposed)
        try output.write(chat.record.serialized() + [UInt8(ascii: "\n")])
        try output.finish()
    }

    private func report(_ chat: MessengerChat, isComposed: Bool) {
        let tool = BridgeTool.toolName
        if !quiet {
            Terminal.say("\(tool): note: the phrase's strength is about \(chat.chat.strength) bits")
        }
        if chat.shainy?.isPublic == true {
            Terminal.say(
                "\(tool): warning: this phrase is public: nothing in the chat is confidential"
            )
        } else if Double(chat.chat.strength) < PhraseStrength.recommended {
            Terminal.say(
                "\(tool): warning: below \(Int(PhraseStrength.recommended)) bits the phrase can be guessed in SHAiny's format, which hashes it once"
            )
        }
        if !isComposed {
            Terminal.say(
                "\(tool): warning: the phrase is not in Unicode's composed form (NFC): in SHAiny's format it gives a different chat"
            )
        }
    }

    // MARK: Its public record

    private func printRecord(of path: String) throws {
        guard showSecret else { throw Self.secretID }
        let record = try MessengerChatFile.read(path).shainyNameRecord()
        let output = try Output(path: "-", content: .text)
        output.keepPrivate(tool: BridgeTool.toolName)
        try output.writeLine(record)
        try output.finish()
    }

    private static let secretID = Failure(
        .usage, "the id in SHAiny's record is the chat's secret key",
        hint: "use --show-secret to print it")

    private func printName(of path: String) throws {
        let chat = try MessengerChatFile.read(path)
        let record = try JSON.object(parsing: try Input(path: nil).readText(limit: 1 << 20))
        let (name, isAuthentic) = try chat.name(in: record)
        if !isAuthentic {
            Terminal.say(
                "\(BridgeTool.toolName): warning: SHAiny's format does not authenticate the name: it may be forged"
            )
        }
        let output = try Output(path: "-", content: .text)
        try output.writeText(name + "\n")
        try output.finish()
    }
}

/// A chat file, with or without SHAiny's key.
enum MessengerChatFile {
    /// Reads a chat; see ``ChatFile``.
    static func read(_ path: String) throws -> MessengerChat {
        try MessengerChat(record: ChatFile.record(path))
    }
}
