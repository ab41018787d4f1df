package import Arguments
package import Sotto
package import SottoTool

/// The options for a file that is sent with a message.
package struct AttachmentOptions: ArgumentGroup {
    @Option(
        "--attach", value: "file",
        help: "Encrypt this file too, with a key that is sent in the message.")
    package var attach: String?

    @Option("--blob", value: "file", help: "Output file of the encrypted attachment.")
    package var blob: String?

    @Option(
        "--content-type", value: "type",
        help: "The attachment's media type, such as image/png. Default: application/octet-stream.")
    package var contentType: String?

    package init() {}

    /// Returns what the input contains: one message with the attachment, or a message on each line.
    ///
    /// Throws ``UsageError`` for options that contradict each other, and a failure with status 64 if the blob would
    /// replace one of the files that the command reads, or its output.
    ///
    /// `cipher` encrypts long files faster than the core does.
    package func messages(
        perLine: Bool, isNoneOf read: [String], output: String?,
        cipher: (any ChunkCipher)? = nil
    ) throws -> InputMessages {
        guard (attach == nil) == (blob == nil) else {
            throw UsageError("--attach and --blob require each other")
        }
        guard attach != nil || contentType == nil else {
            throw UsageError("--content-type requires --attach")
        }
        guard let attach, let blob else { return perLine ? .lines : .whole(nil) }
        guard !perLine else {
            throw UsageError("--attach is for a single message and cannot be combined with --jsonl")
        }
        let contentType = contentType ?? "application/octet-stream"
        guard (1...100).contains(contentType.utf8.count), !hasControls(contentType) else {
            throw UsageError("--content-type must have 1 to 100 bytes and no control characters")
        }
        guard blob != "-", !hasControls(blob) else {
            throw UsageError("the file name of --blob must not have control characters")
        }
        try Output.check(blob, isNoneOf: read)
        guard blob != output else { throw UsageError("--blob and -o are the same file") }
        return .whole(
            Attachment(path: attach, blob: blob, contentType: contentType, cipher: cipher))
    }
}

/// The messages in the input of a tool that encrypts them.
package enum InputMessages {
    /// The input is one message, with an optional attachment.
    case whole(Attachment?)
    /// Each line is a message.
    case lines
}

/// Returns whether a text has control characters.
package func hasControls(_ text: String) -> Bool {
    text.unicodeScalars.contains { $0.properties.generalCategory == .control }
}

/// A file that is encrypted separately, with its key in the message.
package final class Attachment {
    package let path: String
    private let name: String
    package let contentType: String
    package let blob: String
    private let cipher: (any ChunkCipher)?
    /// The blob, whose file is created when the message is ready.
    package var output: Output?

    init(path: String, blob: String, contentType: String, cipher: (any ChunkCipher)?) {
        self.path = path
        self.blob = blob
        self.contentType = contentType
        self.cipher = cipher
        name = FileBody.name(ofPath: path)
    }

    private var tooLong: Failure {
        Failure(
            .malformed, "\(path) is longer than \(Blob.maximumFileSize) bytes",
            hint: "use -r instead of --to to encrypt it as a separate file")
    }

    /// The name of the blob in the pointer.
    package var objectKey: String { String(blob.split(separator: "/").last ?? "blob") }

    /// Creates the file of the blob.
    package func finish() throws { try output?.finish() }

    /// Writes the blob. Returns the body of the message, with `text` and the file's pointer.
    package func write(text: String?) throws -> JSONObject {
        let input = try Input(path: path)
        let output = try Output(path: blob, content: .binary)
        let writer = try BlobWriter(cipher: cipher, to: Unfinished(output))
        do {
            try copy(from: input, to: writer)
        } catch BlobError.tooLong {
            throw tooLong
        }
        try writer.finish()
        self.output = output
        return JSONObject([
            ("type", .string("file")), ("name", .string(name)),
            ("contentType", .string(contentType)), ("size", .integer(writer.fileSize)),
            ("blob", .object(writer.pointer.object)),
            ("text", text.flatMap { $0.isEmpty ? nil : .string($0) }),
        ])
    }
}

/// Passes bytes on, but does not end the other sink.
private final class Unfinished: ByteSink {
    private let sink: any ByteSink

    init(_ sink: any ByteSink) { self.sink = sink }

    func write(_ bytes: UnsafeRawBufferPointer) throws { try sink.write(bytes) }

    func finish() {}
}
