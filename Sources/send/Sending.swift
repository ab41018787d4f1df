import Dispatch
import SottoBytes
import SottoClient
import SottoState
import SottoTool
import SottoWire

/// Sends the records of standard input and the stored ones.
struct Sending {
    /// The choice of the relay of each record.
    let relay: RelayChoice
    let lockTimeout: Double
    let form: SendForm

    func run() throws {
        let directory = try StateDirectory.standard()
        let outbox = try Outbox(directory: directory, lockTimeout: lockTimeout)
        let blobs = try BlobFolder(directory: directory)
        blobs.removeOld(except: try outbox.blobPaths(in: blobs))
        var report = try SendReport(form)
        let quiet = form.isQuiet
        let meter = TransferMeter(tool: SendTool.toolName, quiet: quiet)
        let deliveries = Deliveries(
            outbox: outbox, choice: relay, lockTimeout: lockTimeout, blobs: blobs
        ) { have, size, _ in
            meter.note(have, of: size)
        } solving: { relay in
            guard !quiet else { return }
            Terminal.say(
                "send: note: \(relay) gets many new ids now and asks for a proof of work, which takes some seconds"
            )
        }
        let lines = EnvelopeLines(deliveries: deliveries, choice: relay)
        DispatchQueue(label: "send.input").async { lines.read() }

        var outcome = LineOutcome(announcer: form.isText ? SendTool.toolName : nil)
        var lost = LostEnvelopes()
        func reportBadLines() throws {
            for result in lines.takePosted() {
                outcome.succeeded()
                try report.add(posted: result)
            }
            for (line, failure) in lines.takeFailures() {
                try report.print(outcome.failed(failure, line: line))
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
                try report.add(result)
            }
            try report.flush()
        }
        try reportBadLines()
        let left = endings.compactMap { Self.failure($0, report) }
        try report.finish(isComplete: left.last?.status != .tryAgain)
        if let failure = lines.inputFailure { throw failure }
        if !quiet { try noteOthers(outbox, deliveries.queues) }
        if !quiet { try noteUntrusted(outbox, endings) }
        for failure in left.dropLast() { Terminal.say("send: error: \(failure.message)") }
        if let failure = left.last { throw failure }
        if let failure = lost.failure { throw failure }
        try outcome.end(tool: "send")
    }

    /// Names the command that gives up what waits for a relay without a trusted key: its address may have been wrong.
    private func noteUntrusted(_ outbox: Outbox, _ endings: [Deliveries.Ending]) throws {
        let untrusted = endings.filter { end in
            switch end.ending.error {
            case .untrusted?, .otherKey?: true
            default: false
            }
        }.map(\.relay.description)
        guard !untrusted.isEmpty else { return }
        for queue in try outbox.queues() {
            guard let relay = try? RelayURL(queue.relay), untrusted.contains(relay.description)
            else { continue }
            Terminal.say(
                "send: note: if this relay is no longer used, give up what waits for it: sotto send --drop \(shellWord(queue.relay))"
            )
        }
    }

    private func noteOthers(_ outbox: Outbox, _ sent: Set<String>) throws {
        let others = try outbox.queues().filter { !sent.contains($0.relay) }
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
    private static func failure(_ end: Deliveries.Ending, _ report: SendReport) -> Failure? {
        let ending = end.ending
        if case .state? = ending.error, let failure = ending.error?.failure {
            return Failure(
                failure.status, "cannot send to \(end.relay): \(failure.message)",
                hint: failure.hint)
        }
        guard ending.left > 0 || ending.wasLocked else { return nil }
        let why =
            ending.wasLocked
            ? "another send holds the queue of \(end.relay)"
            : ending.error?.failure.message ?? report.reason(of: end.relay)
        // --relay with the same host and port sends the queue with another pin or authority.
        let hint =
            switch ending.error {
            case .untrusted?, .otherKey?, .certificates?, .noCertificates?:
                ending.error?.failure.hint
            default: "to try again: sotto send < /dev/null"
            }
        return Failure(
            .tryAgain, report.message(left: ending.left, because: why), hint: hint)
    }
}
