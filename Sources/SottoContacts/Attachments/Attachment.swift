package import Arguments
package import Sotto
package import SottoState
package import SottoTool
import Synchronization

/// The options for a file that is sent with a message.
package struct AttachmentOptions: ArgumentGroup {
    @Option(
        "--attach", value: "file",
        help: "Encrypt this file too, with a key that is sent in the message.")
    package var attach: String?

    @Option(
        "--blob", value: "file",
        help:
            "Output file of the encrypted attachment, to carry it yourself. Without it, encrypt lets send upload it."
    )
    package var blob: String?

    @Option(
        "--content-type", value: "type",
        help:
            "The attachment's media type, such as video/mp4. Default: image/jpeg or image/png for such a picture, else application/octet-stream."
    )
    package var contentType: String?

    @Flag(
        "--keep-metadata",
        help: "Send a JPEG or PNG picture with the place, the time and the camera that it names.")
    package var keepsMetadata = false

    package init() {}

    /// Returns what the input contains: one message with the attachment, or a message on each line.
    ///
    /// Throws ``UsageError`` for options that contradict each other, and a failure with status 64 if the blob would
    /// replace one of the files that the command reads, or its output.
    ///
    /// `announcer` is the name of the tool in notes, or `nil` for none. Without `--blob` the blob is for `send`; `nil` in
    /// place of `uploads` requires `--blob`.
    package func messages(
        perLine: Bool, isNoneOf read: [String], output: String?, announcer: String?,
        form: Attachment.Form, uploads: (() throws -> BlobFolder)? = nil
    ) throws -> InputMessages {
        guard attach != nil || blob == nil else { throw UsageError("--blob requires --attach") }
        guard attach == nil || blob != nil || uploads != nil else {
            throw UsageError(
                "--attach requires --blob here, because the file is not sent to a mailbox")
        }
        guard attach != nil || contentType == nil else {
            throw UsageError("--content-type requires --attach")
        }
        guard attach != nil || !keepsMetadata else {
            throw UsageError("--keep-metadata requires --attach")
        }
        guard let attach else { return perLine ? .lines : .whole(nil) }
        guard !perLine else {
            throw UsageError("--attach is for a single message and cannot be combined with --jsonl")
        }
        if let contentType {
            guard (1...100).contains(contentType.utf8.count), !hasControls(contentType) else {
                throw UsageError(
                    "--content-type must have 1 to 100 bytes and no control characters")
            }
        }
        if let blob {
            guard blob != "-", !hasControls(blob) else {
                throw UsageError("the file name of --blob must not have control characters")
            }
            try Output.check(blob, isNoneOf: read)
            guard blob != output else { throw UsageError("--blob and -o are the same file") }
        }
        let folder = blob == nil ? try uploads?() : nil
        return .whole(
            Attachment(
                path: attach, blob: blob ?? folder?.new() ?? "", uploads: folder,
                contentType: contentType, keepsMetadata: keepsMetadata,
                announcer: announcer, form: form))
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
    /// The encryption of the blob in ``write(text:)``.
    package enum Form {
        /// ``Blob``. The cipher encrypts long files faster than the core does.
        case chunks((any ChunkCipher)?)
        /// One AES-256-GCM box, as in Kecalek.
        case box
    }

    package let path: String
    private let name: String
    /// The media type: the given one, or that of the content after it was read.
    package private(set) var contentType: String
    private let isTypeGiven: Bool
    package let blob: String
    /// The folder of a blob that `send` uploads, or `nil`.
    private let uploads: BlobFolder?
    /// The ids under which the blob is uploaded.
    private let ids = BlobIDs()
    private let keepsMetadata: Bool
    private let announcer: String?
    private let form: Form
    /// The blob, whose file is created when the message is ready.
    package var output: Output?

    init(
        path: String, blob: String, uploads: BlobFolder?, contentType: String?,
        keepsMetadata: Bool,
        announcer: String?, form: Form
    ) {
        self.path = path
        self.blob = blob
        self.uploads = uploads
        self.contentType = contentType ?? "application/octet-stream"
        isTypeGiven = contentType != nil
        self.keepsMetadata = keepsMetadata
        self.announcer = announcer
        self.form = form
        name = FileBody.name(ofPath: path)
    }

    /// Copies the file, without the metadata of a picture. Sets ``contentType``.
    private func copyFile(to sink: any ByteSink) throws {
        let source = PeekingSource(try Input(path: path))
        let format = PictureMetadata.Format(Array(try source.peek(12)))
        if !isTypeGiven, let type = format.mediaType { contentType = type }
        guard !keepsMetadata else { return try copy(from: source, to: sink) }
        if format == .untouched, let announcer {
            Terminal.say(
                "\(announcer): note: \(path) can name a place, a time and a camera, which are not removed"
            )
        }
        do {
            try PictureMetadata.remove(format, from: source, to: sink)
        } catch is PictureMetadata.Malformed {
            throw Failure(
                .malformed,
                "\(path) is not a whole picture, so what it tells about you cannot be removed",
                hint: "to send it as it is: --keep-metadata")
        }
    }

    /// Returns the file for a reader that reads it twice: a picture without its metadata, in memory. Sets
    /// ``contentType``.
    package func seekable() throws -> any SeekableSource {
        let file = try SeekableFile(path: path)
        var beginning = [UInt8](repeating: 0, count: 12)
        let count = try beginning.withUnsafeMutableBytes { try file.fill($0, at: 0) }
        let format = PictureMetadata.Format(Array(beginning[..<count]))
        if let type = format.mediaType, !isTypeGiven { contentType = type }
        guard format.isPicture, !keepsMetadata, file.count <= Blob.maximumFileSize else {
            return file
        }
        let picture = MemorySink()
        try copyFile(to: picture)
        return SeekableMemory(picture.bytes)
    }

    /// The name of the blob in the pointer.
    package var objectKey: String { String(blob.split(separator: "/").last ?? "blob") }

    /// Creates the file of the blob.
    package func finish() throws {
        try output?.finish()
        try uploads?.name(blob, ids.all)
    }

    /// Writes the blob. Returns the message with `text` and the file's pointer.
    package func message(text: String?) throws -> MessageText {
        MessageText(
            body: try write(text: text), extra: [], upload: uploads == nil ? nil : ids)
    }

    private func write(text: String?) throws -> JSONObject {
        let output = try Output(path: blob, content: .binary)
        self.output = output
        let size: Int64
        let pointer: (String, JSON)
        do {
            switch form {
            case .chunks(let cipher): (size, pointer) = try writeChunks(cipher, to: output)
            case .box: (size, pointer) = try writeBox(to: output)
            }
        } catch BlobError.tooLong(let limit) {
            throw Failure(
                .malformed, "\(path) is longer than \(limit) bytes",
                hint: "a longer file can be encrypted as a file, with encrypt -r")
        }
        return JSONObject([
            ("type", .string("file")), ("name", .string(name)),
            ("contentType", .string(contentType)), ("size", .integer(size)), pointer,
            ("text", text.flatMap { $0.isEmpty ? nil : .string($0) }),
        ])
    }

    /// Writes a ``Blob``. Returns the length of the file, and the member of the body that opens the blob.
    private func writeChunks(
        _ cipher: (any ChunkCipher)?, to output: Output
    ) throws -> (Int64, (String, JSON)) {
        let writer = try BlobWriter(cipher: cipher, to: Unfinished(output))
        try copyFile(to: writer)
        try writer.finish()
        return (writer.fileSize, ("blob", .object(writer.pointer.object)))
    }

    /// Writes one box, for which the file is held in memory.
    private func writeBox(to output: Output) throws -> (Int64, (String, JSON)) {
        let file = BoundedMemory(limit: Int64(FileEncryption.limit))
        try copyFile(to: file)
        let key = randomBytes(32)
        try output.write(
            try FileEncryption.seal(file.bytes, key: SecretBytes(copying: key)))
        return (Int64(file.bytes.count), ("key", .base64(key)))
    }
}

/// The ids under which a blob is uploaded: one for each recipient.
package final class BlobIDs: Sendable {
    private let ids = Mutex<[[UInt8]]>([])

    /// Returns a new random id, 32 bytes.
    package func make() -> [UInt8] {
        let id = randomBytes(32)
        ids.withLock { $0.append(id) }
        return id
    }

    /// The ids that were made.
    var all: [[UInt8]] { ids.withLock { $0 } }
}

/// Collects the bytes of a file in memory. Throws ``BlobError/tooLong(limit:)``.
private final class BoundedMemory: ByteSink {
    private(set) var bytes: [UInt8] = []
    private let limit: Int64

    init(limit: Int64) { self.limit = limit }

    func write(_ bytes: UnsafeRawBufferPointer) throws(BlobError) {
        guard Int64(self.bytes.count + bytes.count) <= limit else { throw .tooLong(limit: limit) }
        self.bytes.append(contentsOf: bytes)
    }

    func finish() {}
}

/// Passes bytes on, but does not end the other sink.
private final class Unfinished: ByteSink {
    private let sink: any ByteSink

    init(_ sink: any ByteSink) { self.sink = sink }

    func write(_ bytes: UnsafeRawBufferPointer) throws { try sink.write(bytes) }

    func finish() {}
}
