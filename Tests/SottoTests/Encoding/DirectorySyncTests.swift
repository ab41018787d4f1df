import Glibc
import Sotto
import TestSupport
import Testing

/// Writing the names of a directory to disk.
struct DirectorySyncTests {
    @Test func anErrorIsReturned() {
        let scratch = TemporaryDirectory()
        #expect(synchronizeDirectory(scratch.path) == 0)
        #expect(synchronizeDirectory(scratch("none")) == ENOENT)
        #expect(synchronizeDirectory(scratch.write("file", [])) == ENOTDIR)
        // A file system that does not synchronize directories.
        #expect(synchronizeDirectory("/proc") == 0)
    }
}
