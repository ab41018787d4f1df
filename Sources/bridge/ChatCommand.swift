import Arguments
import Sotto
import SottoContacts
import SottoMessengers
import SottoTool

struct ChatCommand: Program {
    static let configuration = CommandConfiguration(
        name: "chat",
        abstract:
            "Create a chat with SHAiny's key from a phrase, list the stored chats, or print SHAiny's record.",
        usage: """
            sotto bridge chat [--name NAME] [--phrase SOURCE] -o FILE
            sotto bridge chat --store --name NAME [--phrase SOURCE]
            sotto bridge chat --add FILE [--name NAME]
            sotto bridge chat --list | --forget NAME
            sotto bridge chat --public CHAT --show-secret
            sotto bridge chat --read-name CHAT < RECORD
            """,
        discussion: """
            The file also serves encrypt --chat and decrypt --chat. Everyone who knows the phrase can read and write in the chat. The phrase is asked for twice, or read from \
            the first line of a pipe or from --phrase. The file, or with --store the state of your identity, contains the keys \
            and not the phrase. CHAT is a file or the name of a stored chat.

            EXAMPLES
              sotto bridge chat --name friends -o friends.chat
              sotto bridge seal shainy --chat friends.chat --show-secret < text
              sotto bridge chat --store --name family
            """)

    @OptionGroup var options: ChatFileOptions

    @Flag("--show-secret", help: "Allow printing a record that contains a secret.")
    var showSecret = false

    let given = GivenArguments()

    func checkMode() throws { try given.check(for: options.mode) }

    func execute() throws {
        let tool = BridgeTool.toolName
        try options.run(tool: tool) { phrase in
            let chat = try MessengerChat(phrase: phrase, name: options.name ?? "")
            let isComposed = phrase.withBytes { bytes in
                String(validating: bytes, as: UTF8.self).map { isNFC($0) } ?? true
            }
            report(chat, isComposed: isComposed)
            return chat.record
        } record: { chat, output in
            guard showSecret else { throw Self.secretID }
            output.keepPrivate(tool: tool)
            try output.writeLine(MessengerChat(record: chat).shainyNameRecord())
        } name: { chat, record in
            let chat = try MessengerChat(record: chat)
            let (name, isAuthentic) = try chat.name(in: record())
            if !isAuthentic {
                Terminal.say(
                    "\(tool): warning: SHAiny's format does not authenticate the name: it may be forged"
                )
            }
            return name
        }
    }

    private func report(_ chat: MessengerChat, isComposed: Bool) {
        let tool = BridgeTool.toolName
        if !options.quiet {
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

    private static let secretID = Failure(
        .usage, "the id in SHAiny's record is the chat's secret key",
        hint: "use --show-secret to print it")
}
