import Glibc
import SottoQR

/// Reads standard input: lines, and the bytes that follow a line.
struct RequestReader {
    private var block = [UInt8](repeating: 0, count: 64 << 10)
    private var start = 0
    private var end = 0

    /// Returns the next line without its line feed, or `nil` at the end. `qr` limits its length.
    mutating func line() -> [UInt8]? {
        var line: [UInt8] = []
        while true {
            if let feed = block[start..<end].firstIndex(of: 0x0A) {
                line += block[start..<feed]
                start = feed + 1
                return line
            }
            line += block[start..<end]
            end = block.withUnsafeMutableBytes { Self.read(into: $0) }
            start = 0
            if end == 0 { return nil }
        }
    }

    /// Returns the next `count` bytes, or `nil` if fewer follow.
    mutating func bytes(_ count: Int) -> [UInt8]? {
        let buffered = block[start..<min(end, start + count)]
        start += buffered.count
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            filled = buffer.update(fromContentsOf: buffered)
            while filled < count {
                let rest = UnsafeMutableRawBufferPointer(
                    rebasing: UnsafeMutableRawBufferPointer(buffer)[filled...])
                let read = Self.read(into: rest)
                if read == 0 { break }
                filled += read
            }
        }
        return bytes.count == count ? bytes : nil
    }

    /// Returns the number of bytes read; 0 at the end.
    private static func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        while true {
            let count = Glibc.read(0, buffer.baseAddress, buffer.count)
            if count >= 0 { return count }
            guard errno == EINTR else { return 0 }
        }
    }
}
