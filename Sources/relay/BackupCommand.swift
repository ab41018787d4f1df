import Arguments
import Dispatch
import Glibc
import Sotto
import SottoDatabase
import SottoServer
import SottoTool

/// `relay backup`: copies a store that a relay may be using.
struct BackupCommand: Program {
    static let configuration = CommandConfiguration(
        name: "backup",
        abstract: "Copy a store, as of one moment, while a relay uses it.",
        usage: "sotto relay backup --store FILE -o FILE",
        discussion: """
            The copy is a complete store. The file appears, or replaces an older one, when the copy is on disk. The blobs \
            follow, into the folder FILE-blobs.

            EXAMPLES
              sotto relay backup --store relay.db -o relay.backup
            """)

    @Option("--store", value: "file", help: "The store's SQLite file.")
    var store: String

    @Option("-o", "--output", value: "file", help: "The file for the copy, mode 0600.")
    var output: String

    @Flag("-q", "--quiet", help: "Print only errors.")
    var quiet = false

    mutating func execute() throws {
        try check()
        let copy = try TemporaryName(beside: output)
        do throws(StoreError) {
            try StoreFile.copy(store, to: copy.path)
        } catch {
            throw failure(error)
        }
        let size = try copy.commit(as: output)
        let blobs: Int
        do throws(StoreError) {
            blobs = try StoreFile.copyBlobs(of: store, to: output)
        } catch {
            throw failure(error)
        }
        guard !quiet else { return }
        Terminal.say("relay: copied the store to \(output), \(size) bytes")
        if blobs > 0 {
            Terminal.say("relay: copied \(blobs) blobs to \(StoreFile.blobs(of: output))")
        }
    }

    private func check() throws(Failure) {
        guard !store.contains("://") else {
            throw Failure(
                .usage, "only a store in a file can be copied",
                hint: "use pg_dump for PostgreSQL")
        }
        guard !output.isEmpty, output != "-" else {
            throw Failure(.usage, "-o needs a file name")
        }
        try Output.check(
            output, isNoneOf: [store, store + "-wal", store + "-shm", store + "-lock"])
        var status = stat()
        guard stat(store, &status) == 0 else { throw Failure(errno: errno, "open", store) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw Failure(.noInput, "cannot open \(store): it is not a regular file")
        }
        if stat(output, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
            throw Failure(.cannotCreate, "cannot create \(output): it is not a regular file")
        }
        // The old database's log would be applied to the copy.
        guard access(output + "-wal", F_OK) != 0 else {
            throw Failure(
                .cannotCreate, "cannot create \(output): it is a database in use",
                hint: "choose another name, or stop the process that uses it")
        }
    }

    private func failure(_ error: StoreError) -> any Error {
        switch error {
        case .database(.damaged(store)):
            Failure(.malformed, "\(store) is damaged, or is not a relay's store")
        case .full:
            Failure(.ioError, "no space left for \(output)", hint: "free some space")
        case .database(.locked):
            Failure(.tryAgain, "\(store) is locked", hint: "run the same command again")
        default: error
        }
    }
}

/// An empty file with a temporary name, which is renamed in the end or deleted.
private final class TemporaryName {
    let path: String
    private let signals: [any DispatchSourceSignal]

    init(beside output: String) throws(Failure) {
        var template = Array((output + ".XXXXXX").utf8CString)
        let descriptor = mkstemp(&template)
        guard descriptor >= 0 else {
            let failure = Failure(errno: errno, "create", output)
            throw Failure(
                failure.status == .permission ? .permission : .cannotCreate, failure.message,
                hint: failure.hint)
        }
        close(descriptor)
        let path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        self.path = path
        signals = [SIGINT, SIGTERM, SIGHUP].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                unlink(path)
                // SQLite creates the journal while it writes.
                unlink(path + "-journal")
                signal(number, SIG_DFL)
                // The parent process may have blocked the signal, and Dispatch has blocked it on this thread.
                var signals = sigset_t()
                sigemptyset(&signals)
                sigaddset(&signals, number)
                pthread_sigmask(SIG_UNBLOCK, &signals, nil)
                kill(getpid(), number)
            }
            source.resume()
            return source
        }
    }

    deinit {
        unlink(path)
        unlink(path + "-journal")
    }

    /// Synchronizes the file and renames it. Returns its size in bytes.
    func commit(as output: String) throws(Failure) -> Int {
        let descriptor = open(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw Failure(errno: errno, "open", path) }
        defer { close(descriptor) }
        var status = stat()
        let synced = synchronizeFile(descriptor)
        guard synced == 0 else { throw Failure(errno: synced, "write", output) }
        guard fstat(descriptor, &status) == 0 else { throw Failure(errno: errno, "write", output) }
        guard rename(path, output) == 0 else { throw Failure(errno: errno, "create", output) }
        let slash = output.lastIndex(of: "/")
        let directory = slash.map { $0 == output.startIndex ? "/" : String(output[..<$0]) } ?? "."
        let code = synchronizeDirectory(directory)
        guard code == 0 else { throw Failure(errno: code, "write", directory) }
        return Int(status.st_size)
    }
}
