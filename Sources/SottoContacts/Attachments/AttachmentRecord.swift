package import Sotto
import SottoState
package import SottoTool

extension AttachedFile {
    private static let recordLimit = 1 << 20

    /// Returns the form of the file of a message record. `source` is a file with the record, `-`, or the number of an
    /// opened message.
    ///
    /// Throws a failure with status 10 if the message has no attachment with a valid key.
    package static func find(
        _ source: String, _ identity: IdentityListOptions, lockTimeout: Double
    ) throws -> Form {
        let record = try Self.record(source, identity, lockTimeout: lockTimeout)
        guard record["type"]?.string == "message" else {
            throw Failure(
                .malformed, "not a message record", hint: "give a line that decrypt printed")
        }
        guard let form = AttachedFile(record: record)?.form else {
            throw Failure(.noKey, "the message has no attachment with a valid key")
        }
        return form
    }

    private static func record(
        _ source: String, _ identity: IdentityListOptions, lockTimeout: Double
    ) throws -> JSONObject {
        guard !source.utf8.isEmpty, source.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let number = Int64(source)
        else { return try JSON.object(parsing: Input(path: source).readAll(limit: recordLimit)) }
        let book = AddressBook(identity.load, lockTimeout: lockTimeout)
        _ = try book.identity()
        guard let message = try book.store()?.historyEntry(number: number), !message.isGone else {
            throw Failure(
                .noInput, "the state has no message with number \(number)",
                hint: "list the messages with their numbers: decrypt --again")
        }
        return message.record
    }

    /// Decrypts the blob at `path`, which is read twice. `open` writes the content of the blob.
    package static func decrypt(
        twice path: String?, to output: String?,
        _ open: (SeekableFile, any ByteSink) throws -> Void
    ) throws {
        guard let path, path != "-" else {
            throw Failure(
                .usage,
                "an attachment in this format cannot be on standard input, because it is read twice",
                hint: "give the name of the attachment's file")
        }
        let blob = try SeekableFile(path: path)
        try write(to: output, from: try Input(path: path)) { sink, _ in try open(blob, sink) }
    }

    /// Opens the output of an attachment that is read from `input`. `open` writes the content to the sink, and is told
    /// whether the output is a file that appears only when it is complete.
    package static func write(
        to output: String?, from input: Input,
        _ open: (_ sink: any ByteSink, _ isFile: Bool) throws -> Void
    ) throws {
        let file = try Output(path: output, content: .unknown, inputs: [input])
        let shown: any ByteSink = output == nil && file.isTerminal ? TerminalText(file) : file
        try open(shown, file.isFile)
        try shown.finish()
    }
}
