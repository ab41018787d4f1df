import Sotto
import SottoContacts
import SottoState
import SottoTool

/// Envelopes to message records, one a line.
///
/// All lines that are at hand are opened in one transaction: the steps of their sessions, what they say, and that
/// their place in the inbox is done with. Only then are they printed. An envelope that was opened before prints
/// its record again, with `"seen":true`.
struct MessageDecryption {
    private let identity: Identity
    private let store: IdentityStore?
    private let isPreview: Bool
    private let judge: SenderJudgement
    private let output: Output
    private let printer: MessagePrinter
    private let source: any ByteSource

    /// The longest line that is read: an envelope that a relay takes, with room to spare.
    private static let lineLimit = 1 << 20
    /// The most lines, and bytes of them, that share a transaction.
    private static let batchSize = 4_096
    private static let batchBytes = 4 << 20

    init(tool: DecryptTool, input: Input, source: any ByteSource) throws {
        let book = AddressBook(tool.identity.load, lockTimeout: tool.lock.timeout)
        identity = try book.identity()
        judge = SenderJudgement(signers: try DemandedSigners(tool.from, book), policy: tool.trust)
        output = try Output(path: tool.output, content: .text, inputs: [input])
        printer = MessagePrinter(output: output, printsText: tool.text, quiet: tool.quiet)
        self.source = source
        isPreview = tool.preview
        if tool.stateless {
            store = nil
        } else if tool.preview {
            store = try book.store()
        } else {
            store = try IdentityStore(
                directory: .standard(), identity: identity, lockTimeout: tool.lock.timeout)
        }
    }

    /// What a line is before it is opened.
    private enum Line {
        case envelope(Envelope, bytes: [UInt8])
        case failed(Failure, id: String?)
    }

    /// What became of a line.
    private enum Result {
        case message(Message, seen: Bool)
        case request(Envelope, from: SessionID)
        /// From somebody who is blocked.
        case dropped
        case failed(Failure, id: String?)
    }

    func run() throws {
        var lines = LineReader(source, limit: Self.lineLimit)
        var outcome = LineOutcome()
        var batch: [(number: Int, line: Line)] = []
        var printed: [String] = []
        var bytes = 0
        while let line = try lines.next() {
            if let read = try Self.read(line) { batch.append((lines.number, read)) }
            if case .line(let line) = line { bytes += line.count }
            if try lines.mustWait() || batch.count == Self.batchSize || bytes >= Self.batchBytes {
                try process(batch, &outcome, &printed)
                batch.removeAll()
                bytes = 0
            }
        }
        try process(batch, &outcome, &printed)
        // A file in which there would be nothing but failures does not appear.
        if output.isFile, !outcome.hasSucceeded, let failure = outcome.failure { throw failure }
        try output.finish()
        try store?.finish(printed)
        try outcome.end(tool: DecryptTool.toolName)
    }

    private static func read(_ line: LineReader.Line) throws -> Line? {
        guard case .line(let bytes) = line else {
            return .failed(
                Failure(.malformed, "the line is longer than \(lineLimit) bytes"), id: nil)
        }
        if bytes.allSatisfy({ [0x20, 0x09, 0x0D].contains($0) }) { return nil }
        var id: String?
        do {
            let record = try JSON.object(parsing: bytes)
            id = record["id"]?.string
            if let failure = Failure(errorRecord: record) { return .failed(failure, id: id) }
            if let type = record["type"]?.string, type != "envelope" {
                return .failed(
                    Failure(.malformed, "a record of another type than envelope"), id: id)
            }
            return .envelope(try Envelope(record: record), bytes: bytes)
        } catch {
            guard let failure = (error as? Failure) ?? Failure(core: error) else { throw error }
            return .failed(failure, id: id)
        }
    }

