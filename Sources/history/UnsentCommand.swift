import Arguments
import Sotto
import SottoState
import SottoTool

/// `history unsent`: the own messages that reached no outbox.
struct UnsentCommand: Program {
    static let configuration = CommandConfiguration(
        name: "unsent",
        abstract: "Print the messages of the last 30 days that were encrypted here and not sent.",
        usage: "sotto history unsent [--all] [--text | --json] [-q] [WHO]",
        discussion: """
            A message is not sent if none of its envelopes reached the outbox of this home, for example because the pipe \
            to send was forgotten. The records are as they were stored, with edits and reactions by themselves. A message \
            that was encrypted less than a minute ago can still be on its way. \
            To send them: sotto history repeat WHO --send
            """)

    @Flag(
        "--all",
        help: "Also those whose envelopes were written to a file or encrypted with --elsewhere.")
    var all = false

    @OptionGroup var form: OutputForm

    @OptionGroup var options: HistoryOptions

    @Argument("who", help: "A contact, an id, me, or the name of a group. Default: all.")
    var who: String?

    func execute() throws {
        let history = try options.open()
        let conversation = try who.map { try history.conversation($0, for: .reading) }
        let entries = try history.unsent(in: conversation, handedOn: all)
        guard !entries.isEmpty else { throw history.nothing("all messages were sent") }
        let output = try Output(path: "-", content: .text)
        let showing = MessageShowing(
            history, output, text: form.isText, isMixed: conversation == nil)
        if form.isText {
            try showing.print(history.store.views(of: entries))
        } else {
            try showing.print(raw: entries)
        }
        try output.finish()
    }
}
