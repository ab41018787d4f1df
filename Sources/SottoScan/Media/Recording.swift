import CSndFile
import Glibc

/// Reads the duration of a recording with libsndfile: WAV, AIFF, FLAC, Ogg, MP3 and others.
///
/// The library and those that it needs are loaded when the value is created, so that only the process that reads files
/// for `encrypt` has them. They are optional.
public struct RecordingReader {
    private typealias Open =
        @convention(c) (
            UnsafeMutablePointer<SF_VIRTUAL_IO>?, Int32, UnsafeMutablePointer<SF_INFO>?,
            UnsafeMutableRawPointer?
        ) -> OpaquePointer?
    private typealias Close = @convention(c) (OpaquePointer?) -> Int32

    private let open: Open
    private let close: Close

    /// Loads the library; `nil` if it is not installed.
    public init?() {
        guard let library = dlopen("libsndfile.so.1", RTLD_NOW | RTLD_LOCAL),
            let open = dlsym(library, "sf_open_virtual"), let close = dlsym(library, "sf_close")
        else { return nil }
        self.open = unsafeBitCast(open, to: Open.self)
        self.close = unsafeBitCast(close, to: Close.self)
    }

    /// Returns the duration in seconds, rounded, or `nil` if the file is no recording that the library reads.
    public func duration(of file: [UInt8]) -> Int64? {
        file.withUnsafeBytes { bytes in
            var memory = Memory(bytes: bytes)
            var callbacks = Memory.callbacks
            var info = SF_INFO()
            return withUnsafeMutablePointer(to: &memory) { memory -> Int64? in
                guard let recording = open(&callbacks, Int32(SFM_READ), &info, memory) else {
                    return nil
                }
                defer { _ = close(recording) }
                guard info.samplerate > 0, info.frames >= 0, info.frames < Int64.max / 2 else {
                    return nil
                }
                return (info.frames + Int64(info.samplerate) / 2) / Int64(info.samplerate)
            }
        }
    }

    /// A file in memory, as the library reads it.
    private struct Memory {
        let bytes: UnsafeRawBufferPointer
        var place = 0

        static func of(_ pointer: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<Memory> {
            pointer!.assumingMemoryBound(to: Memory.self)
        }

        static var callbacks: SF_VIRTUAL_IO {
            SF_VIRTUAL_IO(
                get_filelen: { sf_count_t(Memory.of($0).pointee.bytes.count) },
                seek: { offset, origin, memory in
                    let memory = Memory.of(memory)
                    let base =
                        switch origin {
                        case SEEK_CUR: memory.pointee.place
                        case SEEK_END: memory.pointee.bytes.count
                        default: 0
                        }
                    let (place, isBeyond) = base.addingReportingOverflow(Int(offset))
                    guard !isBeyond, 0...memory.pointee.bytes.count ~= place else { return -1 }
                    memory.pointee.place = place
                    return sf_count_t(place)
                },
                read: { target, count, memory in
                    let memory = Memory.of(memory)
                    let (place, bytes) = (memory.pointee.place, memory.pointee.bytes)
                    let count = min(max(Int(count), 0), bytes.count - place)
                    guard let target, let base = bytes.baseAddress, count > 0 else { return 0 }
                    memcpy(target, base + place, count)
                    memory.pointee.place += count
                    return sf_count_t(count)
                },
                write: { _, _, _ in 0 },
                tell: { sf_count_t(Memory.of($0).pointee.place) })
        }
    }
}
