import Arguments
import Sotto
import SottoTool
import SottoWire

/// `keygen set`: changes the settings in an identity file.
struct SetCommand: Program {
    static let configuration = CommandConfiguration(
        name: "set",
        abstract: "Set or remove the relay of an identity.",
        usage: "sotto keygen set --relay URL | --no-relay [FILE]",
        discussion: """
            The file is replaced atomically, keeps its passphrase, and stays unlocked. Existing cards still name the old \
            relay: publish a new one. The next message to each contact carries it until the contact answers.

            EXAMPLES
              sotto keygen set --relay tls://relay.example.org:7667 alice.key
              sotto keygen public alice.key | sotto send
            """)

    @Option(
        "--relay", value: "url",
        help:
            "The relay where you fetch your mail, tcp://host:port or another address that recv accepts."
    )
    var relay: String?

    @Flag("--no-relay", help: "Remove the relay from the identity.")
    var noRelay = false

    @Flag("-q", "--quiet", help: "Print nothing on stderr.")
    var quiet = false

    @OptionGroup var identity: IdentityOptions

    @Argument("file", help: "Identity file. Default: as -i.")
    var file: String?

    func validate() throws {
        guard (relay == nil) == noRelay else {
            throw UsageError("use either --relay or --no-relay")
        }
    }

    func execute() throws {
        let address = try relay.map { try RelayURL(argument: $0) }
        var former: String?
        let path = try identity.replaceRecord(argument: file) { record in
            former = record["relay"]?.string
            record["relay"] = address.map { .string($0.text) }
        }
        guard !quiet else { return }
        let change = address.map { "has the relay \($0)" } ?? "no longer has a relay"
        Terminal.say("\(KeygenTool.toolName): \(path) \(change)")
        guard let address, address.text != former else { return }
        let option = path == (try? IdentityFile.defaultPath()) ? "" : " -i " + shellWord(path)
        note("to publish your card there: sotto keygen public\(option) --send")
        guard let former else { return }
        note(
            "contacts write to the old relay until they have the card: the next message to each contact or group carries it, and sotto recv --card fetches it"
        )
        note(
            "to fetch what still arrives there: sotto recv\(option) --relay \(shellWord(former)) | sotto decrypt\(option)"
        )
        note("a room stays at its relay; MY RELAY MOVED in sotto(7) moves it")
    }

    private func note(_ text: String) { Terminal.say("\(KeygenTool.toolName): note: \(text)") }
}
