import Arguments
import Sotto
import SottoTool

struct ChatCommand: Program {
    static let configuration = CommandConfiguration(
        name: "chat",
        abstract: "Make the file of a chat from its phrase, or its public record from the file.",
        usage: """
            keygen chat [--name NAME] [--phrase SOURCE] [-o FILE]
            keygen chat --public FILE [--shainy --show-secret]
            keygen chat --read-name FILE < RECORD
            """,
        discussion: """
            All who know the phrase have the chat. The phrase is asked for, twice, or is the first line of a pipe, or \
            --phrase gives it. The file holds the keys, and not the phrase.

            EXAMPLES
              keygen chat --name friends -o friends.chat
              keygen chat --public friends.chat
            """)

    @Option("--name", value: "name", help: "What the chat is called.")
    var name = ""

    @Option(
        "--phrase", value: "source",
        help: "The chat's phrase: @ENV:NAME, @FD:N or @FILE:PATH. Default: stdin, or ask.")
    var phrase: SecretSource?

    @OptionGroup var destination: SecretFileOptions

    @Option(
        "--public", value: "file",
        help: "Print the public record of the chat in this file: its id, and its name encrypted.")
    var publicRecord: String?

    @Flag(
        "--shainy", help: "With --public: print SHAiny's record, in which the id is the chat's key."
    )
    var shainy = false

    @Flag("--show-secret", help: "Show a secret that the record holds.")
    var showSecret = false

    @Option(
        "--read-name", value: "file",
        help: "Print the name in a chat's public record, which is stdin; the chat is this file.")
    var readName: String?

    @Flag("-q", "--quiet", help: "Say nothing on stderr but warnings.")
    var quiet = false

    func validate() throws {
        try phrase?.validate()
        try checkName(name)
        let makes = phrase != nil || destination.path != nil || !name.isEmpty
        guard [publicRecord != nil, readName != nil, makes].count(where: { $0 }) <= 1 else {
            throw UsageError("--public and --read-name take a chat that is there")
        }
        guard !shainy || publicRecord != nil else {
            throw UsageError("--shainy goes with --public")
        }
        guard !showSecret || shainy else {
            throw UsageError("--show-secret goes with --shainy")
        }
    }

    func execute() throws {
        if let publicRecord { return try printRecord(of: publicRecord) }
        if let readName { return try printName(of: readName) }
        try make()
    }

    private func make() throws {
        if destination.path == nil, Terminal.isTerminal(1) {
            throw Failure(
                .usage, "refusing to write the chat's keys to the terminal",
                hint: "name a file with -o, or force it with -o -")
        }
        let output = try destination.open(quiet: quiet)
        let secret = try readPhrase()
        let chat = try Chat(phrase: secret, name: name)
        let isComposed = secret.withBytes { bytes in
            String(validating: bytes, as: UTF8.self).map { isNFC($0) } ?? true
        }
        report(chat, isComposed: isComposed)
        try output.write(chat.record.serialized() + [UInt8(ascii: "\n")])
        try output.finish()
    }

    private func readPhrase() throws -> SecretBytes {
        if phrase == nil, !Terminal.isTerminal(0) {
            let line = try SecretSource.descriptor(0).read()
            return line
        }
        return try newSecret("phrase", phrase, warns: false)
    }

    private func report(_ chat: Chat, isComposed: Bool) {
        let tool = KeygenTool.toolName
        if !quiet {
            Terminal.say("\(tool): note: the phrase's strength is about \(chat.strength) bits")
        }
        if chat.shainy.isPublic {
            Terminal.say(
                "\(tool): warning: everybody knows this phrase: nothing in the chat is confidential"
            )
        } else if Double(chat.strength) < PhraseStrength.recommended {
            Terminal.say(
                "\(tool): warning: below \(Int(PhraseStrength.recommended)) bits SHAiny's form can be guessed: it hashes the phrase once"
            )
        }
        if !isComposed {
            Terminal.say(
                "\(tool): warning: the phrase is not in Unicode's composed form (NFC): typed so, it is another chat in SHAiny's form"
            )
        }
    }

    // MARK: Its public record

    private func printRecord(of path: String) throws {
        guard !shainy || showSecret else { throw Self.secretID }
        let chat = try ChatFile.read(path)
        let output = try Output(path: "-", content: .text)
        if shainy { output.keepPrivate(tool: KeygenTool.toolName) }
        try output.writeLine(shainy ? chat.shainyNameRecord : chat.nameRecord)
        try output.finish()
    }

    private static let secretID = Failure(
        .usage, "SHAiny's record has the chat's key in it, as its id",
        hint: "to print it all the same: --show-secret")

    private func printName(of path: String) throws {
        let chat = try ChatFile.read(path)
        let record = try JSON.object(parsing: try Input(path: nil).readAll(limit: 1 << 20))
        let (name, isAuthentic) = try chat.name(in: record)
        if !isAuthentic {
            Terminal.say(
                "\(KeygenTool.toolName): warning: SHAiny's form does not authenticate the name: it may be anybody's"
            )
        }
        let output = try Output(path: "-", content: .text)
        try output.writeText(name + "\n")
        try output.finish()
    }
}
