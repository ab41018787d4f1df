import Glibc

/// Waits for changes of a database file by any process, with inotify(7) on the file and its log.
public final class DatabaseWatch {
    /// Seconds between two attempts if the system cannot watch the file.
    private static let pollInterval = 1.0

    private let descriptor: Int32
    private let names: Set<String>

    /// Watches the file `path` from now on.
    public init(path: String) {
        let slash = path.lastIndex(of: "/")
        let directory = slash.map { String(path[...$0]) } ?? "."
        let name = slash.map { String(path[path.index(after: $0)...]) } ?? path
        names = [name, name + "-wal"]
        var descriptor = inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK))
        // The directory is watched, because the log may not exist yet.
        let events = UInt32(IN_MODIFY) | UInt32(IN_CREATE) | UInt32(IN_MOVED_TO)
        if descriptor >= 0, inotify_add_watch(descriptor, directory, events) < 0 {
            close(descriptor)
            descriptor = -1
        }
        self.descriptor = descriptor
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Returns whether the file was written since the last call; waits at most `timeout` seconds for it. The transaction
    /// that writes may not be committed yet. If the system cannot watch the file, returns `true` after a second.
    public func wait(timeout: Double) -> Bool {
        guard descriptor >= 0 else {
            usleep(UInt32(min(timeout, Self.pollInterval) * 1e6))
            return true
        }
        let deadline = Monotonic.seconds() + timeout
        while !takeEvents() {
            let left = deadline - Monotonic.seconds()
            guard left > 0 else { return false }
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            poll(&entry, 1, Int32(clamping: Int64((left * 1_000).rounded(.up))))
        }
        return true
    }

    /// Reads all events. Returns whether one of them is of the file or its log, or was lost.
    private func takeEvents() -> Bool {
        var isChanged = false
        withUnsafeTemporaryAllocation(byteCount: 4_096, alignment: 8) { buffer in
            while true {
                let count = read(descriptor, buffer.baseAddress, buffer.count)
                guard count > 0 else { return }
                var start = 0
                while start < count {
                    let event = buffer.load(fromByteOffset: start, as: inotify_event.self)
                    let header = MemoryLayout<inotify_event>.size
                    let bytes = buffer[(start + header)..<(start + header + Int(event.len))]
                    let name = String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
                    if names.contains(name) || event.mask & UInt32(IN_Q_OVERFLOW) != 0 {
                        isChanged = true
                    }
                    start += header + Int(event.len)
                }
            }
        }
        return isChanged
    }
}