    /// Opens a batch, prints it, and lets the inbox go of what was printed.
    private func process(
        _ batch: [(number: Int, line: Line)], _ outcome: inout LineOutcome,
        _ printed: inout [String]
    ) throws {
        guard !batch.isEmpty else { return }
        let results: [Result]
        if let store {
            var done: [String] = []
            let work: (StateTransaction) throws -> [Result] = { transaction in
                try batch.map { try self.open($0.line, transaction, &done) }
            }
            results = try isPreview ? store.preview(work) : store.transaction(work)
            printed += done
        } else {
            results = try batch.map { try openAlone($0.line) }
        }
        for ((number, _), result) in zip(batch, results) {
            switch result {
            case .message(let message, let seen):
                outcome.succeeded()
                try printer.print(message, seen: seen)
            case .request(let envelope, let sender):
                outcome.succeeded()
                try printer.print(requestOf: envelope, from: sender)
            case .dropped: outcome.succeeded()
            case .failed(let failure, let id):
                try printer.print(error: outcome.failed(failure, line: number, id: id))
            }
        }
        if !output.isFile {
            try output.flush()
            try store?.finish(printed)
            printed.removeAll()
        }
    }

    // MARK: Opening

    private func openAlone(_ line: Line) throws -> Result {
        guard case .envelope(let envelope, _) = line else { return try Self.unopened(line) }
        return try Self.caught(envelope.id) {
            guard envelope.suite == .sealed else {
                throw Failure(
                    .usage, "a message of a session needs the state",
                    hint: "leave out --stateless")
            }
            var message = try Sealed.open(envelope, with: identity)
            _ = try judge.judge(&message, contact: nil, hasContacts: false)
            return .message(message, seen: false)
        }
    }

    private static func unopened(_ line: Line) throws -> Result {
        guard case .failed(let failure, let id) = line else {
            throw Failure(.bug, "an envelope was not opened")
        }
        return .failed(failure, id: id)
    }

    /// A line's own failure is its result; one of the state ends the whole work.
    private static func caught(_ id: String, _ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as StateError {
            throw error
        } catch {
            guard let failure = (error as? Failure) ?? Failure(core: error) else { throw error }
            return .failed(failure, id: id)
        }
    }

    private func open(
        _ line: Line, _ transaction: StateTransaction, _ printed: inout [String]
    ) throws -> Result {
        guard case .envelope(let envelope, let bytes) = line else { return try Self.unopened(line) }
        let result = try Self.caught(envelope.id) {
            try open(envelope, bytes, transaction)
        }
        guard !isPreview, Self.isFinal(result),
            try transaction.markOpened(id: envelope.id, envelope: bytes)
        else { return result }
        printed.append(envelope.id)
        return result
    }

    private func open(
        _ envelope: Envelope, _ bytes: [UInt8], _ transaction: StateTransaction
    ) throws -> Result {
        let digest = envelope.digest
        let earlier = try transaction.opened(id: envelope.id, digest: digest)
        if case .same(let record) = earlier {
            guard var message = Message(record: try JSON.object(parsing: record)) else {
                throw Failure(.ioError, "a record in the state is damaged")
            }
            let contact = try transaction.contact(id: message.from)
            return try judge.judge(&message, contact: contact, hasContacts: false) == .blocked
                ? .dropped : .message(message, seen: true)
        }
        let step = try transaction.open(envelope)
        var message = step.message
        let sender = message.from
        let verdict = try judge.judge(
            &message, contact: try transaction.contact(id: sender),
            hasContacts: try transaction.hasContacts())
        if case .different = earlier {
            throw Failure(.replay, "an envelope of this id was opened before, with other content")
        }
        if isPreview { return verdict == .blocked ? .dropped : .message(message, seen: false) }
        switch verdict {
        case .blocked: return .dropped
        case .stranger:
            guard try transaction.request(bytes, id: envelope.id, from: sender) else {
                throw Failure(
                    .untrusted, "from somebody who is no contact, and too many such wait already",
                    hint: "contact requests lists them, and --drop or --drop-all throws them away")
            }
            return .request(envelope, from: sender)
        case .welcome:
            try transaction.keep(step)
            try transaction.recordOpened(
                id: envelope.id, digest: digest, record: message.record.serialized())
            try transaction.forgetRequest(id: envelope.id)
            return .message(message, seen: false)
        }
    }

    /// Whether decrypting the same envelope again could not come to anything else.
    private static func isFinal(_ result: Result) -> Bool {
        switch result {
        case .message, .request, .dropped: true
        case .failed(let failure, _):
            [.malformed, .authentication, .replay].contains(failure.status)
        }
    }
}
