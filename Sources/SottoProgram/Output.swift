import Glibc
public import SottoBytes

/// The destination of a tool's result: stdout, or a file that appears only when it is complete.
public final class Output {
    private enum Destination {
        case descriptor(Int32)
        case file(AtomicFile)
    }
    private let destination: Destination
    private let name: String
    private var buffer: [UInt8] = []
    private var isWide = false
    /// Whether the output is a terminal.
    public private(set) lazy var isTerminal =
        if case .descriptor(let descriptor) = destination {
            Terminal.isTerminal(descriptor)
        } else {
            false
        }

    /// The kind of the content, which decides how it is shown on a terminal.
    public enum Content: Sendable {
        /// Text, JSON lines or armor.
        case text
        /// Any bytes; refused on a terminal.
        case binary
        /// Either; on a terminal ``TerminalText`` detects which.
        case unknown
    }

    /// Opens `path`. `nil` is stdout, and binary content is then refused if stdout is a terminal; `-` is always stdout;
    /// a device or pipe is written directly, and a descriptor such as `/dev/fd/3` as it is; any other path becomes an
    /// ``AtomicFile``. A symbolic link stays: the file that it leads to is replaced.
    ///
    /// Throws if the path is the same file as one of `inputs`.
    public init(
        path: String?, content: Content, inputs: [Input] = [], replacing: Bool = true
    ) throws(Failure) {
        if path?.isEmpty == true { throw Failure(.usage, "the name of the output file is empty") }
        guard let path, path != "-" else {
            if path == nil, content == .binary, Terminal.isTerminal(1) {
                throw .binaryOnTerminal
            }
            destination = .descriptor(1)
            name = "standard output"
            return
        }
        name = path
        var status = stat()
        let place = try OutputPlace(path)
        if case .descriptor(let number) = place {
            let mode = fcntl(number, F_GETFL)
            let copy =
                mode < 0 || mode & O_ACCMODE == O_RDONLY
                ? -1 : fcntl(number, F_DUPFD_CLOEXEC, 3)
            guard copy >= 0, fstat(copy, &status) == 0 else {
                throw Failure(errno: EBADF, "write", path)
            }
            guard !Self.isRead(status, inputs) else { throw Self.isRead(path) }
            destination = .descriptor(copy)
            return
        }
        // Without replacement, a link counts as a file that exists.
        let file = if case .path(let followed) = place, replacing { followed } else { path }
        if stat(file, &status) == 0 {
            guard !Self.isRead(status, inputs) else { throw Self.isRead(path) }
            if status.st_mode & S_IFMT == S_IFDIR {
                throw Failure(.cannotCreate, "cannot create \(path): is a directory")
            }
            if status.st_mode & S_IFMT != S_IFREG {
                let descriptor = open(file, O_WRONLY | O_CLOEXEC)
                guard descriptor >= 0 else { throw Failure(errno: errno, "write", path) }
                destination = .descriptor(descriptor)
                return
            }
        }
        destination = .file(try AtomicFile(path: file, replacing: replacing))
    }

