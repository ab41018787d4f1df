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
        /// The recipient has replied to it.
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
            sotto history wait ID --status stored|delivered|read [--timeout DURATION]
            sotto history wait ID --status answered [--any] [--timeout DURATION]
            """,
        discussion: """
            Prints the message, or the answer. The mail is received by another program, such as recv --follow | decrypt. \
            The statuses delivered and read need receipts, which are the other side's choice. An answer is a reply to \
            the message, or with --any the next message of the conversation. The exit status is 1 at the timeout, and \
            75 if nothing received mail meanwhile.
            """)

    @Option(
        "--status", value: "status", help: "What to wait for: stored, delivered, read or answered.")
    var status: Wanted = .stored

    @Flag("--any", help: "The next message of the conversation counts as an answer.")
    var any = false

    @Option(
        "--timeout", value: "duration",
        help: "Wait at most this long, such as 30s or 10m; off for no limit. Default: 10m.")
    var timeout: Lifetime?

    @OptionGroup var form: OutputForm

    @OptionGroup var options: HistoryOptions

    @Argument("id", help: "The own message: an id, the beginning of one, or a number.")
    var id: String

    func validate() throws {
        guard !any || status == .answered else {
            throw UsageError("--any requires --status answered")
        }
    }

    func execute() throws {
        let history = try options.open()
        let message = try history.message(id)
        guard message.direction == .sent, !message.isGone else {
            throw Failure(.usage, "\(id) is not a message of yours that is here")
        }
        let found = try wait(for: message, history)
        let output = try Output(path: "-", content: .text)
        try MessageShowing(history, output, text: form.isText, isMixed: true)
            .print(history.store.views(of: [found]))
        try output.finish()
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
                let failure = try ended(after: limit, since: start, history)
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
        guard let wanted = status.state else {
            return try answer(to: message, after: &last, history)
        }
        guard let present = try history.store.historyEntry(number: message.number) else {
            return nil
        }
        guard present.state != .failed else {
            throw Failure(.unavailable, "the relay did not accept the message")
        }
        let receipts = try history.store.views(of: [present])[0].receipts
        let states = [present.state] + receipts.map(\.status)
        let known = HistoryEntry.State.stored.rawValue...HistoryEntry.State.read.rawValue
        let isReached = states.contains {
            known.contains($0.rawValue) && $0.rawValue >= wanted.rawValue
        }
        return isReached ? present : nil
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
            entry.kind == .content, !entry.isImported, !entry.isSystem
        else { return false }
        let reply = entry.record["body"]?.object?["reply"]?.object?["id"]?.string
        return any || reply != nil && reply == message.id
    }

    /// Returns the failure at the timeout: with status 75 if the mail was not received meanwhile, else 1.
    private func ended(
        after limit: Int64, since start: Timestamp, _ history: OpenHistory
    ) throws -> Failure {
        let time = Lifetime(seconds: limit)
        let text =
            switch status {
            case .stored: "the relay did not store the message in \(time)"
            case .delivered, .read:
                "no receipt says in \(time) that the message was \(status.rawValue); receipts are the other side's choice"
            case .answered: "no answer came in \(time)"
            }
        let received = try history.store.preview { try $0.lastReceived() }
        guard status != .stored, received.map({ $0 < start }) ?? true else {
            return history.nothing(text)
        }
        return Failure(
            .tryAgain, text + "; no mail was received meanwhile",
            hint: "receive it: sotto recv | sotto decrypt")
    }
}
