import Arguments
import SottoTool
import SottoWire

/// `send`: sends envelopes from stdin to their relays, through an outbox that survives a crash.
@main
struct SendTool: CoreProgram {
    static let configuration = CommandConfiguration(
        name: "send",
        abstract: "Send envelopes to their relays.",
        usage: """
            sotto send [--relay URL] [--ca FILE] [--text | --json] [--lock-timeout SECONDS] [--quiet]
            sotto send --list [--text | --json]
            sotto send --drop ID|RELAY
            """,
        discussion: """
            Reads envelopes, publications of prekeys, cards and records of rooms, one per line, and prints a result record for each, or on a terminal one line for all. An envelope is stored on disk \
            before it is sent, unless its time to live is 0. It is sent to the relay on the recipient's card, which encrypt writes on its line. While a relay cannot be \
            reached, send exits with 75 and stores the envelope; the next send to that relay delivers the stored ones in order. With an empty \
            input, send delivers the stored envelopes for every relay.

            EXAMPLES
              echo 'hello, bob' | sotto encrypt --to bob | sotto send
              echo 'hello, bob' | sotto encrypt --to bob.card | sotto send --relay tcp://127.0.0.1:7667
              sotto send < /dev/null     # deliver the stored envelopes
              sotto send --list
            """,
        version: sottoVersion)

    @Option(
        "--relay", value: "url",
        help:
            "The relay, tcp:, tls:, ws:, wss:, http: or https://host:port, optionally with #sha256=PIN. Default: the relay that the line names, else $SOTTO_RELAY."
    )
    var relay: String?

    @Option(
        "--ca", value: "file",
        help:
            "PEM file of the authorities for the relay's certificate. Default: $SOTTO_CA, else the system's."
    )
    var ca: String?

    @Option(
        "--protocol", value: "name",
        help:
            "The protocol with the relay: sotto, or that of a messenger for what it can carry. Default: sotto."
    )
    var wire = RelayProtocol.own

    @Flag("--list", help: "List the outbox for each relay, and send nothing.")
    var list = false

    @OptionGroup var form: OutputForm

    @Option(
        "--drop", value: "id",
        help:
            "Delete what waits with this id, or all that waits for this relay: its messages, cards and prekeys are not sent. May be repeated."
    )
    var drop: [String] = []

    @OptionGroup var lock: LockOptions

    @Flag("-v", "--verbose", help: "Print the id of each item, if text is printed.")
    var verbose = false

    @Flag("-q", "--quiet", help: "Print no notes on stderr, and no text.")
    var quiet = false

    let given = GivenArguments()

    func checkMode() throws { try given.check(for: mode) }

    func execute() throws { try SendPlan(self).run() }
}
