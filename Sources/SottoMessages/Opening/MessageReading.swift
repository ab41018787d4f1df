package import SottoContacts
package import Sotto
import SottoState
package import SottoTool

/// The settings with which a tool reads messages.
package struct ReadingPlan {
    /// The tool's name in messages.
    package let tool: String
    package let form: MessageForm
    package let identity: IdentityChoice
    /// The cards and contacts of which one must have signed; all are accepted if it is empty.
    package let from: [String]
    /// The senders whose messages are printed; `nil` for the default.
    let trust: TrustPolicy?
    package let preview: Bool
    package let stateless: Bool
    /// Whether a message without an authenticated sender counts as success.
    package let takesUnproven: Bool
    package let quiet: Bool
    package let lockTimeout: Double
    package let output: String?
    /// The file that gets receipts for the opened messages, or `nil`.
    package let receipts: String?

    package init(
        tool: String, form: MessageForm, identity: IdentityChoice, from: [String],
        trust: TrustPolicy?, preview: Bool, stateless: Bool, takesUnproven: Bool = false,
        quiet: Bool,
        lockTimeout: Double, output: String?, receipts: String? = nil
    ) {
        self.tool = tool
        self.form = form
        self.identity = identity
        self.from = from
        self.trust = trust
        self.preview = preview
        self.stateless = stateless
        self.takesUnproven = takesUnproven
        self.quiet = quiet
        self.lockTimeout = lockTimeout
        self.output = output
        self.receipts = receipts
    }

    /// The address book of the identity; without a state it has no contacts.
    package func book(accounts: any ContactAccounts = OpaqueAccounts()) -> AddressBook {
        AddressBook(
            identity.load, lockTimeout: stateless ? nil : lockTimeout, accounts: accounts)
    }

    /// Returns the identity; `nil` if none exists and the chats are sufficient.
    package func owner(_ book: AddressBook, hasChats: Bool) throws -> Identity? {
        do {
            return try book.identity()
        } catch let failure as Failure
            where failure.status == .noInput && hasChats && !identity.isGiven
        {
            return nil
        }
    }

    /// Returns the policy for the senders of messages.
    package func senderPolicy(_ book: AddressBook, owner: Identity?) throws -> SenderPolicy {
        SenderPolicy(owner: owner?.id, signers: try DemandedSigners(from, book), policy: trust)
    }
}

