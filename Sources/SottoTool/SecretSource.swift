public import ArgumentParser
import Glibc
public import Sotto

/// Where a secret comes from; never the command line itself, which others can read.
///
/// `@ENV:NAME`, `@FD:N` or `@FILE:PATH`; a file or descriptor gives its first line.
public enum SecretSource: Sendable, ExpressibleByArgument {
    case environment(String)
    case descriptor(Int32)
    case file(String)

    /// Reads the text of an option.
    public init?(argument: String) {
        if argument.hasPrefix("@ENV:") {
            self = .environment(String(argument.dropFirst(5)))
        } else if argument.hasPrefix("@FD:"), let number = Int32(argument.dropFirst(4)), number >= 0
        {
            self = .descriptor(number)
        } else if argument.hasPrefix("@FILE:") {
            self = .file(String(argument.dropFirst(6)))
        } else {
            return nil
        }
    }

    /// Reads the secret, without the line feed at its end. Throws when it is empty or over 4096 bytes.
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
        }
        guard secret.count > 0 else { throw Failure(.usage, "the passphrase is empty") }
        return secret
    }

    private static func firstLine(of descriptor: Int32, name: String) throws(Failure) -> SecretBytes
    {
        var line: [UInt8] = []
        defer { wipe(&line) }
        var byte: UInt8 = 0
        while line.count <= 4096 {
            let count = Glibc.read(descriptor, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Failure(errno: errno, "read", name) }
            if count == 0 || byte == UInt8(ascii: "\n") { return SecretBytes(copying: line) }
            line.append(byte)
        }
        throw Failure(.malformed, "the passphrase in \(name) is longer than 4096 bytes")
    }
}
