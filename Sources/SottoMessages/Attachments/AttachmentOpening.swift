import Glibc
package import Sotto
import SottoTool

/// Decrypts the file of a message with the key in the message.
package struct AttachmentOpening {
    private let file: AttachedFile
    private let cipher: (any ChunkCipher)?
    private let gcm: (any PiecewiseGCM.Type)?

    /// Prepares a file. `cipher` decrypts long files faster than the core does. `gcm` is required for a file in one box.
    package init(
        _ file: AttachedFile, cipher: (any ChunkCipher)? = nil, gcm: (any PiecewiseGCM.Type)? = nil
    ) {
        (self.file, self.cipher, self.gcm) = (file, cipher, gcm)
    }

    /// Decrypts the blob at `blob`, or on stdin, to a file, to stdout, or into a folder, where the file gets the sender's
    /// name. Returns the path of a file in a folder, else `nil`. Nothing is released before it is authenticated.
    package func open(_ blob: String?, to output: String?) throws -> String? {
        let form = try file.validForm()
        var path = output
        let isFolder = output.map(AttachedFile.isFolder) ?? false
        if isFolder, let output { path = try file.freePath(in: output) }
        switch form {
        case .blob(let pointer, let fileSize):
            try open(pointer, fileSize, blob, to: path, isNew: isFolder)
        case .box(let key): try open(key, blob, to: path, isNew: isFolder)
        case .foreign:
            let messenger = file.messenger ?? "MESSENGER"
            throw Failure(
                .usage, "the attachment has the format of \(messenger)",
                hint: "give the same arguments to sotto bridge open \(messenger)")
        }
        return isFolder ? path : nil
    }

    /// Decrypts a blob. Its last chunk and its digest are verified before a pipe or a terminal gets anything.
    private func open(
        _ pointer: BlobPointer, _ fileSize: Int64, _ blob: String?, to output: String?, isNew: Bool
    ) throws {
        func open(_ source: any ByteSource, to sink: any ByteSink) throws {
            try copy(
                from: BlobReader(pointer, fileSize: fileSize, cipher: cipher, from: source),
                to: sink)
        }
        let input = try Input(path: blob)
        let source = PeekingSource(input)
        // For example the download before it in the pipe was interrupted.
        guard try !source.peek(1).isEmpty else { throw Failure(.no, "the input is empty") }
        try AttachedFile.write(to: output, isNew: isNew, from: input) { sink, isFile in
            if isFile { return try open(source, to: sink) }
            let spool = try Spool()
            try open(TeeSource(source, to: spool), to: NullSink())
            try spool.rewind()
            try open(spool, to: sink)
        }
    }

    /// Decrypts a blob that is one box.
    private func open(_ key: [UInt8], _ blob: String?, to output: String?, isNew: Bool) throws {
        guard let gcm else { preconditionFailure("a file in one box requires AES-GCM") }
        try AttachedFile.decrypt(twice: blob, to: output, isNew: isNew) { blob, sink in
            do {
                try copy(
                    from: FileEncryptionReader(blob, key: SecretBytes(copying: key), gcm: gcm),
                    to: sink)
            } catch is FileEncryptionError {
                throw SuiteError.refused
            }
        }
    }
}

extension AttachedFile {
    /// The longest name of a file system in bytes.
    private static let nameBytes = 255
    /// The most files with one name in a folder.
    private static let mostCopies = 1_000

    /// The sender's name for the file, made harmless: without a path, control characters and a leading dot.
    package var safeName: String {
        let name = FileBody.name(ofPath: name ?? "")
        return name.hasPrefix(".") ? "_" + name.dropFirst() : name
    }

    /// Returns a path in a folder for the file, at which nothing exists yet: ``safeName``, or with a number before its
    /// extension.
    func freePath(in folder: String) throws(Failure) -> String {
        try Self.freePath(for: safeName, in: folder)
    }

    /// Whether a path is a folder.
    package static func isFolder(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// Returns a path in a folder at which nothing exists yet: a name, or with a number before its extension.
    package static func freePath(
        for name: String, in folder: String
    ) throws(Failure) -> String {
        for copy in 0..<Self.mostCopies {
            let number = copy == 0 ? "" : "-\(copy)"
            let path = folder + "/" + FileBody.shortened(name, to: Self.nameBytes, suffix: number)
            var status = stat()
            if lstat(path, &status) != 0 { return path }
        }
        throw Failure(
            .cannotCreate, "\(folder) has \(Self.mostCopies) files with the name \(name)",
            hint: "name another folder or a file")
    }
}
