import Arguments
import Sotto
import SottoDatabase
import SottoMessages
import SottoState
import SottoTool

/// `history wait`: waits until something is known of an own message.
struct WaitCommand: Program {
    /// The goal of the waiting.
    enum Wanted: String, CaseIterable, ExpressibleByArgument {
        /// The relay has the message.
        case stored
        /// A receipt says that the recipient has it.
        case delivered
        /// A receipt says that the recipient has read it.
        case read
        /// The recipient has replied to it, or reacted to it.
        case answered

        /// The lowest state of a message that has it, or `nil` for an answer.
        var state: HistoryEntry.State? {
            switch self {
            case .stored: .stored
            case .delivered: .delivered
            case .read: .read
            case .answered: nil
            }
        }
    }

    static let configuration = CommandConfiguration(
        name: "wait",
        abstract: "Wait until an own message is stored, delivered, read or answered.",
        usage: """
            sotto history wait ID ... [--status stored] [--timeout DURATION]
            sotto history wait ID ... --status delivered|read [--members N] [--timeout DURATION]
            sotto history wait ID ... --status answered [--any] [--timeout DURATION]
            """,
        discussion: """
            Prints the message, or the answer. The mail is received by another program, such as recv --follow | decrypt. \
            The statuses delivered and read need receipts, which are the other side's choice. An answer is a reply or a \
            reaction to the message, or with --any a message of the conversation that was written after it, by the clock \
            of its author. A message to a group is delivered or read when all its readers say so, or with --members so \
            many; the answer of one member is enough. Several ids are those of the results of send for one message. The \
            exit status is 1 at the timeout, and 75 if nothing received mail meanwhile.
            """)

    @Option(
        "--status", value: "status", help: "What to wait for: stored, delivered, read or answered.")
    var status: Wanted = .stored

    @Flag("--any", help: "A later message of the conversation counts as an answer.")
    var any = false

    @Option(
        "--members", value: "number",
        help: "In a group: so many readers are enough. Default: all.")
    var members: Int?

    @Option(
        "--timeout", value: "duration",
        help: "Wait at most this long, such as 30s or 10m; off for no limit. Default: 10m.")
    var timeout: Lifetime?

    @OptionGroup var form: OutputForm

    @OptionGroup var options: HistoryOptions

    @Argument(
        "id",
        help: "The own message: an id, the beginning of one, or a number; or the ids of its copies."
    )
    var ids: [String]

    func validate() throws {
        guard !any || status == .answered else {
            throw UsageError("--any requires --status answered")
        }
        guard members == nil || status == .delivered || status == .read else {
            throw UsageError("--members requires --status delivered or read")
        }
        guard members ?? 1 > 0 else { throw UsageError("--members must be at least 1") }
    }

    func execute() throws {
        let history = try options.open()
        let message = try message(history)
        guard message.direction == .sent, !message.isGone else {
            throw Failure(.usage, "\(ids[0]) is not a message of yours that is here")
        }
        if let members {
            guard let readers = message.readerCount else {
                throw Failure(
                    .usage, "--members is for a message to a group with receipts",
                    hint: "omit --members")
            }
            guard members <= readers else {
                throw Failure(.usage, "the message has only \(counted(readers, "reader"))")
            }
        }
        let found = try wait(for: message, history)
        let output = try Output(path: "-", content: .text)
        try MessageShowing(history, output, text: form.isText, isMixed: true)
            .print(history.store.views(of: [found]))
        try output.finish()
    }

    /// Returns the newest of the messages that the ids mean. The results of send also name envelopes without a message, such as
    /// one with a group's keys.
    private func message(_ history: OpenHistory) throws -> HistoryEntry {
        let found = try ids.map { id in try result { try history.message(id) } }
        let messages = found.compactMap { try? $0.get() }
        guard let newest = messages.max(by: { $0.number < $1.number }) else {
            return try found[0].get()
        }
        return newest
    }

