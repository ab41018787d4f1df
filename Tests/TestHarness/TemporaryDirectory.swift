import Foundation
package import Glibc

/// A directory for one test, mode 0700, removed with its content when the value is freed. No test can go on without it,
/// so that errors of making it and of writing whole files end the process.
package final class TemporaryDirectory: Sendable {
    package let path: String

    package init() {
        let base = environment("TMPDIR") ?? "/tmp"
        var template = Array((base + "/sotto-test.XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else { fatalError("\(SystemError("mkdtemp in \(base)"))") }
        path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Returns the path of `name` in the directory.
    package func callAsFunction(_ name: String) -> String { path + "/" + name }

    /// Writes a file with mode 0600 and returns its path.
    @discardableResult
    package func write(
        _ name: String, _ bytes: some Sequence<UInt8>, mode: mode_t = 0o600
    ) -> String {
        let path = self(name)
        do {
            try Data(bytes).write(to: URL(fileURLWithPath: path))
            guard chmod(path, mode) == 0 else { throw SystemError("chmod \(name)") }
        } catch {
            fatalError("write \(path): \(error)")
        }
        return path
    }

    /// Appends to a file, or writes to a pipe after a reader has opened it.
    package func append(_ name: String, _ bytes: [UInt8]) throws {
        let descriptor = open(self(name), O_WRONLY | O_APPEND | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError("open \(name)") }
        defer { close(descriptor) }
        guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count else {
            throw SystemError("write \(name)")
        }
    }

    package func read(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: self(name))))
    }

    /// Returns the complete lines of a file.
    package func lines(_ name: String) -> [String] {
        let text = String(decoding: Self.contents(self(name)), as: UTF8.self)
        return text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            .map(String.init)
    }

    /// Returns the content of any file, also of procfs; empty if it cannot be opened.
    package static func contents(_ path: String) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = Glibc.read(descriptor, &block, block.count)
            if count <= 0 { return bytes }
            bytes += block[..<count]
        }
    }

    package func exists(_ name: String) -> Bool { access(self(name), F_OK) == 0 }

    /// The names of all files, sorted.
    package func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path).sorted()
    }
}

/// A system call that failed in the test itself.
package struct SystemError: Error, CustomStringConvertible {
    package let description: String

    package init(_ what: String, code: Int32 = errno) {
        description = "\(what): \(String(cString: strerror(code)))"
    }
}
