public import Arguments
import Glibc
public import SottoBytes

/// The source of a secret. The command line itself is never a source, because other users can read it.
///
/// `@ENV:NAME`, `@FD:N` or `@FILE:PATH`; for a file or descriptor, its first line.
public enum SecretSource: Sendable, ExpressibleByArgument {
    case environment(String)
    case descriptor(Int32)
    case file(String)
    /// Any other text, possibly the secret itself. It is not stored, so that no message repeats it.
    case exposed

    /// Parses the text of an option.
    public init?(argument: String) {
        // Bytes are compared, because a name may begin with a combining mark that would join the colon.
        func rest(after prefix: String) -> String? {
            guard argument.utf8.starts(with: prefix.utf8) else { return nil }
            return String(argument.utf8.dropFirst(prefix.utf8.count))
        }
        if let name = rest(after: "@ENV:") {
            self = .environment(name)
        } else if let number = rest(after: "@FD:").flatMap({ Int32($0) }), number >= 0 {
            self = .descriptor(number)
        } else if let path = rest(after: "@FILE:") {
            self = .file(path)
        } else {
            self = .exposed
        }
    }

    /// Throws a usage error if the secret itself was given.
    public func validate() throws {
        if case .exposed = self { throw UsageError(Self.exposure) }
    }

    private static let exposure =
        "a secret cannot be an argument because other users can read it: use @ENV:NAME, @FD:N or @FILE:PATH"

    /// The file that contains the secret, if the source is a file.
    public var path: String? { if case .file(let path) = self { path } else { nil } }

    /// Reads the secret without the line feed or CR LF at its end, and without a byte order mark. Throws if it is empty or longer than 4096 bytes.
    public func read() throws(Failure) -> SecretBytes {
        let secret: SecretBytes
        switch self {
        case .environment(let name):
            guard let value = getenv(name) else {
                throw Failure(.usage, "the environment variable \(name) is not set")
            }
            secret = SecretBytes(
                copying: UnsafeRawBufferPointer(start: value, count: strlen(value)))
        case .descriptor(let number):
            secret = try Self.firstLine(of: number, name: "descriptor \(number)")
        case .file(let path):
            let descriptor = open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw Failure(errno: errno, "read", path) }
            defer { close(descriptor) }
            secret = try Self.firstLine(of: descriptor, name: path)
        case .exposed: throw Failure(.usage, Self.exposure)
        }
        guard secret.count > 0 else { throw Failure(.usage, "the secret is empty") }
        return secret
    }

    private static func firstLine(of descriptor: Int32, name: String) throws(Failure) -> SecretBytes
    {
        // The line does not grow: a copy of the secret would stay in memory.
        var line: [UInt8] = []
        line.reserveCapacity(4097)
        defer { wipe(&line) }
        func secret() -> SecretBytes {
            if line.last == UInt8(ascii: "\r") { line.removeLast() }
            let mark = line.starts(with: ByteOrderMark.bytes) ? ByteOrderMark.bytes.count : 0
            return SecretBytes(copying: line[mark...])
        }
        var byte: UInt8 = 0
        while line.count <= 4096 {
            let count = Glibc.read(descriptor, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Failure(errno: errno, "read", name) }
            if count == 0 || byte == UInt8(ascii: "\n") { return secret() }
            line.append(byte)
        }
        throw Failure(.malformed, "the secret in \(name) is longer than 4096 bytes")
    }
}
