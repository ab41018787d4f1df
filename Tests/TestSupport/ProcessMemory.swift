import CTestSupport
import Glibc

/// A copy of the writable memory of a process (proc(5)).
package struct ProcessMemory {
    private let regions: [[UInt8]]

    /// Copies the memory of a process that this user may trace: one of its children.
    package init(of process: Int32) {
        let file = open("/proc/\(process)/mem", O_RDONLY | O_CLOEXEC)
        defer { close(file) }
        let maps = String(
            decoding: TemporaryDirectory.contents("/proc/\(process)/maps"), as: UTF8.self)
        regions = maps.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            guard words.count > 1, words[1].hasPrefix("rw") else { return nil }
            let ends = words[0].split(separator: "-").compactMap { Int($0, radix: 16) }
            guard ends.count == 2 else { return nil }
            var bytes = [UInt8](repeating: 0, count: ends[1] - ends[0])
            return pread(file, &bytes, bytes.count, ends[0]) == bytes.count ? bytes : nil
        }
    }

    /// Whether the memory has these bytes.
    package func contains(_ part: [UInt8]) -> Bool {
        regions.contains { memmem($0, UInt($0.count), part, UInt(part.count)) != nil }
    }
}
