import Arguments
import Dispatch
import Sotto
import SottoClient
import SottoState
import SottoTool
import SottoWire

/// `send`: sends envelopes from stdin to their relays, through an outbox that survives a crash.
@main
struct SendTool: CoreProgram {
    static let configuration = CommandConfiguration(
        name: "send",
        abstract: "Send envelopes to their relays.",
        usage: """
            send [--relay URL] [--ca FILE] [--lock-timeout SECONDS] [--quiet]
            send --list [--json]
            send --drop ID ...
            """,
        discussion: """
            Reads envelopes, publications of prekeys, cards and records of rooms, one per line, and prints a result record for each. An envelope is stored on disk \
            before it is sent, unless its time to live is 0. It is sent to the relay on the recipient's card, which encrypt writes on its line. While a relay cannot be \
            reached, send exits with 75 and stores the envelope; the next send to that relay delivers the stored ones in order. With an empty \
            input, send delivers the stored envelopes for every relay.

            EXAMPLES
              echo 'hello, bob' | encrypt --to bob | send
              echo 'hello, bob' | encrypt --to bob.card | send --relay tcp://127.0.0.1:7667
              send < /dev/null     # deliver the stored envelopes
              send --list
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

    @Flag("--list", help: "List the outbox for each relay, and send nothing.")
    var list = false

    @Flag("--json", help: "With --list: print records, one per line.")
    var json = false

    @Option(
        "--drop", value: "id",
        help: "Delete the items with this id from the outbox, and send nothing; may be repeated.")
    var drop: [String] = []

    @OptionGroup var lock: LockOptions

    @Flag("-q", "--quiet", help: "Print no notes on stderr.")
    var quiet = false

    func validate() throws {
        guard !json || list else { throw UsageError("--json requires --list") }
        guard !list || drop.isEmpty else {
            throw UsageError("--list and --drop cannot be combined")
        }
        guard !list && drop.isEmpty || relay == nil && ca == nil else {
            throw UsageError("--list and --drop need no relay")
        }
    }

    func execute() throws {
        let choice = try RelayChoice(relay, authorities: ca)
        let directory = try StateDirectory.standard()
        let outbox = try Outbox(directory: directory, lockTimeout: lock.timeout)
        if list { return try OutboxReport(outbox).list(json: json) }
        let blobs = try BlobFolder(directory: directory)
        if !drop.isEmpty { return try OutboxReport(outbox).drop(drop, blobs) }
        blobs.removeOld(except: try outbox.blobPaths(in: blobs))
        try send(outbox, blobs, choice)
    }

    private func send(_ outbox: Outbox, _ blobs: BlobFolder, _ choice: RelayChoice) throws {
        let output = try Output(path: nil, content: .text)
        let meter = TransferMeter(tool: Self.toolName, quiet: quiet)
        let deliveries = Deliveries(
            outbox: outbox, choice: choice, lockTimeout: lock.timeout, blobs: blobs
        ) { have, size, _ in meter.note(have, of: size) }
        let lines = EnvelopeLines(deliveries: deliveries, choice: choice)
        DispatchQueue(label: "send.input").async { lines.read() }

        var outcome = LineOutcome()
        var lost = LostEnvelopes()
        func reportBadLines() throws {
            for (line, failure) in lines.takeFailures() {
                try output.writeRecord(outcome.failed(failure, line: line))
            }
        }
        let endings = try deliveries.run { results in
            try reportBadLines()
            meter.clear()
            for result in results {
                switch result.status {
                case .stored, .duplicate, .accepted: outcome.succeeded()
                case .rejected, .dropped, .expired, .unknown: lost.add(result)
                case .queued, .deferred: break
                }
                try output.writeRecord(result.record)
            }
            try output.flush()
        }
        try reportBadLines()
        try output.finish()
        if let failure = lines.inputFailure { throw failure }
        if !quiet { try noteOthers(outbox, deliveries.relays) }
        let left = endings.compactMap(Self.failure)
        for failure in left.dropLast() { Terminal.say("send: error: \(failure.message)") }
        if let failure = left.last { throw failure }
        if let failure = lost.failure { throw failure }
        try outcome.end(tool: "send")
    }

    private func noteOthers(_ outbox: Outbox, _ relays: Set<String>) throws {
        let others = try outbox.queues().filter { !relays.contains($0.relay) }
        let (queues, unassigned) = (
            others.filter { !$0.relay.isEmpty },
            others.filter(\.relay.isEmpty).map(\.count).reduce(0, +)
        )
        if unassigned > 0 {
            Terminal.say(
                "send: note: \(unassigned) \(unassigned == 1 ? "waits" : "wait") in the outbox without a relay: sotto send --relay tcp://host:port < /dev/null"
            )
        }
        let count = queues.map(\.count).reduce(0, +)
        guard count > 0 else { return }
        Terminal.say(
            "send: note: \(count) more \(count == 1 ? "waits" : "wait") in the outbox for other relays: sotto send --list"
        )
    }

    /// Returns the failure of a delivery that left items in the outbox.
    private static func failure(_ end: Deliveries.Ending) -> Failure? {
        let ending = end.ending
        guard ending.left > 0 || ending.wasLocked else { return nil }
        let why =
            ending.wasLocked
            ? "another send holds the queue of \(end.relay)"
            : ending.error?.message ?? "\(end.relay) does not accept them now"
        let what = ending.left == 1 ? "1 envelope is" : "\(ending.left) envelopes are"
        // The queue belongs to the relay's host and port, so a different pin or authority can be used for it.
        let hint =
            switch ending.error {
            case .untrusted?:
                "for the next attempt give its authority with --ca, or append the pin that the relay prints to --relay"
            case .otherKey?, .certificates?: ending.error?.hint
            default: "to try again: sotto send < /dev/null"
            }
        return Failure(.tryAgain, "\(why); \(what) queued", hint: hint)
    }
}

/// Envelopes that left the outbox without a confirmation that a relay stored them.
private struct LostEnvelopes {
    private var counts: [DeliveryResult.Status: Int] = [:]
    private var unsentSignals = 0
    private var reason = ""

    mutating func add(_ result: DeliveryResult) {
        guard !result.isSignal || result.status != .dropped else {
            unsentSignals += 1
            return
        }
        counts[result.status, default: 0] += 1
        if let refusal = result.refusal { reason = refusal.reason }
    }

    var failure: Failure? {
        var parts: [String] = []
        if let count = counts[.rejected] { parts.append("the relay rejected \(count) (\(reason))") }
        if let count = counts[.dropped] { parts.append("\(count) dropped from the outbox") }
        if let count = counts[.expired] {
            parts.append("the time to live of \(count) ended in the outbox")
        }
        if let count = counts[.unknown] {
            parts.append("it is unknown whether the relay stored \(count)")
        }
        if unsentSignals > 0 {
            parts.append("\(unsentSignals) with a time to live of 0 not sent")
        }
        guard !parts.isEmpty else { return nil }
        return Failure(
            .partial, parts.joined(separator: "; "),
            hint: counts[.unknown] == nil
                ? nil
                : "another version of send handled them; ask the recipient whether they arrived")
    }
}
