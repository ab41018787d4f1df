import SottoContacts
package import Sotto
import SottoMedia
package import SottoState
package import SottoTool
import Synchronization

/// A file that is encrypted separately, with its key in the message.
package final class Attachment {
    /// The encryption of the blob in ``write(text:)``.
    package enum Form {
        /// ``Blob``. The cipher encrypts long files faster than the core does.
        case chunks((any ChunkCipher)?)
        /// One AES-256-GCM box.
        case box(any PiecewiseGCM.Type)
    }

    /// The bytes of the file.
    package enum Content: Sendable {
        /// The file at this path; `-` is standard input.
        case file(path: String)
        /// The content of a message that is too long: a text, or other bytes.
        case text([UInt8]), data([UInt8])
    }

    /// A file, and what the recipient is told about it.
    package struct Description: Sendable {
        let content: Content
        let name: String
        /// The media type, or `nil` for that of the content.
        let contentType: String?
        var isVoice = false
        var keepsMetadata = false
        /// Whether a secret key may be sent.
        var allowsSecrets = false
    }

    private let description: Description
    private var name: String { description.name }
    /// The media type: the given one, or that of the content after it was read.
    package private(set) var contentType: String
    /// What is known about the content after it was read.
    private var facts = MediaFacts()
    package let blob: String
    /// The folder of a blob that `send` uploads, or `nil`.
    private let uploads: BlobFolder?
    /// The SHA-256 of a blob in chunks that was written.
    private var digest: [UInt8]?
    /// The ids under which the blob is uploaded.
    private let ids = BlobIDs()
    private let announcer: String?
    private let form: Form
    /// The blob, whose file is created when the message is ready.
    package var output: Output?

    package init(
        _ description: Description, blob: String, uploads: BlobFolder?, announcer: String?,
        form: Form
    ) {
        self.description = description
        self.blob = blob
        self.uploads = uploads
        contentType = description.contentType ?? "application/octet-stream"
        self.announcer = announcer
        self.form = form
    }

    /// Creates a picture, without its metadata, for a blob in chunks at `blob`.
    package convenience init(picture path: String, blob: String, announcer: String?) {
        self.init(
            Description(
                content: .file(path: path), name: FileBody.name(ofPath: path), contentType: nil),
            blob: blob, uploads: nil, announcer: announcer, form: .chunks(nil))
    }

    /// The path of the file, or its name if it has none.
    package var path: String {
        if case .file(let path) = description.content { path } else { name }
    }

    private func open() throws -> PeekingSource {
        switch description.content {
        case .file(let path): PeekingSource(try Input(path: path))
        case .text(let bytes), .data(let bytes): PeekingSource(MemorySource(bytes))
        }
    }

    /// Copies the file, without the metadata of a picture. Sets ``contentType`` and ``facts``.
    private func copyFile(to sink: any ByteSink) throws {
        let source = try open()
        let inspection = MediaInspection(path: path, announcer: announcer)
        let beginning = try source.peek(MediaInspection.beginning)
        try checkSecrets(beginning)
        let format = PictureMetadata.Format(Array(beginning.prefix(12)))
        let type = format.mediaType ?? inspection.type(of: beginning)
        if description.contentType == nil, let type { contentType = type }
        let kept = inspection.collector(for: format, type: type, before: sink)
        try copyPicture(format, from: source, to: kept ?? sink)
        if let kept { facts = inspection.facts(of: kept.bytes, isPicture: format.isPicture) }
    }

    /// Refuses a file that has a secret key, by its beginning, and the identity file itself, with a passphrase too.
    private func checkSecrets(_ beginning: some Collection<UInt8>) throws(Failure) {
        guard !description.allowsSecrets else { return }
        if case .file(let path) = description.content, IdentityFile.isDefault(path) {
            throw .secret(.key(.identity), in: path)
        }
        if let secret = SecretContent(beginning: beginning) {
            throw .secret(secret, in: path)
        }
    }

    private func copyPicture(
        _ format: PictureMetadata.Format, from source: PeekingSource, to sink: any ByteSink
    ) throws {
        guard !description.keepsMetadata else {
            return try copy(from: source, to: sink)
        }
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
                hint: "save it as a new file with a program for pictures, and send that file")
        }
    }

    /// Returns the file for a reader that reads it twice: a picture without its metadata, in memory. Sets
    /// ``contentType``.
    package func seekable() throws -> any SeekableSource {
        guard path != "-" else {
            let memory = BoundedMemory(limit: Blob.maximumFileSize)
            try copyFile(to: memory)
            return SeekableMemory(memory.bytes)
        }
        let file = try SeekableFile(path: path)
        var beginning = [UInt8](repeating: 0, count: MediaInspection.beginning)
        let count = try beginning.withUnsafeMutableBytes { try file.fill($0, at: 0) }
        beginning.removeSubrange(count...)
        try checkSecrets(beginning)
        let format = PictureMetadata.Format(Array(beginning.prefix(12)))
        if description.contentType == nil {
            let inspection = MediaInspection(path: path, announcer: announcer)
            contentType = format.mediaType ?? inspection.type(of: beginning) ?? contentType
        }
        guard format.isPicture, !description.keepsMetadata, file.count <= Blob.maximumFileSize
        else { return file }
        let picture = MemorySink()
        try copyFile(to: picture)
        return SeekableMemory(picture.bytes)
    }

    /// The name of the blob in the pointer.
    package var objectKey: String { String(blob.split(separator: "/").last ?? "blob") }

    /// Creates the file of the blob.
    package func finish() throws {
        try output?.finish()
        guard let uploads, let digest else { return }
        try uploads.keep(blob, digest: digest)
        try uploads.name(composed: digest, ids.all)
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
            case .box(let gcm): (size, pointer) = try writeBox(gcm, to: output)
            }
        } catch BlobError.tooLong(let limit) {
            throw tooLong(Int(limit))
        } catch FileEncryptionError.tooLong(let limit) {
            throw tooLong(limit)
        }
        return JSONObject([
            ("type", .string("file")), ("name", .string(name)),
            ("contentType", .string(contentType)), ("size", .integer(size)), pointer,
            ("width", facts.width.map { .integer($0) }),
            ("height", facts.height.map { .integer($0) }),
            ("duration", facts.duration.map { .integer($0) }),
            ("voice", description.isVoice ? .bool(true) : nil),
            ("thumbnail", facts.thumbnail.map { .base64($0) }),
            ("text", text.flatMap { $0.isEmpty ? nil : .string($0) }),
        ])
    }

    private func tooLong(_ limit: Int) -> Failure {
        Failure(
            .malformed, "\(path) is longer than \(limit >> 20) MiB",
            hint: "a longer file can be encrypted as a file, with sotto encrypt -r")
    }

    /// Writes a ``Blob``. Returns the length of the file, and the member of the body that opens the blob.
    private func writeChunks(
        _ cipher: (any ChunkCipher)?, to output: Output
    ) throws -> (Int64, (String, JSON)) {
        let writer = try BlobWriter(cipher: cipher, to: Unfinished(output))
        try copyFile(to: writer)
        try writer.finish()
        let pointer = writer.pointer
        digest = pointer.digest
        return (writer.fileSize, ("blob", .object(pointer.object)))
    }

    /// Writes one box.
    private func writeBox(
        _ gcm: any PiecewiseGCM.Type, to output: Output
    ) throws -> (Int64, (String, JSON)) {
        let key = randomBytes(32)
        let writer = FileEncryptionWriter(
            key: SecretBytes(copying: key), gcm: gcm, to: Unfinished(output))
        try copyFile(to: writer)
        try writer.finish()
        return (Int64(writer.fileSize), ("key", .base64(key)))
    }
}

/// The ids under which a blob is uploaded: one for each recipient.
package final class BlobIDs: Sendable {
    private let ids = Mutex<[[UInt8]]>([])

    package init() {}

    /// Returns a new random id, 32 bytes.
    package func make() -> [UInt8] {
        let id = randomBytes(32)
        ids.withLock { $0.append(id) }
        return id
    }

    /// The ids that were made.
    package var all: [[UInt8]] { ids.withLock { $0 } }
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
