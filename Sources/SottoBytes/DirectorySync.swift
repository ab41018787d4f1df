import Glibc

/// Writes the names in a directory to disk, so that a file that was created, renamed or removed there stays so after a loss of
/// power. Returns 0, or the system's error number, which the caller must report.
///
/// Two cases count as success, because no call can do better: a file system that does not synchronize directories, and a
/// directory that may be written and not read.
package func synchronizeDirectory(_ path: String) -> Int32 {
    let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return errno == EACCES ? 0 : errno }
    defer { close(descriptor) }
    while fsync(descriptor) != 0 {
        if errno == EINTR { continue }
        return errno == EINVAL || errno == ENOTSUP ? 0 : errno
    }
    return 0
}
