public import Arguments
import Sotto
public import SottoMessengers
import SottoTool

@main
struct BridgeTool: CoreProgram {
    static let configuration = CommandConfiguration(
        name: "bridge",
        abstract:
            "Exchange messages, keys and contact codes with five messengers, in their own formats.",
        usage: """
            sotto bridge seal FORMAT --to CARD [--jsonl] [-o FILE] [FILE]
            sotto bridge seal shainy --chat CHAT --show-secret [--jsonl] [-o FILE] [FILE]
            sotto bridge open FORMAT [--text] [-o FILE] [FILE]
            sotto bridge account whisper2|mercurio|kecalek [IDENTITY]
            sotto bridge card MESSENGER [MESSENGER ...] [-i IDENTITY]
            sotto bridge set [--whisper-id WSP-ID] [--rsa BITS] [IDENTITY]
            sotto bridge answer whisper2|kecalek [--key PEM] [IDENTITY] < CHALLENGE
            sotto bridge work --bits N < CHALLENGE
            sotto bridge login-key [--bits N] -o PEM | --public PEM | --record PEM | --revoke
            sotto bridge passwd [--unprotected] FILE
            sotto bridge import ecp1|rsa|contacts [FILE]
            sotto bridge export ecp1|rsa|contacts [-o FILE]
            sotto bridge chat [--name NAME] [--phrase SOURCE] -o FILE | --store
            """,
        discussion: """
            FORMAT is shainy, whisper2, mercurio, kecalek or flow (Message Flow). seal makes the messenger's own records \
            from texts, and open makes message records from the messenger's records. Both use the contacts, the sessions \
            and the messages of encrypt and decrypt. How a record reaches the messenger's server is up to you.

            EXAMPLES
              sotto bridge set --whisper-id WSP-YS3T-HJGR-KQBZ alice.key
              sotto bridge account whisper2 alice.key | sotto qr -o alice.png
              sotto contact add --name bob 'whisper2://add?...'
              echo 'hello, bob' | sotto bridge seal whisper2 --to bob > record.json
              sotto bridge open whisper2 --text answer.json

            FORMATS

            \(SuiteTraits.table(
                Messenger.allCases.map { [$0.rawValue] + $0.format.protection }
            ).joined(separator: "\n"))

            mercurio authenticates the sender only of messages written by sotto. kecalek and flow are sessions, as in \
            encrypt --suite ratchet. Use the others only to exchange messages with these messengers:
            \(Self.legacyReasons)
            """,
        version: sottoVersion,
        subcommands: [
            SealCommand.self, OpenCommand.self, AccountCommand.self, CardCommand.self,
            SetCommand.self, AnswerCommand.self, WorkCommand.self, LoginKeyCommand.self,
            PasswdCommand.self,
            ImportCommand.self, ExportCommand.self, ChatCommand.self,
        ])

    func execute() {}

    private static var legacyReasons: String {
        Messenger.allCases.map { "  \($0.rawValue): \($0.format.legacyReason)." }
            .joined(separator: "\n")
    }
}

extension BridgeFormat {
    /// The messenger without sessions, or `nil`.
    var messenger: Messenger? { Messenger(rawValue: rawValue) }
}

extension WhisperID: ExpressibleByArgument {
    /// Parses the text of an option.
    public init?(argument: String) { self.init(argument) }

    /// Prints a warning if the checksum is wrong. The apps do not check it.
    func warnIfMistyped() {
        guard !isChecksumValid else { return }
        Terminal.say(
            "\(BridgeTool.toolName): warning: the checksum of \(self) is wrong; it may be mistyped")
    }
}

extension Profile: ExpressibleByArgument {}

extension MercurioPublicKey.Form: ExpressibleByArgument {}
