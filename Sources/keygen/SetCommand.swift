import Arguments
import Sotto
import SottoState
import SottoTool
import SottoWire

/// `keygen set`: changes the settings in an identity file.
struct SetCommand: Program {
    static let configuration = CommandConfiguration(
        name: "set",
        abstract: "Set the relay or the name of an identity, and print its new card.",
        usage: "sotto keygen set [--relay URL | --no-relay] [--name NAME] [FILE]",
        discussion: """
            The file is replaced atomically, keeps its passphrase, and stays unlocked. Existing cards keep the old relay and \
            name. The new card is printed for send, but not on a terminal. The next message to each contact carries it until \
            the contact answers. A name on a card is a claim: contacts keep the name that they gave you.

            EXAMPLES
              sotto keygen set --relay tls://relay.example.org:7667 --send
              sotto keygen set --name alice --send
            """)

    @Option(
        "--relay", value: "url",
        help:
            "The relay where you fetch your mail, tcp://host:port or another address that recv accepts."
    )
    var relay: String?

    @Flag("--no-relay", help: "Remove the relay from the identity.")
    var noRelay = false

    @Option("--name", value: "name", help: "The name on your card. An empty one removes it.")
    var name: String?

    @Flag("-q", "--quiet", help: "Print nothing on stderr.")
    var quiet = false

    @OptionGroup var records: RecordOutput

    @OptionGroup var identity: IdentityOptions

    @Argument("file", help: "Identity file. Default: as -i.")
    var file: String?

    func validate() throws {
        guard relay == nil || !noRelay else {
            throw UsageError("use either --relay or --no-relay")
        }
        guard relay != nil || noRelay || name != nil else {
            throw UsageError("give --relay, --no-relay or --name")
        }
        if let name { try checkName(name) }
    }

    func execute() throws {
        let address = try relay.map { try RelayURL(argument: $0) }
        var former: String?
        var card: Card?
        var separated: [SeparatedGroup] = []
        let path = try identity.replaceRecord(argument: file) { record in
            guard try Identity(record: record).owner == nil else {
                throw Failure(
                    .usage,
                    "this is a device: the card of machine one has your name, and its list the relay of the device",
                    hint: "run this command there, or remove the device and add it again"
                )
            }
            former = record["relay"]?.string
            if let address, let former, address.text != former {
                separated = try groupsSeparated(
                    Identity(record: record), by: address.text, from: former)
            }
            if address != nil || noRelay {
                record["relay"] = address.map { .string($0.text) }
            }
            if let name { record["name"] = name.isEmpty ? nil : .string(name) }
            card = try IdentityStore.ownCard(
                of: Identity(record: record), issued: .now(),
                lockTimeout: LockOptions.standardTimeout)
        }
        let isPrinted = records.isForced || !Terminal.isTerminal(1)
        if !quiet {
            describe(path, address, from: former, isPrinted: isPrinted)
            for group in separated { describe(group) }
        }
        guard isPrinted, let record = card?.record else { return }
        let output = try Output(path: "-", content: .text)
        try output.writeLine(record)
        try output.finish()
    }

    /// Prints notes about the changes and their effect on contacts.
    private func describe(
        _ path: String, _ address: RelayURL?, from former: String?, isPrinted: Bool
    ) {
        func say(_ text: String) { Terminal.say("\(KeygenTool.toolName): \(path) \(text)") }
        if let address { say("has the relay \(address.text)") }
        if noRelay { say("no longer has a relay") }
        if let name { say(name.isEmpty ? "no longer has a name" : "has the name \(name)") }
        let isMoved = address != nil && address?.text != former
        guard isMoved || name != nil else { return }
        let option = path == (try? IdentityFile.defaultPath()) ? "" : " -i " + shellWord(path)
        if !isPrinted {
            note("to publish the new card: sotto keygen public\(option) --send")
        }
        if name != nil { note("contacts keep the name that they gave you") }
        guard isMoved, let former else { return }
        note(
            "contacts write to the old relay until they have the card: the next message to each contact or group carries it, and sotto recv --card fetches it"
        )
        note(
            "to fetch what still arrives there: sotto recv\(option) --relay \(shellWord(former)) | sotto decrypt\(option)"
        )
        note("a room stays at its relay; MY RELAY MOVED in sotto(7) moves it")
    }

    private func groupsSeparated(
        _ identity: Identity, by relay: String, from former: String
    ) throws -> [SeparatedGroup] {
        guard let directory = try StateDirectory.existing(),
            let store = try IdentityStore.existing(
                in: directory, identity: identity, lockTimeout: LockOptions.standardTimeout)
        else { return [] }
        return try store.preview { try $0.groupsSeparated(by: relay, from: former) }
    }

    private func describe(_ group: SeparatedGroup) {
        let rule = shellWord("relays=" + group.relays.joined(separator: ","))
        let remedy =
            group.mayList
            ? "list the relays: sotto group policy \(shellWord(group.name)) \(rule) --send"
            : "ask an admin to list the relays: sotto group policy GROUP \(rule) --send"
        note(
            "in \(group.name), you and members who are no contacts of yours get nothing from each other until the group lists the relays; \(remedy)"
        )
    }

    private func note(_ text: String) { Terminal.say("\(KeygenTool.toolName): note: \(text)") }
}
