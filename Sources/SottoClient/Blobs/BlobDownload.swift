import Glibc
import NIOCore
import NIOHTTP1
public import Sotto
import SottoDatabase
import SottoProgram
import SottoState
public import SottoWire

/// Fetches a blob from a relay into a file of the state. An interrupted download continues where it ended.
public struct BlobDownload {
    /// Seconds to wait for one answer.
    private static let patience = 30.0

    private let pointer: BlobPointer
    private let id: [UInt8]
    /// The path of the file.
    public let path: String

    /// Prepares the download of the blob with an id, 32 bytes, which `pointer` describes, to a path of the state.
    public init(_ pointer: BlobPointer, id: [UInt8], to path: String) {
        (self.pointer, self.id, self.path) = (pointer, id, path)
    }

    /// Fetches the blob, unless the file has it already. Reconnects as long as it keeps the pace, unless the relay refuses the
    /// first connection. `progress` is told the bytes that the file has.
    ///
    /// Throws ``ClientError/noBlob(relay:)``, ``ClientError/forgedBlob(relay:)`` if the relay has other bytes, and the
    /// errors of the connection.
    public func run(
        at relay: RelayURL, _ pace: TransferPace = .asked, progress: (Int64) -> Void = { _ in }
    ) throws(ClientError) {
        let file = try BlobTarget(path)
        guard file.lock() else {
            throw .state(.database(.locked(what: "the blob")))
        }
        let group = RelayLink.makeGroup()
        defer { group.shutdownGracefully { _ in } }
        let first = file.count
        var deadline = TransferDeadline(pace, at: Monotonic.seconds())
        func left() -> Double {
            let now = Monotonic.seconds()
            deadline.arrived(file.count - first, at: now)
            return max(0, min(Self.patience, deadline.at - now))
        }
        var backoff = Backoff()
        var hasConnected = false
        while file.count < pointer.size {
            let before = file.count
            do throws(ClientError) {
                let link = try BlobLink.open(to: relay, group: group, timeout: left())
                defer { link.close() }
                hasConnected = true
                try fetch(over: link, to: file, timeout: left, progress: progress)
            } catch {
                if file.count > before { backoff.reset() }
                let delay = backoff.next()
                // A relay that accepted a connection before is started again.
                let isWorthAsking = hasConnected ? error.isTransient : error.isWorthAsking
                guard isWorthAsking, delay < left() else { throw error }
                _ = EventQueue<Never>().take(timeout: delay)
            }
        }
        guard file.count == pointer.size, try file.digest() == pointer.digest else {
            unlink(path)
            throw .forgedBlob(relay: relay.description)
        }
    }

    private func fetch(
        over link: BlobLink, to file: BlobTarget, timeout: () -> Double,
        progress: (Int64) -> Void
    ) throws(ClientError) {
        var next = file.count
        var window = TransferWindow()
        var sent: [(count: Int64, at: Double)] = []
        while next < pointer.size || !sent.isEmpty {
            while next < pointer.size {
                let count = min(window.request, pointer.size - next)
                guard sent.isEmpty || next - file.count + count <= window.bytes else { break }
                link.send(.GET, id, headers: [("range", "bytes=\(next)-\(next + count - 1)")])
                sent.append((count, Monotonic.seconds()))
                next += count
            }
            let answer = try link.response(timeout: timeout())
            let first = sent.removeFirst()
            window.answered(first.count, after: Monotonic.seconds() - first.at)
            let relay = link.relay.description
            switch answer.status {
            case 200, 206:
                guard Int64(answer.body.count) == first.count else {
                    unlink(path)
                    throw .forgedBlob(relay: relay)
                }
                try file.append(answer.body)
                progress(file.count)
            case 404: throw .noBlob(relay: relay)
            case 416:
                unlink(path)
                throw .forgedBlob(relay: relay)
            case 429, 503: throw .busy(relay: relay)
            default: throw .notARelay(relay: relay)
            }
        }
    }
}

/// The file that a blob is fetched into.
private final class BlobTarget {
    private let path: String
    private let descriptor: Int32
    private(set) var count: Int64 = 0
    /// SHA-256 of the first ``hashed`` bytes.
    private let hash = HashingSink(NullSink())
    private var hashed: Int64 = 0

    /// Opens or creates the file with mode 0600.
    init(_ path: String) throws(ClientError) {
        self.path = path
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0 else {
            throw .state(.database(.cannotOpen(path: path, code: errno)))
        }
        count = Int64(status.st_size)
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Locks the file against other processes. Returns false if one has locked it.
    func lock() -> Bool { flock(descriptor, LOCK_EX | LOCK_NB) == 0 }

    func append(_ bytes: [UInt8]) throws(ClientError) {
        let code = writeAll(bytes, to: descriptor, at: count)
        guard code == 0 else {
            throw .state(
                .database(
                    code == ENOSPC ? .full(path: path) : .inputOutput(path: path, code: code)))
        }
        let isNext = hashed == count
        count += Int64(bytes.count)
        // Meanwhile the next bytes arrive.
        if isNext { try update(bytes, bytes.count) }
    }

    private func update(_ block: [UInt8], _ some: Int) throws(ClientError) {
        do {
            try block.withUnsafeBytes { try hash.write(.init(rebasing: $0[..<some])) }
        } catch {
            throw .state(.database(.inputOutput(path: path, code: EIO)))
        }
        hashed += Int64(some)
    }

    /// Returns SHA-256 of the file. Reads the bytes that an earlier process received.
    func digest() throws(ClientError) -> [UInt8] {
        var block = [UInt8](repeating: 0, count: 256 << 10)
        while hashed < count {
            let some = pread(descriptor, &block, block.count, Int(hashed))
            if some < 0, errno == EINTR { continue }
            guard some > 0 else {
                throw .state(.database(.inputOutput(path: path, code: errno)))
            }
            try update(block, some)
        }
        return hash.digest()
    }
}