/// Reads messages, one per line, and prints message records.
///
/// All available lines are opened in one transaction, which stores the steps of their sessions, the opened messages and
/// the end of their inbox entries. Only then are they printed. For an envelope that was opened before, its record is
/// printed again, with `"seen":true`.
package struct MessageReading<Lines: MessageInput> {
    private let plan: ReadingPlan
    private let store: IdentityStore?
    private let lines: Lines
    private let opening: MessageOpening<Lines>
    private let output: Output
    private let printer: MessagePrinter
    private let receipts: Output?
    /// The tool's name if failures are reported immediately, because text output does not show them.
    private let announcer: String?
    private let source: any ByteSource
    /// The threads besides the calling one.
    private let pool = ThreadPool(beforeWaiting: FreedMemory.wipeCache)

    /// The number of lines that a thread parses or serializes at a time.
    private static var slice: Int { 256 }

    /// `source` are the bytes of `input`, and `lines` parses them.
    package init(
        _ plan: ReadingPlan, _ lines: Lines, book: AddressBook, owner: Identity?, chats: [Chat],
        senderPolicy: SenderPolicy, input: Input, source: any ByteSource
    ) throws {
        self.plan = plan
        self.lines = lines
        opening = MessageOpening(
            lines, identity: owner, chats: chats, senderPolicy: senderPolicy,
            isPreview: plan.preview)
        output = try Output(path: plan.output, content: .text, inputs: [input])
        printer = MessagePrinter(
            output: output, tool: plan.tool, form: plan.form, identity: plan.identity,
            quiet: plan.quiet)
        receipts = try plan.receipts.map { try Output(appendingTo: $0) }
        announcer = plan.form.isText || plan.form.isOfEvents ? plan.tool : nil
        self.source = source
        if plan.stateless || owner == nil {
            store = nil
        } else if plan.preview {
            store = try book.store()
        } else {
            store = try book.writableStore()
        }
    }

    /// Reads the lines. The threads parse a batch while the batch before it is opened.
    package func run() throws {
        var outcome = LineOutcome(announcer: announcer)
        var printed: [String] = []
        try LineBatches.read(
            source, begin: parse,
            process: { try process(results(of: $0), &outcome, &printed) })
        try takeFetchedFiles(&outcome)
        // An output file that would contain only failures is not created.
        if output.isFile, !outcome.hasSucceeded, let failure = outcome.failure { throw failure }
        try output.finish()
        try store?.finish(printed)
        try outcome.end(tool: plan.tool)
        if plan.form.isOfEvents, !printer.hasPrinted { throw Failure(.no, "") }
    }

    /// The lines of a batch. White space has no result.
    private enum ParsedLines {
        case started(ThreadPool.StartedMap<InputLine, Result<ReadLine<Lines.Content>?, any Error>>)
        /// Lines that the calling thread parses in their turn.
        case waiting([InputLine])
    }

    private func parse(_ batch: [InputLine]) -> ParsedLines {
        guard let parser = lines.parser else { return .waiting(batch) }
        return .started(
            pool.started(batch, slice: Self.slice, later: true) { slice in
                slice.map { line in Result { try Self.read(line, parser) } }
            })
    }

    private func results(of batch: ParsedLines) throws -> [ReadLine<Lines.Content>] {
        switch batch {
        case .started(let batch): try batch.results().compactMap { try $0.get() }
        case .waiting(let batch):
            try batch.flatMap { line in
                try records(in: line).compactMap { try Self.read($0, lines.read) }
            }
        }
    }

    /// Returns a line, or the records in it, with its number.
    private func records(in raw: InputLine) -> [InputLine] {
        guard case .line(let bytes) = raw.line, let records = lines.records(ofLine: bytes) else {
            return [raw]
        }
        return records.map { InputLine(line: .line($0), number: raw.number) }
    }

    private static func read(
        _ raw: InputLine, _ parse: ([UInt8]) throws -> Lines.Parsed?
    ) throws -> ReadLine<Lines.Content>? {
        guard case .line(let bytes) = raw.line else {
            let failure = Failure(
                .malformed, "the line is longer than \(LineBatches.lineLimit) bytes")
            return ReadLine(number: raw.number, bytes: [], content: .failure(failure), id: nil)
        }
        do {
            guard let line = try parse(bytes) else { return nil }
            return ReadLine(number: raw.number, bytes: bytes, content: line.content, id: line.id)
        } catch {
            guard let failure = (error as? Failure) ?? Failure(core: error) else { throw error }
            return ReadLine(number: raw.number, bytes: bytes, content: .failure(failure), id: nil)
        }
    }

    /// Opens a batch and the early envelopes that waited for it, prints them, and deletes the printed ones from the
    /// inbox.
    private func process(
        _ batch: [ReadLine<Lines.Content>], _ outcome: inout LineOutcome, _ printed: inout [String]
    ) throws {
        guard !batch.isEmpty else { return }
        let results: [OpenedLine]
        var late: [OpenedLine] = []
        var forks: [GroupFork] = []
        var waitsForChanges = false
        var isBehind = false
        if let store {
            var done: [String] = []
            let work: (StateTransaction) throws -> [OpenedLine] = { transaction in
                if plan.preview { opening.beginPreview(transaction) }
                let results = try opening.open(batch, pool, transaction, &done)
                if !plan.preview {
                    late = opening.takeRepeated()
                    late += try opening.openReachable(transaction, &done)
                    late += try opening.openHeld(transaction)
                    late += opening.takeRepeated()
                    forks = transaction.takeForks()
                    waitsForChanges = transaction.takeWaitForChanges()
                    isBehind = transaction.takeFoundBehind()
                }
                return results
            }
            results = try plan.preview ? store.preview(work) : store.transaction(work)
            printed += done
        } else {
            results = try opening.open(batch, pool)
        }
        let records = try serialized(results)
        for (place, (line, result)) in zip(batch, results).enumerated() {
            try print(result, ofLine: line.number, records?[place], &outcome)
        }
        for result in late { try print(result, ofLine: 0, nil, &outcome) }
        for fork in forks { outcome.doubted(.fork(by: fork.device.short + "…"), line: 0) }
        if waitsForChanges { printer.noteWaitForChanges() }
        if isBehind { printer.noteBehind() }
        outcome.endBatch()
        try lines.finish(batch, results)
        if !output.isFile {
            try output.flush()
            try store?.finish(printed)
            printed.removeAll()
        }
        try writeReceipts(results + late)
        try markShown()
    }

    /// Marks the messages as read that a terminal has shown to their end.
    private func markShown() throws {
        let messages = printer.takeShown()
        guard let store, !plan.preview, !messages.isEmpty else { return }
        try output.flush()
        var shown = ShownMessages()
        for (message, number) in messages {
            shown.add(number, in: Conversation(of: message, owner: store.owner.id))
        }
        try printer.noteReceipts(in: shown.mark(in: store, receipts: receipts), store)
    }

    /// Takes the changes in the files that `recv` fetched, opens the messages that waited for them, and prints the events and
    /// the messages.
    private func takeFetchedFiles(_ outcome: inout LineOutcome) throws {
        guard let store, !plan.preview else { return }
        var lines: [OpenedLine] = []
        try store.takeFetchedFiles { news, sender, transaction in
            lines += try opening.lines(of: news, from: sender, transaction)
            lines += opening.takeRepeated()
        }
        guard !lines.isEmpty else { return }
        for line in lines { try print(line, ofLine: 0, nil, &outcome) }
        outcome.endBatch()
        try writeReceipts(lines)
        try markShown()
    }

    /// Appends receipts for the messages of a committed batch that were opened for the first time. If the program ends
    /// before this, their receipts are missing; no receipt is written for a message that is not in the state.
    private func writeReceipts(_ results: [OpenedLine]) throws {
        guard let receipts, let store else { return }
        var due = Receipts(.delivered, store)
        for case .message(let message, number: _?, seen: false) in results {
            try due.add(message)
        }
        for message in due.messages { try receipts.writeRecord(message.record) }
        try receipts.flush()
    }

    /// Returns the serialized records of messages, which the threads make, or `nil` if texts are printed.
    private func serialized(_ results: [OpenedLine]) throws -> [[UInt8]?]? {
        guard printer.printsRecords else { return nil }
        let known = try results.map {
            (result: $0, quotation: try quotation(of: $0), rings: rings($0))
        }
        return pool.started(known, slice: Self.slice) { slice in
            slice.map { result, quotation, rings in
                guard case .message(let message, let number, let seen) = result else { return nil }
                return MessagePrinter.record(
                    message, number: number, seen: seen, quotation: quotation, rings: rings
                ).serialized()
            }
        }.results()
    }

    /// Whether a result is the offer of a call that came in time.
    private func rings(_ result: OpenedLine) -> Bool {
        guard case .message(_, let number?, seen: false) = result else { return false }
        return opening.ringing.contains(number)
    }

    /// Compares the quoted text of a reply with the history. Returns `nil` for another message, and without a state.
    private func quotation(of result: OpenedLine) throws -> String? {
        guard let store, case .message(let message, _, _) = result else { return nil }
        return try Quotation.name(of: message, store)
    }

    /// Prints a result. `record` is the serialized record of a message if it was made before.
    private func print(
        _ result: OpenedLine, ofLine line: Int, _ record: [UInt8]?, _ outcome: inout LineOutcome
    ) throws {
        switch result {
        case .message(let message, let number, let seen):
            if let record {
                try printer.print(record, of: message, number: number, seen: seen)
            } else {
                try printer.print(
                    message, number: number, seen: seen, rings: rings(result), store)
            }
            if message.isUnproven, !plan.takesUnproven {
                if announcer != nil { try output.flush() }
                outcome.doubted(.unproven, line: line)
            } else if !seen, let doubt = message.groupDoubt {
                if announcer != nil { try output.flush() }
                outcome.doubted(doubt, line: line)
            } else {
                outcome.succeeded()
            }
        case .request(let request):
            outcome.succeeded()
            try printer.print(request)
        case .dropped: outcome.succeeded()
        case .record(let record):
            outcome.succeeded()
            try printer.print(record)
        case .failed(let failure, let id, _, let claimed):
            // The report of a failed line follows the texts before it.
            if announcer != nil { try output.flush() }
            try printer.print(
                error: outcome.failed(
                    failure, line: line, id: id, claimedFrom: claimed?.description))
        }
    }
}

extension Failure {
    fileprivate static let unproven = Failure(
        .untrusted, "printed, but the sender is not authenticated",
        hint: "use --allow-unverified to accept such messages")
}
