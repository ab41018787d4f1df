import Arguments
import Sotto
import SottoState
import SottoTool
import SottoWire

struct Public: Program {
    static let configuration = CommandConfiguration(
        name: "public", abstract: "Print the public card as a JSON record or a URI.",
        usage: """
            sotto keygen public [--relay URL] [FILE]
            sotto keygen public --uri [--relay URL] [FILE]
            """,
        discussion: """
            EXAMPLES
              sotto keygen public alice.key > alice.card
              sotto keygen public alice.key | sotto send          # into the relay's directory
              sotto keygen public --uri alice.key | sotto qr -o alice.png
            """)

    @Flag("--uri", help: "Print a short sotto: URI without the post-quantum key.")
    var uri = false

    @Option(
        "--relay", value: "url",
        help:
            "The relay where you fetch your mail, tcp://host:port or another address that recv accepts; it is included in the card. Default: the identity's relay."
    )
    var relay: String?

    @OptionGroup var records: RecordOutput

    @OptionGroup var identity: IdentityOptions

    @Argument("file", help: "Identity file. Default: as -i.")
    var file: String?

    func execute() throws {
        if !uri { try records.check() }
        let address = try relay.map { try RelayURL(argument: $0) }
        let identity = try identity.load(argument: file)
        let card = try IdentityStore.ownCard(
            of: identity, relay: address?.text, issued: .now(),
            lockTimeout: LockOptions.standardTimeout)
        if try IdentityStore.isRevoked(identity, lockTimeout: LockOptions.standardTimeout) {
            Terminal.say(
                "\(KeygenTool.toolName): warning: this identity is revoked, and contacts and relays refuse the card"
            )
        }
        let output = try Output(path: "-", content: .text)
        if uri {
            try output.writeText(card.uri.text + "\n")
        } else if let record = card.record {
            try output.writeLine(record)
        }
        try output.finish()
    }
}
