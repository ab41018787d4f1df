import Arguments
import Dispatch
import Sotto
import SottoClient
import SottoState
import SottoTool
import SottoWire

/// `send`: envelopes on stdin to a relay, through an outbox that survives whatever happens.
@main
struct SendTool: Program {
    static let configuration = CommandConfiguration(
        name: "send",
        abstract: "Send envelopes to a relay.",
        usage: "send [--relay URL] [--lock-timeout SECONDS] [--quiet]",
        discussion: """
            Reads envelopes, one a line, publications of prekeys and cards, and prints a result record for each. An envelope is on disk before it \
            leaves; without a network send exits 75, and the next send delivers what is left, in order.

            EXAMPLES
              echo 'hello, bob' | encrypt --to bob.card | send --relay tcp://127.0.0.1:7667
              send < /dev/null     # deliver what is left
            """,
        version: sottoVersion)

    @Option(
        "--relay", value: "url",
        help:
            "The relay, tcp:, tls:, ws:, wss:, http: or https://host:port, perhaps with #sha256=PIN. Default: $SOTTO_RELAY."
    )
    var relay: String?

    @Option(
        "--ca", value: "file",
        help:
            "Who may vouch for the relay's certificate: a PEM file. Default: $SOTTO_CA, else the system's."
    )
    var ca: String?

    @OptionGroup var lock: LockOptions

    @Flag("-q", "--quiet", help: "No notes on stderr.")
    var quiet = false

    func execute() throws {
        let relay = try RelayAddress.find(relay, authorities: ca)
        let directory = try StateDirectory.standard()
        let outbox = try Outbox(directory: directory, lockTimeout: lock.timeout)
        let output = try Output(path: nil, content: .text)
        let delivery = Delivery(outbox: outbox, relay: relay, lockTimeout: lock.timeout)
        let lines = EnvelopeLines(delivery: delivery)
        DispatchQueue(label: "send.input").async { lines.read() }

        var outcome = LineOutcome()
        var rejected: [DeliveryResult] = []
        func reportBadLines() throws {
            for (line, failure) in lines.takeFailures() {
                try output.write(line: outcome.failed(failure, line: line))
            }
        }
        let ending = try delivery.run { results in
            try reportBadLines()
            for result in results {
                switch result.status {
                case .stored, .duplicate: outcome.succeeded()
                case .rejected: rejected.append(result)
                case .queued, .deferred: break
                }
                try output.write(line: result.record)
            }
            try output.flush()
        }
        try reportBadLines()
        try output.finish()
        if let failure = lines.inputFailure { throw failure }
        if !quiet { try noteOthers(outbox, relay) }
        if let failure = Self.failure(ending) { throw failure }
        if let last = rejected.last {
            throw Failure(
                .partial, "the relay rejected \(rejected.count) (\(last.refusal?.reason ?? ""))")
        }
        try outcome.end(tool: "send")
    }

    private func noteOthers(_ outbox: Outbox, _ relay: RelayURL) throws {
        let elsewhere = try outbox.waitingElsewhere(relay: relay.outboxName)
        guard elsewhere > 0 else { return }
        Terminal.say("send: note: \(elsewhere) more wait in the outbox for other relays")
    }

    /// The failure of a run that left something in the outbox.
    private static func failure(_ ending: Delivery.Ending) -> Failure? {
        guard ending.left > 0 || ending.wasLocked else { return nil }
        let why =
            ending.wasLocked
            ? "another send holds the outbox"
            : ending.error?.message ?? "the relay does not take them now"
        let what = ending.left == 1 ? "1 envelope is" : "\(ending.left) envelopes are"
        return Failure(
            .tryAgain, "\(why); \(what) queued", hint: "the next send delivers what is queued")
    }
}

extension Output {
    /// Writes a record on a line of its own, and leaves it in the buffer.
    fileprivate func write(line record: JSONObject) throws(Failure) {
        try write(record.serialized() + [UInt8(ascii: "\n")])
    }
}