    /// Opens a file at its end, or creates it with mode 0600. A device or pipe is written directly.
    package init(appendingTo path: String) throws(Failure) {
        let descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Failure(errno: errno, "write", path) }
        destination = .descriptor(descriptor)
        name = path
    }

    /// Throws if `path` is one of the files in `names`, which the command reads. Names that are not files are ignored.
    ///
    /// Replacing an identity or a card with a result made from it could lose it permanently.
    public static func check(_ path: String?, isNoneOf names: [String]) throws(Failure) {
        func file(_ path: String) -> (dev_t, ino_t)? {
            var status = stat()
            guard path != "-", stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
                return nil
            }
            return (status.st_dev, status.st_ino)
        }
        guard let path, let output = file(path) else { return }
        for name in names {
            if let read = file(name), read == output { throw isRead(path) }
        }
    }

    private static func isRead(_ output: stat, _ inputs: [Input]) -> Bool {
        inputs.contains { $0.identity.map { $0 == (output.st_dev, output.st_ino) } ?? false }
    }

    private static func isRead(_ path: String) -> Failure {
        Failure(
            .usage, "the output file \(path) is also an input file", hint: "choose another name")
    }

    /// The size of the terminal, or `nil` if the output is not a terminal.
    public var terminalSize: Terminal.Size? {
        if case .descriptor(let descriptor) = destination {
            Terminal.size(of: descriptor)
        } else {
            nil
        }
    }

    /// The width of the terminal in columns, or `nil` if the output is not a terminal.
    public var terminalWidth: Int? { terminalSize?.columns }

    /// Whether the output is a file that appears only when it is complete.
    public var isFile: Bool { if case .file = destination { true } else { false } }

    /// Whether the output is a regular file, by its name or by a redirection.
    public var isRegularFile: Bool {
        var status = stat()
        return isFile || fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// Whether the output is a device that is no terminal, such as `/dev/null`.
    public var isDevice: Bool {
        var status = stat()
        return !isTerminal && fstat(descriptor, &status) == 0
            && status.st_mode & S_IFMT == S_IFCHR
    }

    var descriptor: Int32 {
        switch destination {
        case .descriptor(let descriptor): descriptor
        case .file(let file): file.descriptor
        }
    }

    /// Writes all of `bytes`, and buffers small writes.
    public func write(_ bytes: UnsafeRawBufferPointer) throws(Failure) {
        if buffer.count + bytes.count < 64 << 10 {
            buffer.append(contentsOf: bytes)
            return
        }
        if !isWide {
            isWide = true
            Pipe.widen(descriptor)
        }
        try flush()
        try put(bytes)
    }

    private func put(_ bytes: UnsafeRawBufferPointer) throws(Failure) {
        try Self.writeAll(bytes, to: descriptor, name: name)
        if case .file(let file) = destination { file.writeBehind(bytes.count) }
    }

    /// Writes all of `bytes`.
    public func write(_ bytes: [UInt8]) throws(Failure) {
        var failure: Failure?
        bytes.withUnsafeBytes { buffer in
            do throws(Failure) { try write(buffer) } catch { failure = error }
        }
        if let failure { throw failure }
    }

    /// Writes a text unchanged.
    package func write(utf8 text: String) throws(Failure) {
        var text = text
        var failure: Failure?
        text.withUTF8 { bytes in
            do throws(Failure) { try write(UnsafeRawBufferPointer(bytes)) } catch {
                failure = error
            }
        }
        if let failure { throw failure }
    }

    /// Writes a record as one line. Control characters that a terminal would interpret are written as JSON escapes.
    public func writeRecord(_ record: JSONObject) throws(Failure) {
        try writeRecord(serialized: record.serialized())
    }

    /// Writes a serialized record like ``writeRecord(_:)``.
    public func writeRecord(serialized record: [UInt8]) throws(Failure) {
        var line = record
        if isTerminal { line = Terminal.escapingControls(inJSON: line) }
        line.append(UInt8(ascii: "\n"))
        try write(line)
    }

    /// Writes a record like ``writeRecord(_:)``, and flushes the output.
    public func writeLine(_ record: JSONObject) throws(Failure) {
        try writeRecord(record)
        try flush()
    }

    /// Writes text for users. On a terminal, control characters are escaped.
    public func writeText(_ text: String) throws(Failure) {
        try write(Array((isTerminal ? Terminal.escapingControls(text) : text).utf8))
    }

    /// Writes received text and a line feed. On a terminal, lines after the first are indented and marked, see
    /// ``TerminalParagraph``, and a long text is cut; otherwise the text is unchanged. Returns whether all of it was written.
    @discardableResult
    public func writeParagraph(_ text: String) throws(Failure) -> Bool {
        guard isTerminal else {
            try write(Array((text + "\n").utf8))
            return true
        }
        let (shown, isWhole) = TerminalParagraph.beginning(text, width: terminalWidth)
        try write(Array((shown + "\n").utf8))
        return isWhole
    }

    /// Writes the buffered bytes, and wipes the buffer: it can have a plaintext, and a program can wait long after it.
    public func flush() throws(Failure) {
        guard !buffer.isEmpty else { return }
        defer {
            wipe(&buffer)
            buffer.removeAll(keepingCapacity: true)
        }
        var failure: Failure?
        buffer.withUnsafeBytes { bytes in
            do throws(Failure) { try put(bytes) } catch { failure = error }
        }
        if let failure { throw failure }
    }

    /// Ends the output. A file is synchronized and gets its name; stdout is closed, so that an error that the system
    /// reports late is not lost. Without this call a file is not created.
    public func finish() throws(Failure) {
        try flush()
        switch destination {
        case .file(let file): try file.commit()
        case .descriptor(let descriptor):
            // A duplicate is closed, so that the descriptor's number stays in use.
            let copy = dup(descriptor)
            if copy >= 0, close(copy) != 0, errno != EINTR {
                throw Failure(errno: errno, "write", name)
            }
        }
    }

    static func writeAll(
        _ bytes: UnsafeRawBufferPointer, to descriptor: Int32, name: String
    ) throws(Failure) {
        switch SottoBytes.writeAll(bytes, to: descriptor) {
        case 0: return
        case EPIPE: throw .closedPipe
        case let code: throw Failure(errno: code, "write", name)
        }
    }
}

extension Failure {
    /// A failure to print the result of work that is done: `hint` replaces the advice to run the command again.
    public func afterWork(_ hint: String) -> Failure {
        status == .ioError
            ? Failure(status, message, hint: "do not run the command again: " + hint) : self
    }
}
