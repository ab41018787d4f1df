import Sotto
import SottoContacts
import SottoState
import SottoTool

/// `--again`: prints messages from the state that were opened before, with the current trust of their senders.
///
/// Messages of blocked senders, and those that `--from` and `--trust` refuse, are left out.
struct StoredMessages {
    let plan: ReadingPlan
    /// The messages after this one; `nil` for all.
    let since: IdentityStore.Since?
    /// The maximum number of messages that are read at once.
    private static let batchSize = 256

    func run() throws {
        let book = plan.book()
        let senderPolicy = try plan.senderPolicy(book, owner: book.identity())
        guard let store = try book.store() else { throw Failure(.no, "") }
        let output = try Output(path: plan.output, content: .text)
        let printer = MessagePrinter(
            output: output, tool: plan.tool, form: plan.form, identity: plan.identity,
            quiet: plan.quiet)
        var last: Int64 = 0
        var count = 0
        while true {
            let messages = try store.opened(
                since: since ?? .number(0), after: last, limit: Self.batchSize)
            guard let end = messages.last else { break }
            last = end.number
            count += try store.preview { transaction in
                try messages.reduce(0) { count, message in
                    try count + (print(message, senderPolicy, printer, transaction) ? 1 : 0)
                }
            }
            if !output.isFile { try output.flush() }
        }
        guard count > 0 else { throw Failure(.no, "") }
        try output.finish()
    }

    /// Prints a message if its sender is accepted. Returns whether it was printed.
    private func print(
        _ opened: IdentityStore.OpenedMessage, _ senderPolicy: SenderPolicy,
        _ printer: MessagePrinter,
        _ transaction: StateTransaction
    ) throws -> Bool {
        do {
            let (message, verdict) = try senderPolicy.recall(opened.record, transaction)
            guard verdict == .accepted else { return false }
            try printer.print(message, number: opened.number, seen: true)
            return true
        } catch let failure as Failure where failure.status == .untrusted {
            return false
        }
    }
}
