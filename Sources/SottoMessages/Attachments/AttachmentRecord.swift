package import SottoContacts
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
        _ source: String, in book: AddressBook
    ) throws -> Form {
        try file(source, in: book).validForm()
    }

    /// Returns the file of a message record, which `source` names as in ``find(_:in:)``. Throws a failure with status 10
    /// without a file.
    package static func file(_ source: String, in book: AddressBook) throws -> AttachedFile {
        let record = try Self.record(source, book)
        guard record["type"]?.string == "message" else {
            throw Failure(
                .malformed, "not a message record", hint: "give a line that sotto decrypt printed")
        }
        guard let file = AttachedFile(record: record) else {
            throw Failure(.noInput, "the message is not a file")
        }
        return file
    }

    private static let noKey = Failure(
        .noKey, "the message has no attachment with a valid key")

    /// Returns the form. Throws a failure with status 10 without a valid key.
    package func validForm() throws(Failure) -> Form {
        guard let form else { throw Self.noKey }
        return form
    }

    private static func record(_ source: String, _ book: AddressBook) throws -> JSONObject {
        guard !source.utf8.isEmpty, source.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let number = Int64(source)
        else { return try JSON.object(parsing: Input(path: source).readText(limit: recordLimit)) }
        _ = try book.identity()
        guard let message = try book.store()?.historyEntry(number: number), !message.isGone else {
            throw Failure(
                .noInput, "the state has no message with number \(number)",
                hint: "list the messages with their numbers: sotto history")
        }
        return message.record
    }

    /// Decrypts the blob at `path`, which is read twice. `open` writes the content of the blob.
    package static func decrypt(
        twice path: String?, to output: String?, isNew: Bool = false,
        _ open: (SeekableFile, any ByteSink) throws -> Void
    ) throws {
        guard let path, path != "-" else {
            throw Failure(
                .usage,
                "an attachment in this format cannot be on standard input, because it is read twice",
                hint: "give the name of the attachment's file")
        }
        let blob = try SeekableFile(path: path)
        try write(to: output, isNew: isNew, from: try Input(path: path)) { sink, _ in
            try open(blob, sink)
        }
    }

    /// Opens the output of an attachment that is read from `input`. `open` writes the content to the sink, and is told
    /// whether the output is a file that appears only when it is complete. With `isNew` an existing file is not replaced.
    package static func write(
        to output: String?, isNew: Bool = false, from input: Input,
        _ open: (_ sink: any ByteSink, _ isFile: Bool) throws -> Void
    ) throws {
        let file = try Output(
            path: output, content: .unknown, inputs: [input], replacing: !isNew)
        let shown: any ByteSink = output == nil && file.isTerminal ? TerminalText(file) : file
        try open(shown, file.isFile)
        try shown.finish()
    }
}
