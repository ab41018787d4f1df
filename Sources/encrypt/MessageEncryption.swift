import Sotto
import SottoContacts
import SottoState
import SottoTool

/// Encrypts messages to envelopes: the whole input is one message, or each line is.
///
/// The available lines are encrypted together, for sessions in one transaction, which is on disk before any of the
/// envelopes is written.
struct MessageEncryption {
    private let recipients: Recipients
    private let isByLine: Bool
    private let form: MessageForm
    private let userID: String?
    /// A file that is sent with the message.
    private let attachment: Attachment?
    private let input: Input
    private let output: Output

    /// Whether an attachment is written in sotto's own format.
    private let isOurs: Bool

    /// The maximum length of a line in bytes; a longer one could not be encrypted.
    private static let lineLimit = 1 << 20
    /// The maximum number of lines, and of their bytes, in a transaction.
    private static let batchSize = 4_096
    private static let batchBytes = 4 << 20

    init(tool: EncryptTool, input: Input) throws {
        let attachment = tool.other.attach.flatMap { path in
            tool.other.blob.map {
                Attachment(path: path, blob: $0, contentType: tool.other.contentType)
            }
        }
        recipients = try Recipients(tool: tool, attachment: attachment)
        self.attachment = attachment
        isOurs = tool.suite != .whisper2
        isByLine = tool.jsonl
        form = tool.other.form
        userID = tool.other.userID
        self.input = input
        output = try Output(path: tool.output, content: .text, inputs: [input])
    }

    func run() throws {
        if isByLine {
            try runByLine()
            return
        }
        let limit = Sealed.recordLimit
        let bytes = try input.readAll(limit: 64 << 20)
        guard bytes.count <= limit else { throw SealedError.tooLong(limit: limit) }
        guard !bytes.isEmpty || attachment != nil else {
            throw Failure(.no, "the message is empty")
        }
        var content = try MessageText.content(ofWhole: bytes)
        if let attachment, isOurs {
            guard content.body["type"]?.string == "text" else {
                throw Failure(.malformed, "the text that accompanies an attachment is not UTF-8")
            }
            content = MessageText(
                body: try attachment.writeKecalek(text: content.body["text"]?.string), extra: [])
        }
        let envelopes = try recipients.seal([content])[0].get()
        try attachment?.finish()
        try write(envelopes)
        try output.finish()
    }

    /// Prints one message's envelopes in the requested format.
    private func write(_ envelopes: [Envelope]) throws {
        guard form != .envelope else {
            for (envelope, relay) in zip(envelopes, recipients.relays) {
                var record = envelope.record
                if let relay { record["relay"] = .string(relay) }
                try output.writeRecord(record)
            }
            return
        }
        for line in try recipients.appLines(
            of: envelopes, userID: userID, isFile: form == .file)
        {
            switch line {
            case .record(let record): try output.writeRecord(record)
            case .text(let text): try output.writeText(text + "\n")
            }
        }
    }

    private func runByLine() throws {
        var lines = LineReader(input, limit: Self.lineLimit)
        var outcome = LineOutcome()
        var batch: [(line: Int, content: Result<MessageText, Failure>)] = []
        var bytes = 0
        while let line = try lines.next() {
            if let content = try Self.content(line) { batch.append((lines.number, content)) }
            if case .line(let line) = line { bytes += line.count }
            if try lines.mustWait() || batch.count >= Self.batchSize || bytes >= Self.batchBytes {
                try put(batch, &outcome)
                batch.removeAll()
                bytes = 0
            }
        }
        try put(batch, &outcome)
        try output.finish()
        try outcome.end(tool: EncryptTool.toolName)
    }

    private static func content(_ line: LineReader.Line) throws -> Result<MessageText, Failure>? {
        guard case .line(let bytes) = line else {
            return .failure(Failure(.malformed, "the line is longer than \(lineLimit) bytes"))
        }
        if bytes.isEmpty { return nil }
        do {
            return .success(try MessageText.content(ofLine: bytes))
        } catch {
            guard let failure = (error as? Failure) ?? Failure(core: error) else { throw error }
            return .failure(failure)
        }
    }

    private func put(
        _ batch: [(line: Int, content: Result<MessageText, Failure>)], _ outcome: inout LineOutcome
    ) throws {
        var sealed = try recipients.seal(batch.compactMap { try? $0.content.get() })[...]
        for (line, content) in batch {
            let result = content.flatMap { _ in
                sealed.popFirst() ?? .failure(Failure(.bug, "a message was not encrypted"))
            }
            switch result {
            case .success(let envelopes):
                try write(envelopes)
                outcome.succeeded()
            case .failure(let failure):
                try output.writeRecord(outcome.failed(failure, line: line))
            }
        }
        try output.flush()
    }
}

/// The content of a message, and the members of its line that are passed through.
struct MessageText {
    let body: JSONObject
    let extra: [(name: String, value: JSON)]

    /// Reads all of stdin as text, without one line feed at its end, or as data if it is not UTF-8.
    static func content(ofWhole bytes: [UInt8]) throws -> MessageText {
        guard var text = String(validating: bytes, as: UTF8.self) else {
            return MessageText(body: Message.body(of: bytes), extra: [])
        }
        if text.utf8.last == UInt8(ascii: "\n") { text.unicodeScalars.removeLast() }
        return MessageText(body: Message.textBody(text), extra: [])
    }

    /// Reads a line: a record with a body or a text, or plain text.
    static func content(ofLine bytes: [UInt8]) throws -> MessageText {
        guard bytes.first == UInt8(ascii: "{") else {
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw Failure(.malformed, "the line is not UTF-8 text")
            }
            return MessageText(body: Message.textBody(text), extra: [])
        }
        let record = try JSON.object(parsing: bytes)
        if let body = record["body"]?.object, let type = body["type"]?.string {
            guard type != "text" || body["text"]?.string != nil else {
                throw Failure(.malformed, "the body has the type text but no text")
            }
            return MessageText(body: body, extra: Message.extra(of: record))
        }
        if let text = record["text"]?.string {
            var members = record
            members["text"] = nil
            return MessageText(body: Message.textBody(text), extra: Message.extra(of: members))
        }
        if let failure = Failure(errorRecord: record) { throw failure }
        throw Failure(
            .malformed, "the record has neither a body with a type nor a text",
            hint: #"a message line is {"text":"…"} or {"body":{"type":"text","text":"…"}}"#)
    }
}
