import Sotto
import SottoState
import SottoTool

/// Envelopes to message records, one a line.
///
/// What was opened is recorded, in one transaction for all lines that are at hand, before it is printed; an
/// envelope that was opened before prints its record again, with `"seen":true`.
struct MessageDecryption {
    private let identity: Identity
    private let store: IdentityStore?
    private let signers: DemandedSigners
    private let printsText: Bool
    private let output: Output
    private let source: any ByteSource
    private let printsWhole: Bool

    /// The longest line that is read: an envelope that a relay takes, with room to spare.
    private static let lineLimit = 1 << 20
    /// The most lines that share a transaction.
    private static let batchSize = 512

    init(tool: DecryptTool, input: Input, source: any ByteSource) throws {
        identity = try tool.identity.load()
        signers = try DemandedSigners(tool.from)
        printsText = tool.text
        output = try Output(path: tool.output, content: .text, inputs: [input])
        printsWhole = output.isFile
        self.source = source
        store =
            tool.stateless
            ? nil
            : try IdentityStore(
                directory: .standard(), identity: identity, lockTimeout: tool.lockTimeout)
    }

    /// What a line became: a record to print, perhaps to be kept first, or a failure.
    private enum Result {
        case opened(Message, id: String, digest: [UInt8])
        case seen(Message)
        case failed(Failure, id: String?)
    }

    func run() throws {
        var lines = LineReader(source, limit: Self.lineLimit)
        var outcome = LineOutcome()
        var batch: [(line: Int, result: Result)] = []
        while let line = try lines.next() {
            if let result = try read(line) { batch.append((lines.number, result)) }
            if batch.count == Self.batchSize || lines.mustWait {
                try put(batch, &outcome)
                batch.removeAll()
            }
        }
        try put(batch, &outcome)
        if printsWhole, let failure = outcome.failure { throw failure }
        try output.finish()
        try outcome.end(tool: DecryptTool.toolName)
    }

    private func read(_ line: LineReader.Line) throws -> Result? {
        guard case .line(let bytes) = line else {
            return .failed(
                Failure(.malformed, "the line is longer than \(Self.lineLimit) bytes"), id: nil)
        }
        if bytes.allSatisfy({ $0 <= 0x20 }) { return nil }
        var id: String?
        do {
            let record = try JSON.object(parsing: bytes)
            id = record["id"]?.string
            if let failure = Failure(errorRecord: record) { return .failed(failure, id: id) }
            return try open(record)
        } catch {
            // A line's own failure; one of the state or the disk ends the whole work.
            guard !(error is StateError), let failure = (error as? Failure) ?? Failure(core: error)
            else { throw error }
            return .failed(failure, id: id)
        }
    }

    private func open(_ record: JSONObject) throws -> Result {
        let envelope = try Envelope(record: record)
        let digest = sha256(JSON.object(record).canonical())
        let earlier = try store?.opened(id: envelope.id, digest: digest) ?? .new
        if case .same(let record) = earlier {
            let message = try Self.message(kept: record)
            try signers.check(message.from)
            return .seen(message)
        }
        let message = try Sealed.open(envelope, with: identity)
        try signers.check(message.from)
        if case .different = earlier {
            throw Failure(.replay, "an envelope of this id was opened before, with other content")
        }
        return .opened(message, id: envelope.id, digest: digest)
    }

    private static func message(kept record: [UInt8]) throws -> Message {
        guard let message = Message(record: try JSON.object(parsing: record)) else {
            throw Failure(.ioError, "a record in the state is damaged")
        }
        return message
    }

    private func put(_ batch: [(line: Int, result: Result)], _ outcome: inout LineOutcome) throws {
        let fresh = batch.compactMap { entry -> (id: String, digest: [UInt8], record: [UInt8])? in
            guard case .opened(let message, let id, let digest) = entry.result else { return nil }
            return (id, digest, message.record.serialized())
        }
        var kept = try store?.recordOpened(fresh)[...]
        for (line, result) in batch {
            switch result {
            case .failed(let failure, let id):
                let record = outcome.failed(failure, line: line, id: id)
                if !printsText { try output.writeRecord(record) }
            case .seen(let message): try put(message, seen: true, &outcome)
            case .opened(let message, let id, _):
                switch kept?.popFirst() ?? .new {
                case .new: try put(message, seen: false, &outcome)
                // Another process, or an earlier line, was first.
                case .same(let record):
                    try put(Self.message(kept: record), seen: true, &outcome)
                case .different:
                    let failure = Failure(
                        .replay, "an envelope of this id was opened before, with other content")
                    let record = outcome.failed(failure, line: line, id: id)
                    if !printsText { try output.writeRecord(record) }
                }
            }
        }
        if !printsWhole { try output.flush() }
    }

    /// Prints a message. What is said of its sender is what the cards say now, also of one seen before.
    private func put(
        _ message: Message, seen: Bool, _ outcome: inout LineOutcome
    ) throws {
        outcome.succeeded()
        var message = message
        if let card = signers.card(of: message.from) {
            message.name = card.name.isEmpty ? nil : card.name
            message.trust = .trusted
        }
        var record = message.record
        if seen { record["seen"] = .bool(true) }
        guard printsText else {
            try output.writeRecord(record)
            return
        }
        let body = message.body
        if let text = body["text"]?.string {
            try output.writeText(text + "\n")
        } else if let data = body["data"]?.string.flatMap({ Base64.standard.decode($0) }) {
            if output.isTerminal {
                try output.writeText("[\(data.count) bytes that are not text]\n")
            } else {
                try output.write(data)
            }
        }
    }
}
