import SottoContacts
package import Sotto
import SottoState
package import SottoTool

/// Makes messages of the input: the whole input is one message, or each line is.
///
/// The available lines are encrypted together, for sessions in one transaction, which is on disk before any of the
/// results is written.
package struct MessageWriting<Sealed> {
    /// The tool's name in messages.
    private let tool: String
    private let input: Input
    /// The bytes of the input.
    private let source: any ByteSource
    private let output: Output
    /// Whether records of rooms, and envelopes, are printed as they are.
    private let passesRooms: Bool
    /// Whether a message may be a secret key or recovery words.
    private let allowsSecrets: Bool
    /// Encrypts messages. A thrown error ends the whole run: nothing was encrypted.
    private let seal: ([MessageText]) throws -> [Result<Sealed, Failure>]
    /// Prints one encrypted message.
    private let print: (Sealed, Output) throws -> Void

    /// The threads that read the lines, besides the calling one.
    private let pool: ThreadPool

    /// The number of lines that a thread reads at a time.
    private static var slice: Int { 256 }

    package init(
        tool: String, input: Input, source: (any ByteSource)? = nil, output: Output,
        passesRooms: Bool = false, allowsSecrets: Bool,
        pool: ThreadPool = ThreadPool(beforeWaiting: FreedMemory.wipeCache),
        seal: @escaping ([MessageText]) throws -> [Result<Sealed, Failure>],
        print: @escaping (Sealed, Output) throws -> Void
    ) {
        self.tool = tool
        self.input = input
        self.source = source ?? input
        self.output = output
        self.passesRooms = passesRooms
        self.allowsSecrets = allowsSecrets
        self.pool = pool
        self.seal = seal
        self.print = print
    }

    /// Makes the messages. `isKept` is true if a message has the pointer to its attachment in its body.
    package func run(_ messages: InputMessages, isKept: Bool = true) throws {
        switch messages {
        case .whole(let attachments, let long):
            try runWhole(attachments, long: long, isKept: isKept)
        case .lines: try runByLine()
        }
    }

    /// Makes one message of the whole input, or one for each file that was encrypted separately.
    private func runWhole(
        _ attachments: [Attachment], long: ((Attachment.Content) throws -> Attachment)?,
        isKept: Bool
    ) throws {
        var files = attachments
        var contents: [MessageText]
        if files.isEmpty {
            switch try MessageText.readWhole(input, allowsLong: long != nil) {
            case .message(let content): contents = [content]
            case .long(let content):
                guard let long else { throw SealedError.tooLong(limit: Sotto.Sealed.recordLimit) }
                files = [try long(content)]
                contents = try files.map { try $0.message(text: nil) }
            }
        } else {
            // For example the user wanted to attach the input too.
            let hint = "for a further file give --attach again"
            let tooLong = Failure(
                .malformed, "the text that accompanies an attachment is too long", hint: hint)
            let whole: MessageText.Whole
            do {
                whole = try MessageText.readWhole(input, mayBeEmpty: true)
            } catch SealedError.tooLong {
                throw tooLong
            }
            guard case .message(let content) = whole else { throw tooLong }
            contents = [content]
            if isKept {
                guard content.body["type"]?.string == "text" else {
                    throw Failure(
                        .malformed, "the text that accompanies an attachment is not UTF-8",
                        hint: hint)
                }
                contents = try files.enumerated().map { index, file in
                    try file.message(text: index == 0 ? content.body["text"]?.string : nil)
                }
            }
        }
        if !allowsSecrets { for content in contents { try content.checkSecrets() } }
        let sealed = try seal(contents).map { try $0.get() }
        for file in files { try file.finish() }
        for message in sealed { try print(message, output) }
        try output.finish()
    }

    /// Makes a message of each line. The threads read a batch of lines while the messages of the one before it are encrypted.
    private func runByLine() throws {
        var outcome = LineOutcome()
        try LineBatches.read(
            source,
            begin: { batch in
                pool.started(batch, slice: Self.slice, later: true) {
                    [passesRooms, allowsSecrets] lines in
                    lines.map { line in
                        Result {
                            try WrittenLine(
                                line, passesRooms: passesRooms, allowsSecrets: allowsSecrets)
                        }
                    }
                }
            },
            process: { try put($0.results().compactMap { try $0.get() }, &outcome) })
        try output.finish()
        try outcome.end(tool: tool)
    }

    private func put(_ batch: [WrittenLine], _ outcome: inout LineOutcome) throws {
        let contents = batch.compactMap { line in
            if case .success(.message(let text)) = line.content { text } else { nil }
        }
        let sealed = try contents.isEmpty ? [] : seal(contents)
        guard sealed.count == contents.count else {
            throw Failure(.bug, "a message was not encrypted")
        }
        var next = 0
        for line in batch {
            let result: Result<Sealed, Failure>
            switch line.content {
            case .success(.room(let record)):
                try output.writeRecord(record)
                outcome.succeeded()
                continue
            case .success(.message):
                result = sealed[next]
                next += 1
            case .failure(let failure): result = .failure(failure)
            }
            switch result {
            case .success(let message):
                try print(message, output)
                outcome.succeeded()
            case .failure(let failure):
                try output.writeRecord(outcome.failed(failure, line: line.number))
            }
        }
        try output.flush()
    }
}

/// A line of the input that was read.
private struct WrittenLine: Sendable {
    enum Content: Sendable {
        case message(MessageText)
        /// The record of a room, or of the blob that it needs, an envelope for an own device, or the owner's card: it is for `send`.
        case room(JSONObject)
    }

    let number: Int
    let content: Result<Content, Failure>

    /// Reads a line. Returns `nil` for an empty one.
    init?(_ line: InputLine, passesRooms: Bool, allowsSecrets: Bool) throws {
        number = line.number
        guard case .line(let bytes) = line.line else {
            let failure = Failure(
                .malformed, "the line is longer than \(LineBatches.lineLimit) bytes")
            content = .failure(failure)
            return
        }
        if bytes.isEmpty { return nil }
        let message = try result {
            let message = try MessageText.content(ofLine: bytes)
            if !allowsSecrets { try message.checkSecrets() }
            return message
        }
        if passesRooms, case .failure = message, let record = try? JSON.object(parsing: bytes),
            let type = record["type"]?.string,
            [RoomRecord.type, BlobRecord.type, "envelope", "contact"].contains(type)
        {
            content = .success(.room(record))
        } else {
            content = message.map { .message($0) }
        }
    }
}

/// Returns the result of one line. An error of the state or a bug is thrown, because it ends the whole run. A damaged group is
/// the failure of the lines about it.
package func result<Value>(_ body: () throws -> Value) throws -> Result<Value, Failure> {
    do {
        return .success(try body())
    } catch let error as StateError where !error.isOfOneRecord {
        throw error
    } catch {
        guard let failure = (error as? Failure) ?? Failure(core: error) else { throw error }
        return .failure(failure)
    }
}
