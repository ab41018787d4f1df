import Sotto
import SottoTool

/// Messages to envelopes: the whole of the input is one, or each line is.
struct MessageEncryption {
    let identity: Identity
    let cards: [Card]
    let classic: Bool
    let isByLine: Bool
    let input: Input
    let output: Output

    /// A line over this is refused; it could not be sealed anyway.
    private static let lineLimit = 1 << 20

    init(tool: EncryptTool, input: Input) throws {
        cards = try tool.to.map { try Addressee.card($0) }
        classic = tool.classic
        isByLine = tool.jsonl
        identity = try tool.identity.load()
        self.input = input
        output = try Output(path: tool.output, content: .text, inputs: [input])
        if !classic, !tool.quiet, cards.contains(where: { $0.hybrid == nil }) {
            Terminal.say(
                "encrypt: note: a sotto: URI has no post-quantum key; the whole card has one")
        }
    }

    func run() throws {
        if isByLine {
            try runByLine()
            return
        }
        let limit = Sealed.recordLimit
        let bytes = try input.readAll(limit: 64 << 20)
        guard bytes.count <= limit else { throw SealedError.tooLong(limit: limit) }
        guard !bytes.isEmpty else { throw Failure(.no, "the message is empty") }
        for envelope in try seal(try Self.content(ofWhole: bytes)) {
            try output.writeRecord(envelope.record)
        }
        try output.finish()
    }

    private func runByLine() throws {
        var lines = LineReader(input, limit: Self.lineLimit)
        var outcome = LineOutcome()
        while let line = try lines.next() {
            do {
                guard case .line(let bytes) = line else {
                    throw Failure(.malformed, "the line is longer than \(Self.lineLimit) bytes")
                }
                if bytes.isEmpty { continue }
                for envelope in try seal(try Self.content(ofLine: bytes)) {
                    try output.writeRecord(envelope.record)
                }
                outcome.succeeded()
            } catch {
                guard let failure = (error as? Failure) ?? Failure(core: error) else { throw error }
                if failure.status == .ioError { throw failure }
                try output.writeRecord(outcome.failed(failure, line: lines.number))
            }
            if lines.mustWait { try output.flush() }
        }
        try output.finish()
        try outcome.end(tool: EncryptTool.toolName)
    }

    private typealias Content = (body: JSONObject, members: JSONObject)

    private func seal(_ content: Content) throws -> [Envelope] {
        let time = Timestamp.now()
        return try cards.map {
            try Sealed.seal(
                body: content.body, extra: Message.extra(of: content.members), from: identity,
                to: $0, classic: classic, time: time)
        }
    }

    /// The whole of stdin is text, less one line feed at its end, or data if it is not UTF-8.
    private static func content(ofWhole bytes: [UInt8]) throws -> Content {
        guard var text = String(validating: bytes, as: UTF8.self) else {
            return (["type": .string("data"), "data": .string(Base64.standard.encode(bytes))], [:])
        }
        if text.utf8.last == UInt8(ascii: "\n") { text.unicodeScalars.removeLast() }
        return (Message.textBody(text), [:])
    }

    private static func content(ofLine bytes: [UInt8]) throws -> Content {
        guard bytes.first == UInt8(ascii: "{") else {
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw Failure(.malformed, "the line is not UTF-8 text")
            }
            return (Message.textBody(text), [:])
        }
        let record = try JSON.object(parsing: bytes)
        if let body = record["body"]?.object, body["type"]?.string != nil { return (body, record) }
        if let text = record["text"]?.string {
            var members = record
            members["text"] = nil
            return (Message.textBody(text), members)
        }
        throw Failure(
            .malformed, "the record has neither a body with a type nor a text",
            hint: #"a message line is {"text":"…"} or {"body":{"type":"text","text":"…"}}"#)
    }
}
