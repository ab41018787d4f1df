import Sotto
import SottoContacts
import SottoState
import SottoTool

/// Decrypts envelopes and other messengers' records to message records, one per line.
///
/// All available lines are opened in one transaction, which stores the steps of their sessions, the opened messages and
/// the end of their inbox entries. Only then are they printed. For an envelope that was opened before, its record is
/// printed again, with `"seen":true`.
struct MessageDecryption {
    private let store: IdentityStore?
    private let opening: MessageOpening
    private let isPreview: Bool
    private let output: Output
    private let printer: MessagePrinter
    /// The tool's name if failures are reported immediately, because text output does not show them.
    private let announcer: String?
    private let source: any ByteSource
    /// The suite of records that do not name one.
    private let suite: Suite?
    private let takesUnproven: Bool
    private let readsOwnCopies: Bool
    private let acknowledgements: Acknowledgements?

    /// The maximum length of a line in bytes: more than the largest envelope that a relay accepts.
    private static let lineLimit = 1 << 20
    /// The maximum number of lines, and of their bytes, in a transaction.
    private static let batchSize = 4_096
    private static let batchBytes = 4 << 20

    init(tool: DecryptTool, input: Input, source: any ByteSource) throws {
        let book = AddressBook(tool.identity.load, lockTimeout: tool.lock.timeout)
        let chats = try tool.other.chat.map { try ChatFile.read($0) }
        let identity = try Self.identity(book, tool, isNeeded: chats.isEmpty)
        let senderPolicy = SenderPolicy(
            owner: identity?.id, signers: try DemandedSigners(tool.from, book),
            policy: tool.trust)
        opening = MessageOpening(
            identity: identity, chats: chats, options: tool.other.options,
            senderPolicy: senderPolicy,
            isPreview: tool.preview)
        output = try Output(path: tool.output, content: .text, inputs: [input])
        printer = MessagePrinter(output: output, tool: tool)
        announcer = tool.text ? DecryptTool.toolName : nil
        self.source = source
        isPreview = tool.preview
        suite = tool.other.suite
        readsOwnCopies = tool.other.ownCopy
        takesUnproven = tool.other.allowUnverified
        acknowledgements = try tool.other.ack.map { try Acknowledgements(path: $0) }
        if tool.stateless || identity == nil {
            store = nil
        } else if tool.preview {
            store = try book.store()
        } else {
            store = try book.writableStore()
        }
    }

    /// Returns the identity; `nil` if none exists and the chats are sufficient.
    private static func identity(
        _ book: AddressBook, _ tool: DecryptTool, isNeeded: Bool
    ) throws -> Identity? {
        do {
            return try book.identity()
        } catch let failure as Failure
            where failure.status == .noInput && !isNeeded && !tool.identity.isGiven
        {
            return nil
        }
    }

    func run() throws {
        var lines = LineReader(source, limit: Self.lineLimit)
        var outcome = LineOutcome(announcer: announcer)
        var batch: [ReadLine] = []
        var printed: [String] = []
        var bytes = 0
        while let line = try lines.next() {
            if let read = try read(line, number: lines.number) { batch.append(read) }
            if case .line(let line) = line { bytes += line.count }
            if try lines.mustWait() || batch.count == Self.batchSize || bytes >= Self.batchBytes {
                try process(batch, &outcome, &printed)
                batch.removeAll()
                bytes = 0
            }
        }
        try process(batch, &outcome, &printed)
        // An output file that would contain only failures is not created.
        if output.isFile, !outcome.hasSucceeded, let failure = outcome.failure { throw failure }
        try output.finish()
        try store?.finish(printed)
        try outcome.end(tool: DecryptTool.toolName)
    }

    private func read(_ line: LineReader.Line, number: Int) throws -> ReadLine? {
        guard case .line(let bytes) = line else {
            let failure = Failure(
                .malformed, "the line is longer than \(Self.lineLimit) bytes")
            return ReadLine(number: number, bytes: [], content: .failure(failure), id: nil)
        }
        if readsOwnCopies {
            guard let content = MessageLine.readOwnCopy(bytes) else { return nil }
            return ReadLine(number: number, bytes: bytes, content: content, id: nil)
        }
        do {
            guard let line = try MessageLine.read(bytes, suite: suite) else { return nil }
            return ReadLine(
                number: number, bytes: bytes, content: line.content, id: line.id, flow: line.flow)
        } catch {
            guard let failure = (error as? Failure) ?? Failure(core: error) else { throw error }
            return ReadLine(number: number, bytes: bytes, content: .failure(failure), id: nil)
        }
    }

    /// Opens a batch and the early envelopes that waited for it, prints them, and deletes the printed ones from the
    /// inbox.
    private func process(
        _ batch: [ReadLine], _ outcome: inout LineOutcome, _ printed: inout [String]
    ) throws {
        guard !batch.isEmpty else { return }
        try opening.prepare(batch, store)
        let results: [OpenedLine]
        var late: [OpenedLine] = []
        if let store {
            var done: [String] = []
            let work: (StateTransaction) throws -> [OpenedLine] = { transaction in
                let results = try batch.map { try opening.open($0, transaction, &done) }
                if !isPreview { late = try opening.openReachable(transaction, &done) }
                return results
            }
            results = try isPreview ? store.preview(work) : store.transaction(work)
            printed += done
        } else {
            results = try batch.map { try opening.open($0) }
        }
        for (line, result) in zip(batch, results) {
            try print(result, ofLine: line.number, &outcome)
        }
        for result in late { try print(result, ofLine: 0, &outcome) }
        outcome.endBatch()
        try acknowledge(batch, results)
        if !output.isFile {
            try output.flush()
            try store?.finish(printed)
            printed.removeAll()
        }
    }

    private func print(
        _ result: OpenedLine, ofLine line: Int, _ outcome: inout LineOutcome
    ) throws {
        switch result {
        case .message(let message, let number, let seen):
            try printer.print(message, number: number, seen: seen)
            if message.isUnproven, !takesUnproven {
                if announcer != nil { try output.flush() }
                outcome.doubted(.unproven, line: line)
            } else {
                outcome.succeeded()
            }
        case .request(let envelope, let sender):
            outcome.succeeded()
            try printer.print(requestOf: envelope, from: sender)
        case .dropped: outcome.succeeded()
        case .record(let record):
            outcome.succeeded()
            try printer.print(record)
        case .failed(let failure, let id, _):
            // The report of a failed line follows the texts before it.
            if announcer != nil { try output.flush() }
            try printer.print(error: outcome.failed(failure, line: line, id: id))
        }
    }

    /// Writes acknowledgements for Message Flow's server, without distinguishing failures.
    private func acknowledge(_ batch: [ReadLine], _ results: [OpenedLine]) throws {
        guard let acknowledgements, !isPreview else { return }
        try acknowledgements.write(
            zip(batch, results).compactMap { line, result in
                guard let flow = line.flow else { return nil }
                if case .failed = result { return (flow.id, false, flow.isHTTP) }
                return (flow.id, true, flow.isHTTP)
            })
    }
}

extension Message {
    /// Whether the message is of a suite that can authenticate its sender, but does not.
    var isUnproven: Bool { !authenticated && !suite.traits.isOfChat }
}

extension Failure {
    fileprivate static let unproven = Failure(
        .untrusted, "printed, but the sender is not authenticated",
        hint: "use --allow-unverified to accept such messages")
}
