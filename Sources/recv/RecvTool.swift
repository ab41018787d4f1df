import Arguments
import SottoTool
import SottoWire

/// `recv`: receives envelopes from a relay, and prints them after storing them in an inbox that survives a crash.
@main
struct RecvTool: CoreProgram {
    static let configuration = CommandConfiguration(
        name: "recv",
        abstract: "Receive envelopes from a relay.",
        usage:
            "sotto recv [-i FILE] [--relay URL] [--follow] [--wait SECONDS] [--max N] [--exec CMD]",
        discussion: """
            Prints the waiting envelopes, one per line, and exits; with 1 if there are none. An envelope is stored on \
            disk here before the relay deletes it. A repeated envelope has the same id, and decrypt detects it.

            EXAMPLES
              sotto recv -i bob.key | sotto decrypt -i bob.key --text
              sotto recv --follow | sotto decrypt | jq -r .body.text
              sotto recv --follow --exec 'sotto decrypt --text >> log'
              sotto recv --bundle bob > /dev/null    # for: encrypt --to bob --suite ratchet
              sotto recv --card 05d8a2... | sotto contact add --name bob
              sotto recv --card bob | sotto contact add    # a newer card of a contact
              sotto recv --card-of 0571... | sotto contact add --account 0571... --name bob
              sotto recv --blob 17 | sotto decrypt --attachment 17 -o photo.jpg
              sotto recv --turn > turn.json    # for a program that makes calls
              sotto recv --meeting new | sotto contact meet | sotto send
              sotto recv --invitation @FILE:code
              sotto recv --invite > code    # for a new member
              sotto recv --wake ntfy://ntfy.sh/f3cOe91Xk
            """,
        version: sottoVersion)

    @OptionGroup var identity: IdentityOptions

    @Option(
        "--relay", value: "url",
        help:
            "The relay, tcp:, tls:, ws:, wss:, http: or https://host:port, optionally with #sha256=PIN. Default: $SOTTO_RELAY, else the identity's relay."
    )
    var relay: String?

    @Option(
        "--ca", value: "file",
        help:
            "PEM file of the authorities for the relay's certificate. Default: $SOTTO_CA, else the system's."
    )
    var ca: String?

    @Flag(
        "-f", "--follow",
        help: "Continue to receive, and reconnect when a connection is lost, until stopped.")
    var follow = false

    @Option(
        "--wait", value: "seconds", help: "Wait this long for the first or next envelope.",
        values: .any)
    var wait = 0.0

    @Option(
        "--poll-every", value: "seconds",
        help: "Seconds between two polls of a relay over HTTP, 1 to 86400. Default: 2.")
    var pollEvery: Int?

    @Option(
        "--protocol", value: "name",
        help:
            "The protocol with the relay: sotto, or that of a messenger, whose records are printed then, for bridge open. Default: sotto."
    )
    var wire = RelayProtocol.own

    @Option("--max", value: "n", help: "End after this many envelopes.")
    var max: Int?

    @Option(
        "--exec", value: "cmd",
        help:
            "Run this command in sh for each envelope, with the envelope on stdin; the relay deletes it when the command "
            + "exits with 0. After five failures it becomes a dead letter; with --follow it is retried after 1 to 60 s."
    )
    var exec: String?

    @Flag(
        "--again",
        help:
            "Print envelopes again that were printed before and that decrypt has not finished. Needs no relay."
    )
    var again = false

    @Flag(
        "--dead",
        help: "Print the dead letters, or pass them to --exec, and delete them.")
    var dead = false

    @Option(
        "--forget", value: "id",
        help:
            "Delete this printed envelope, which decrypt cannot open, from the inbox; may be repeated. The id of a sender deletes all "
            + "that claim to be from them, and all deletes all that decrypt could not open. Needs no relay."
    )
    var forget: [String] = []

    @Option(
        "--bundle", value: "card",
        help:
            "Claim a prekey bundle of this contact or card, to begin a session; print it, and store it for encrypt."
    )
    var bundle: String?

    @Option(
        "--card", value: "card",
        help:
            "Ask the relay's directory for the card of this contact or id, and print it; the relay does not vouch for its owner."
    )
    var card: String?

    @Option(
        "--card-of", value: "account",
        help:
            "Ask the relay's directory for cards with this account in another messenger, and print at most 8; for contact add --account.",
        values: .any)
    var cardOf: String?

    @Option(
        "--room", value: "id",
        help:
            "Ask the relay's directory for the room whose door has this id, and print its encrypted record; for group join."
    )
    var room: String?

    @Flag(
        "--turn",
        help:
            "Print credentials for the relay's TURN servers, for a call; they are valid for a day."
    )
    var turn = false

    @Option(
        "--blob", value: "record",
        help:
            "Fetch the encrypted file of this message, a number or a file with the record, and print it for decrypt --attachment."
    )
    var blob: String?

    @Option(
        "--meeting", value: "place",
        help:
            "Make a place at the relay for contact meet (new), or join the one with this number (NUMBER or NUMBER@HOST:PORT); print the records that arrive there.",
        values: .any)
    var meeting: String?

    @Flag(
        "--keep",
        help:
            "With --blob: keep the file in the state, for history save, and print nothing.")
    var keep = false

    @Option(
        "--invitation", value: "source",
        help:
            "Redeem an invitation code from relay invite to become a member: @ENV:NAME, @FD:N or @FILE:PATH."
    )
    var invitation: SecretSource?

    @Flag(
        "--invite",
        help: "Make an invitation code to the relay for somebody else, as a member, and print it.")
    var invite = false

    @Option(
        "--label", value: "name",
        help: "With --invite: a name for the invited person, which the operator sees.")
    var label: String?

    @Option(
        "--wake", value: "url",
        help:
            "Register an address to which the relay posts when mail waits and nothing receives it: https://host/path or ntfy://host/topic."
    )
    var wake: String?

    @Flag("--no-wake", help: "End the registrations of --wake, or that of --kind.")
    var noWake = false

    @Option(
        "--kind", value: "kind",
        help: "With --wake and --no-wake: the mail that causes it, message or voip (calls).")
    var kind: WakeRegistration.Kind?

    @Option(
        "--wake-token", value: "text",
        help: "With --wake: a text that each wake-up contains, 1 to 64 letters, digits or -._:.",
        values: .any)
    var wakeToken: String?

    @Flag(
        "--announcements",
        help: "Print the address of the room for announcements that the relay offers to everybody.")
    var announcements = false

    @Option(
        "--login-key", value: "pem",
        help:
            "Log in for --of with this RSA key, a PEM file from bridge login-key; implies --stateless."
    )
    var loginKey: String?

    @Option(
        "--login-password", value: "source",
        help: "Password of the login key: @ENV:NAME, @FD:N or @FILE:PATH. Default: ask.")
    var loginPassword: SecretSource?

    @Option(
        "--of", value: "card", help: "The owner of the mailbox, with --login-key: a card or an id.")
    var of: String?

    @Flag("--stateless", help: "Use no inbox: the relay deletes an envelope after it is printed.")
    var stateless = false

    @Flag(
        "--no-bundles",
        help: "Do not claim prekeys of contacts in advance, and do not connect to their relays.")
    var noBundles = false

    @OptionGroup var lock: LockOptions

    @OptionGroup var records: RecordOutput

    @Flag("-q", "--quiet", help: "Print no notes on stderr.")
    var quiet = false

    let given = GivenArguments()

    func checkMode() throws { try given.check(for: mode) }

    func validate() throws {
        try invitation?.validate()
        try loginPassword?.validate()
    }

    func execute() throws { try RecvPlan(self).run() }
}
