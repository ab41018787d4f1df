import Glibc

// System calls that several targets need in the same form. Each returns 0, or the system's error number, which the caller
// must report.

/// Writes all bytes to a descriptor; with `offset`, from that place in the file.
package func writeAll(
    _ bytes: UnsafeRawBufferPointer, to descriptor: Int32, at offset: Int64? = nil
) -> Int32 {
    var written = 0
    while written < bytes.count {
        let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
        let count =
            if let offset {
                pwrite(descriptor, rest.baseAddress, rest.count, Int(offset) + written)
            } else {
                Glibc.write(descriptor, rest.baseAddress, rest.count)
            }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return count == 0 ? EIO : errno }
        written += count
    }
    return 0
}

/// Writes all bytes to a descriptor; with `offset`, from that place in the file.
package func writeAll(_ bytes: [UInt8], to descriptor: Int32, at offset: Int64? = nil) -> Int32 {
    bytes.withUnsafeBytes { writeAll($0, to: descriptor, at: offset) }
}

/// Writes the data of an open file to disk.
package func synchronizeFile(_ descriptor: Int32) -> Int32 {
    while fsync(descriptor) != 0 {
        guard errno == EINTR else { return errno }
    }
    return 0
}

/// Writes the names in a directory to disk, so that a file that was created, renamed or removed there stays so after a loss of
/// power.
///
/// Two cases count as success, because no call can do better: a file system that does not synchronize directories, and a
/// directory that may be written and not read.
package func synchronizeDirectory(_ path: String) -> Int32 {
    let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return errno == EACCES ? 0 : errno }
    defer { close(descriptor) }
    let code = synchronizeFile(descriptor)
    return code == EINVAL || code == ENOTSUP ? 0 : code
}

/// Returns the names in a directory, without `.` and `..`, and 0 or the error number.
package func directoryNames(_ path: String) -> (names: [String], code: Int32) {
    guard let directory = opendir(path) else { return ([], errno) }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
        let name = withUnsafePointer(to: &entry.pointee.d_name) {
            $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
        if name != ".", name != ".." { names.append(name) }
    }
    return (names, 0)
}
