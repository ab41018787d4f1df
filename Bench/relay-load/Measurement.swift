import Glibc
import SottoDatabase

/// A rate per second, and the distribution of the times.
struct Measurement: CustomStringConvertible {
    private let rate: Double
    private let sorted: [Double]

    /// Takes the times, in seconds, of all operations within `seconds`.
    init(times: [Double], seconds: Double) {
        rate = Double(times.count) / seconds
        sorted = times.sorted()
    }

    var description: String {
        let times = [0.5, 0.99, 0.999, 1].map { part in
            sorted.isEmpty
                ? 0 : sorted[min(sorted.count - 1, Int(Double(sorted.count) * part))] * 1000
        }
        let columns = [rate.rounded()] + times.map { ($0 * 100).rounded() / 100 }
        return columns.map { "\($0)" }.joined(separator: "\t")
    }
}

/// Measures how often per second the disk synchronizes 4 KB.
enum Calibration {
    static func run(directory: String, seconds: Double) throws -> Measurement {
        var template = Array((directory + "/relay-load.XXXXXX").utf8CString)
        let file = mkstemp(&template)
        guard file >= 0 else { throw LoadError.file(directory) }
        defer { close(file) }
        unlink(template)
        let page = [UInt8](repeating: 0x5A, count: 4096)
        var times: [Double] = []
        let end = Monotonic.seconds() + seconds
        while Monotonic.seconds() < end {
            let start = Monotonic.seconds()
            guard write(file, page, page.count) == page.count, fdatasync(file) == 0 else {
                throw LoadError.file(directory)
            }
            times.append(Monotonic.seconds() - start)
        }
        return Measurement(times: times, seconds: seconds)
    }
}

/// The memory of another process.
enum Memory {
    /// Returns the resident kilobytes of a process: `VmRSS` of proc(5).
    static func resident(of process: Int) throws -> Int {
        guard let file = fopen("/proc/\(process)/status", "r") else {
            throw LoadError.file("/proc/\(process)/status")
        }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, Int32(line.count), file) != nil {
            let words = line.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
                .split { $0.isWhitespace }
            if words.count > 1, words[0] == "VmRSS:", let size = Int(words[1]) { return size }
        }
        throw LoadError.file("/proc/\(process)/status")
    }
}
