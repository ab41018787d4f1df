import Arguments
import Sotto
import SottoMessages
import SottoState
import SottoTool

/// `history keep`: how long messages are kept.
struct KeepCommand: Program {
    static let configuration = CommandConfiguration(
        name: "keep",
        abstract: "Show or set how long messages are kept here.",
        usage: """
            sotto history keep [--text | --json]
            sotto history keep DURATION|forever [WHO]
            """,
        discussion: """
            DURATION is a number with s, m, h, d or w, from 1d to 3650d. Older messages are erased, read or not; others keep \
            their copies. Messages are erased by the clock of the last earlier day on which the state was used, so \
            that a wrong clock erases nothing.
            """)

    @OptionGroup var form: OutputForm

    @OptionGroup var options: HistoryOptions

    @Argument("duration", help: "Such as 90d; or forever.")
    var duration: String?

    @Argument("who", help: "The conversation. Default: all without a duration.")
    var who: String?

    func validate() throws {
        guard let duration else { return }
        guard duration == "forever" || Self.seconds(duration) != nil else {
            throw UsageError("\(duration) is not a duration from 1d to 3650d, or forever")
        }
        guard !form.text, !form.json else {
            throw UsageError("--text and --json are only for the list of durations")
        }
    }

    func execute() throws {
        let history = try options.open()
        guard let duration else { return try show(history) }
        let conversation = try who.map { try history.conversation($0, for: .acting) }
        try history.store.transaction {
            try $0.keep(conversation, seconds: Self.seconds(duration))
        }
    }

    private func show(_ history: OpenHistory) throws {
        let output = try Output(path: "-", content: .text)
        var table = Table()
        for retention in try history.store.retentions() {
            let name = try retention.conversation.flatMap { try history.store.summary(of: $0) }
                .map { try history.name(of: $0) }
            if form.isText {
                let shown = retention.seconds.map { "\(Lifetime(seconds: $0))" } ?? "forever"
                table.add([name ?? "all", shown])
                continue
            }
            try output.writeRecord(retention.record(name: name))
        }
        if form.isText { try output.writeText(table.text) }
        try output.finish()
    }
}

extension KeepCommand {
    /// Returns the seconds of a duration, or `nil` for `forever` and for a text that is not one.
    fileprivate static func seconds(_ duration: String) -> Int64? {
        TimeSpan.seconds(duration, in: IdentityStore.shortestRetention...3_650 * 86_400)
    }
}
