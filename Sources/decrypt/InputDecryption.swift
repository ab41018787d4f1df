import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool

/// Decrypts the input: an age file or messages, which its content decides.
struct InputDecryption {
    let path: String?
    let file: FileDecryption
    let messages: ReadingPlan
    /// The files of the chats.
    let chats: [String]
    let refusals: Refusals

    /// The errors for options without an effect. The content of the input decides which one is thrown.
    struct Refusals {
        /// The error for an age file; `nil` if all options have an effect.
        let file: (any Error)?
        /// The error for messages; `nil` if all options have an effect.
        let messages: (any Error)?
    }

    func run() throws {
        let input = try Input(path: path)
        // Text that is typed while the tool waits for input, including a passphrase, would be visible.
        if !input.isReady, !input.isTerminal, chats.isEmpty, file.passphrase == nil {
            try messages.identity.askAhead()
        }
        // A passphrase from a descriptor can be read once.
        let book = messages.book()
        let source = PeekingSource(input)
        try source.skipByteOrderMark()
        let beginning = try source.peek(Self.beginningSize)
        if let failure = try Self.earlierFailure(source, beginning) { throw failure }
        if AgeFormat.isAge(beginning) {
            if let refusal = refusals.file { throw refusal }
            try file.run(input, source)
        } else if try Self.hasEnvelopes(source, beginning) {
            if let refusal = refusals.messages { throw refusal }
            try open(input, source, book)
        } else if beginning.isEmpty, try hasFetchedFiles(book) {
            // They belong to groups. recv fetches them also if no envelope waits.
            if let refusal = refusals.messages { throw refusal }
            try open(input, source, book)
        } else if beginning.isEmpty {
            throw input.emptyFailure
        } else {
            throw Failure(
                .malformed, "the input is neither an age file nor envelopes",
                hint: "give the output of sotto encrypt")
        }
    }

    /// Whether `recv` has fetched files about groups. A state that needs a passphrase first is not read.
    private func hasFetchedFiles(_ book: AddressBook) throws -> Bool {
        guard !messages.stateless, !messages.preview, chats.isEmpty,
            let store = try book.storeWithoutPrompt(messages.identity)
        else { return false }
        return try store.hasFetchedFiles()
    }

    private func open(
        _ input: Input, _ source: any ByteSource, _ book: AddressBook
    ) throws {
        do {
            try openMessages(input, source, book)
        } catch {
            throw path == nil || path == "-" ? failure(ofPipe: error, book) : error
        }
    }

    /// Returns an error that ended the reading. A pipe brings the mail only once, so that the same command would not read it. If the
    /// state could not be used, the hint has the command that reads it again, unless the inbox is known to have no printed mail.
    private func failure(ofPipe error: any Error, _ book: AddressBook) -> any Error {
        guard let error = error as? StateError, !error.isOfOneRecord,
            [.ioError, .tryAgain].contains(error.failure.status),
            (try? book.storeWithoutPrompt(messages.identity)?.count(.unfinished)) != 0
        else { return error }
        let option = messages.identity.identityOption
        let first = error.isOfFullDisk ? "free some space; " : ""
        return Failure(
            error.failure.status, error.failure.message,
            hint:
                "\(first)to decrypt what recv printed: sotto recv --again\(option) | sotto decrypt\(option)"
        )
    }

    private func openMessages(
        _ input: Input, _ source: any ByteSource, _ book: AddressBook
    ) throws {
        let owner = try messages.owner(book, hasChats: !chats.isEmpty)
        let chats = try book.chatRecords(chats).map { try Chat(record: $0) }
        try MessageReading(
            messages, EnvelopeInput(chats: chats), book: book, owner: owner, chats: chats,
            senderPolicy: messages.senderPolicy(book, owner: owner), input: input, source: source
        ).run()
    }

    /// Returns the failure of the program before in a pipe, which had nothing to print and has reported it: an error record about no line, as the
    /// only line. Its status is returned without words.
    private static func earlierFailure(
        _ source: PeekingSource, _ beginning: [UInt8]
    ) throws -> Failure? {
        guard beginning.starts(with: #"{"v":1,"type":"error""#.utf8) else { return nil }
        var line: ArraySlice<UInt8>?
        _ = try source.peek(upTo: detectionLimit) { bytes in
            line = bytes.firstIndex(of: UInt8(ascii: "\n")).map { bytes[..<$0] }
            return line != nil
        }
        guard let line, let record = try? JSON.object(parsing: Array(line)),
            record["line"] == .integer(0), let failure = Failure(errorRecord: record)
        else { return nil }
        let rest = try source.peek(line.count + 2)
        return rest.count > line.count + 1 ? nil : Failure(failure.status, "")
    }

    /// The number of bytes that identify most inputs.
    static let beginningSize = 64
    /// The number of bytes that are searched for an envelope.
    private static let detectionLimit = 64 << 10

    /// Returns whether a line begins like an envelope. Lines before it are reported as malformed and do not affect the
    /// others.
    private static func hasEnvelopes(
        _ source: PeekingSource, _ beginning: [UInt8]
    ) throws -> Bool {
        let text = beginning.drop { $0 <= 0x20 }
        if text.first == UInt8(ascii: "{") || text.starts(with: PhraseKey.mark.utf8) {
            return true
        }
        var (line, searched) = (0, 0)
        var isFound = false
        _ = try source.peek(upTo: detectionLimit) { bytes in
            while !isFound, let feed = bytes[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                isFound = isEnvelopeLike(bytes[line..<feed])
                line = feed + 1
                searched = line
            }
            searched = bytes.count
            isFound = isFound || isEnvelopeLike(bytes[line...])
            return isFound
        }
        return isFound
    }

    /// Returns whether a line begins with a brace that is followed by a quotation mark, another brace, or the end of
    /// the available bytes.
    private static func isEnvelopeLike(_ line: ArraySlice<UInt8>) -> Bool {
        let text = line.drop { $0 <= 0x20 }
        if text.starts(with: PhraseKey.mark.utf8) { return true }
        guard text.first == UInt8(ascii: "{") else { return false }
        switch text.dropFirst().first(where: { $0 > 0x20 }) {
        case nil, UInt8(ascii: "\""), UInt8(ascii: "}"): return true
        default: return false
        }
    }
}