    /// Waits. Returns the message as it is then, or the answer.
    private func wait(for message: HistoryEntry, _ history: OpenHistory) throws -> HistoryEntry {
        let (start, begun) = (Timestamp.now(), Monotonic.seconds())
        let limit = timeout?.seconds ?? 600
        let watch = history.store.watch()
        var last = message.number
        while true {
            try history.collectOutcomes()
            if let found = try look(for: message, after: &last, history) { return found }
            let left = limit == 0 ? 1 : Double(limit) - (Monotonic.seconds() - begun)
            guard left > 0 else {
                let failure = try ended(message, after: limit, since: start, history)
                throw failure
            }
            // The outbox is another file: its changes do not end the wait.
            try watch.wait(atMost: min(left, 1))
        }
    }

    /// Returns the message if it has the status, or the answer among the messages above `last`, or `nil`.
    private func look(
        for message: HistoryEntry, after last: inout Int64, _ history: OpenHistory
    ) throws -> HistoryEntry? {
        guard let present = try history.store.historyEntry(number: message.number) else {
            return nil
        }
        // A message that is on its way again may still arrive.
        if let reason = present.state.failureReason, try history.departures(of: [present]).isEmpty {
            throw Failure(.unavailable, "the message was not sent: \(reason.words)")
        }
        guard let wanted = status.state else {
            return try answer(to: message, after: &last, history)
        }
        let known = HistoryEntry.State.stored.rawValue...HistoryEntry.State.read.rawValue
        func isReached(_ state: HistoryEntry.State) -> Bool {
            known.contains(state.rawValue) && state.rawValue >= wanted.rawValue
        }
        // The state of a message to a group is the least one of its readers.
        if isReached(present.state) { return present }
        guard let enough = message.conversation.group == nil ? 1 : members else { return nil }
        let receipts = try history.store.views(of: [present])[0].receipts
        return receipts.count { isReached($0.status) } >= enough ? present : nil
    }

    private func answer(
        to message: HistoryEntry, after last: inout Int64, _ history: OpenHistory
    ) throws -> HistoryEntry? {
        while true {
            let new = try history.store.history(after: last, limit: 256)
            guard let end = new.last else { return nil }
            last = end.number
            if let found = new.first(where: { isAnswer($0, to: message) }) { return found }
        }
    }

    private func isAnswer(_ entry: HistoryEntry, to message: HistoryEntry) -> Bool {
        guard entry.conversation == message.conversation, entry.direction == .received,
            !entry.isImported, !entry.isSystem, let id = message.id
        else { return false }
        // Mail that waited at the relay arrives later than it was written.
        let isEarlier =
            if let time = entry.time, let sent = message.time { time < sent } else { false }
        if entry.kind == .event, case .reaction(let target, let emoji)? = entry.body?.kind {
            return target.id == id && !emoji.isEmpty
        }
        let reply = entry.record["body"]?.object?["reply"]?.object?["id"]?.string
        return entry.kind == .content && (any && !isEarlier || reply == id)
    }

    /// Returns the failure at the timeout: with status 75 if the mail was not received meanwhile, else 1.
    private func ended(
        _ message: HistoryEntry, after limit: Int64, since start: Timestamp, _ history: OpenHistory
    ) throws -> Failure {
        let state = try history.store.historyEntry(number: message.number)?.state
        let time = Lifetime(seconds: limit)
        let text =
            switch status {
            case .stored where state == .handedOn:
                "the message was handed on, so nothing tells whether it was stored"
            case .stored: "the relay did not store the message in \(time)"
            case .delivered, .read:
                "no receipt says in \(time) that the message was \(status.rawValue); receipts are the other side's choice"
            case .answered: "no answer came in \(time)"
            }
        guard try status != .stored && !history.store.hasReceived(since: start) else {
            return history.nothing(text)
        }
        return Failure(
            .tryAgain, text + "; no mail was received meanwhile",
            hint: "receive it: sotto recv | sotto decrypt")
    }
}
