import Glibc

/// A temporary directory, mode 0700, that is deleted with the value.
package final class Scratch: Sendable {
    package let path: String

    package init() {
        var template = Array("/tmp/sotto-relay-tests.XXXXXX".utf8CString)
        mkdtemp(&template)
        path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    }

    deinit { _ = ChildProcess.run("/bin/rm", ["-rf", path]) }

    package func file(_ name: String) -> String { path + "/" + name }

    package func write(_ name: String, _ bytes: [UInt8]) -> String {
        let descriptor = open(file(name), O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        defer { close(descriptor) }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            rest = rest.dropFirst(count)
        }
        return file(name)
    }

    /// Returns the complete lines of a file.
    package func lines(_ name: String) -> [String] {
        let text = String(decoding: Self.contents(file(name)), as: UTF8.self)
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        _ = lines.popLast()
        return lines
    }

    package static func contents(_ path: String) -> [UInt8] {
        let descriptor = open(path, O_RDONLY)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(descriptor, &block, block.count)
            if count <= 0 { return bytes }
            bytes += block[..<count]
        }
    }
}
