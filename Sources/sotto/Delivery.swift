import Glibc
import SottoBytes
import SottoProgram

/// A pipe that ends in `send`. On a terminal it prints one line for people in place of the records of `send`.
struct Delivery {
    private var pipe: PipeRun
    private let names: any Recipients
    private let quiet: Bool

    /// Creates a delivery of a pipe to recipients that are known. If it is `quiet`, nothing is printed on a terminal.
    init(_ pipe: PipeRun, _ names: any Recipients, quiet: Bool) {
        (self.pipe, self.names, self.quiet) = (pipe, names, quiet)
    }

    /// Creates a delivery of the message records that a stage prints: `stage | encrypt | send`. `options` are for `encrypt`.
    init(
        _ stage: PipeRun.Stage, of identity: SharedIdentity, input: [UInt8]? = nil, quiet: Bool,
        encrypt options: [String] = []
    ) {
        let notes = quiet ? ["-q"] : []
        var pipe = identity.pipe([
            stage, PipeRun.Stage("encrypt", notes + options + identity.options),
            PipeRun.Stage("send", notes),
        ])
        pipe.input = input
        self.init(pipe, RecordedRecipients(of: identity), quiet: quiet)
    }

    private static let interrupted =
        "sotto: note: what was encrypted waits in the outbox, and the next send delivers it; to see it: sotto send --list"

    /// Runs the pipe. Ends with the status of its last stage that failed. If `needsRecipient`, it ends with 1 if the message was
    /// for no one. Then, and if an earlier stage failed, what `send` reports about older mail does not count.
    /// 75 means that the message waits in the outbox, so a stage that cannot work now gives 1. `printsResults` tells whether the records of `send` are printed if nothing failed.
    func run(needsRecipient: Bool = false, printsResults: Bool = true) throws {
        var pipe = pipe
        let isShown = Terminal.isTerminal(1)
        pipe.showsOutput = !isShown && !needsRecipient
        if isShown {
            // The line at the end names the recipients, so encrypt need not.
            pipe.relayed = "encrypt"
            let observer = names.observer
            pipe.observe = { [quiet] bytes in
                // The output of the first stage reaches the outbox before send connects.
                if !quiet { Terminal.sayIfInterrupted(Self.interrupted) }
                observer?(bytes)
            }
        }
        let result = try pipe.run()
        Terminal.sayIfInterrupted(nil)
        let summary = DeliverySummary(result.output)
        if !isShown, needsRecipient, printsResults || result.status != 0 {
            try Self.print { output throws(Failure) in try output.write(result.output) }
        }
        // A recipient whose message was not encrypted has no result of `send`.
        let isWhole = result.statuses.dropLast().allSatisfy { $0 == 0 }
        if isShown, !quiet, !result.isEmpty || isWhole,
            let line = summary.line(names.text, names.group, isWhole: isWhole)
        {
            try Self.print { output throws(Failure) in try output.writeText(line + "\n") }
        }
        // encrypt ends with 15 if no member of a group can get the message.
        let isFailed = ![ExitStatus.done, .partial].contains { $0.rawValue == result.status }
        let isForNoOne =
            result.isEmpty ? isWhole || !isFailed : !isFailed && !summary.hasRecipients
        if needsRecipient, isForNoOne {
            throw Failure(.no, quiet ? "" : "the message was sent to no one")
        }
        let isStored = !result.isEmpty || isWhole
        guard isStored || result.status != ExitStatus.tryAgain.rawValue else {
            throw Failure(.no, "")
        }
        try Self.end(result.status)
    }

    /// Prints after the sending.
    private static func print(_ write: (Output) throws(Failure) -> Void) throws(Failure) {
        do throws(Failure) {
            let output = try Output(path: "-", content: .text)
            try write(output)
            try output.finish()
        } catch {
            throw error.afterWork("the message was sent, or waits: sotto send --list")
        }
    }

    /// Ends with the status of a pipe, whose tools have printed their messages; returns for 0.
    static func end(_ status: Int32) throws {
        guard status != 0 else { return }
        // A stage that a signal ended has a status that no failure of this program has, and printed nothing.
        guard let known = ExitStatus(rawValue: status) else {
            if ![128 + SIGINT, 128 + SIGTERM, 128 + SIGPIPE].contains(status) {
                Terminal.say("sotto: error: a tool was ended by signal \(status - 128)")
            }
            exit(status)
        }
        throw Failure(known, "")
    }
}

/// The outcome of the envelopes and publications of a pipe, from the records of `send`.
struct DeliverySummary {
    private enum Place { case sent, queued, refused }

    private var places: [String: Place] = [:]
    /// The mailboxes that records name, without those of files, which are the sender's.
    private var recipients: Set<String> = []
    /// Whether a record names a recipient.
    var hasRecipients: Bool { !recipients.isEmpty }
    private var relay: String?
    private var reason: String?

    /// Reads the records. The last one about an id counts.
    init(_ output: [UInt8]) {
        for record in records(in: output) {
            guard record["type"]?.string == "result", let id = record["id"]?.string else {
                continue
            }
            // The id of a file is its name, 64 digits.
            if id.utf8.count < 64, let to = record["to"]?.string { recipients.insert(to) }
            relay = record["relay"]?.string ?? relay
            reason = record["reason"]?.string ?? reason
            places[id] =
                switch record["status"]?.string {
                case "stored", "duplicate", "accepted": .sent
                case "queued", "deferred": .queued
                default: .refused
                }
        }
    }

    /// Returns the line, or `nil` if nothing was to be sent. `names` are the recipients, if they are known. They are named only if
    /// the records are about all of them, which `isWhole` tells. For a message to one group, the members who get it are
    /// counted: others can get nothing.
    func line(
        _ names: @autoclosure () -> String?, _ group: @autoclosure () -> RecipientGroup?,
        isWhole: Bool
    ) -> String? {
        func count(_ place: Place) -> Int { places.values.count { $0 == place } }
        let (sent, queued, refused) = (count(.sent), count(.queued), count(.refused))
        let counts =
            [(sent, "sent"), (queued, "queued"), (refused, "refused")].filter { $0.0 > 0 }
            .map { "\($0) \($1)" }.joined(separator: ", ") + (reason.map { ": \($0)" } ?? "")
        switch (sent, queued, refused) {
        case (0, 0, 0): return nil
        case (_, 0, 0) where !hasRecipients:
            return "published" + (relay.map { " at \($0)" } ?? "")
        case (_, 0, 0):
            if let group = group() {
                return "sent to " + group.words(forMembers: recipients.count)
            }
            guard isWhole else { return counts }
            return "sent" + (names().map { " to \($0)" } ?? "")
        case (0, _, 0) where isWhole:
            return "queued" + (hasRecipients ? names().map { " for \($0)" } ?? "" : "")
                + (reason.map { ": \($0)" } ?? "")
        default: return counts
        }
    }
}
