import Glibc

/// A disk of 3 MB.
package final class SmallDisk {
    package let scratch = TemporaryDirectory()
    private let isMounted: Bool

    package init?() {
        let options = ["-t", "tmpfs", "-o", "size=3m", "tmpfs", scratch.path]
        isMounted = ChildProcess.run("/bin/mount", options) == 0
        guard isMounted else { return nil }
    }

    /// Whether this process may mount: root outside of a container may.
    package static let canBeMounted = SmallDisk() != nil

    deinit { if isMounted { _ = ChildProcess.run("/bin/umount", ["-l", scratch.path]) } }

    /// Fills the free space. Returns the path of the file that does.
    package func fill() -> String {
        let path = scratch("filler")
        let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        defer { close(descriptor) }
        for size in [65_536, 4_096, 1] {
            let block = [UInt8](repeating: 0, count: size)
            while write(descriptor, block, size) == size {}
        }
        return path
    }

    package var free: Int {
        var space = statvfs()
        statvfs(scratch.path, &space)
        return Int(space.f_bavail)
    }
}
