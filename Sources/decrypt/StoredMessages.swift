import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool

/// `--again`: prints messages from the state that were opened before, with the current trust of their senders.
///
/// Messages of blocked senders, and those that `--from` and `--trust` refuse, are left out.
struct StoredMessages {
    let plan: ReadingPlan
    /// The messages after this one; `nil` for all.
    let since: IdentityStore.Point?
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
            let accepted = try store.preview { transaction in
                try messages.compactMap { try accept($0, senderPolicy, transaction) }
            }
            for (message, number) in accepted {
                try printer.print(message, number: number, seen: true, store)
            }
            count += accepted.count
            if !output.isFile { try output.flush() }
        }
        guard count > 0 else { throw Failure(.no, "") }
        try output.finish()
    }

    /// Returns a message with the current trust of its sender, and its number, or `nil` if it was not opened, or the sender is not
    /// accepted.
    private func accept(
        _ opened: IdentityStore.OpenedMessage, _ senderPolicy: SenderPolicy,
        _ transaction: StateTransaction
    ) throws -> (Message, Int64)? {
        guard !opened.isSystem else { return nil }
        do {
            let (message, verdict) = try senderPolicy.recall(opened.record, transaction)
            return verdict == .accepted ? (message, opened.number) : nil
        } catch let failure as Failure where failure.status == .untrusted {
            return nil
        }
    }
}
