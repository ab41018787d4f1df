import Sotto
import SottoContacts
import SottoOpenSSL
import SottoTool

/// Decrypts an attachment with the key in a message record.
struct AttachmentDecryption {
    /// A file with the record, `-`, or the number of an opened message.
    let record: String
    let blob: String?
    let identity: IdentityListOptions
    let lockTimeout: Double
    let output: String?

    func run() throws {
        switch try AttachedFile.find(record, identity, lockTimeout: lockTimeout) {
        case .blob(let pointer, let fileSize): try decrypt(pointer, fileSize)
        case .box(let key): try decryptBox(key)
        case .whisper2:
            throw Failure(
                .usage, "the attachment has Whisper2's format",
                hint: "give the same arguments to bridge open whisper2")
        }
    }

    /// Decrypts a blob. Its last chunk and its digest are verified before a pipe or a terminal gets anything.
    private func decrypt(_ pointer: BlobPointer, _ fileSize: Int64) throws {
        func open(_ source: any ByteSource, to sink: any ByteSink) throws {
            try copy(
                from: BlobReader(
                    pointer, fileSize: fileSize, cipher: OpenSSLChunkCipher(), from: source),
                to: sink)
        }
        let input = try Input(path: blob)
        try AttachedFile.write(to: output, from: input) { sink, isFile in
            if isFile { return try open(input, to: sink) }
            let spool = try Spool()
            try open(TeeSource(input, to: spool), to: NullSink())
            try spool.rewind()
            try open(spool, to: sink)
        }
    }

    /// Decrypts a blob that is one box.
    private func decryptBox(_ key: [UInt8]) throws {
        try AttachedFile.decrypt(twice: blob, to: output) { blob, sink in
            guard blob.count <= FileEncryption.limit + FileEncryption.overhead else {
                throw SuiteError.refused
            }
            var bytes = [UInt8](repeating: 0, count: blob.count)
            let count = try bytes.withUnsafeMutableBytes { try blob.fill($0, at: 0) }
            do {
                try sink.write(
                    FileEncryption.open(
                        Array(bytes[..<count]), key: SecretBytes(copying: key)))
            } catch is FileEncryptionError {
                throw SuiteError.refused
            }
        }
    }
}
