import Dispatch
import Glibc
import Sotto
import SottoWire
import Synchronization
import TestSupport
import Testing

@testable import SottoServer

/// Clients that upload, fetch and delete the same blobs at once, and files that cannot be used.
@Suite struct BlobRaceTests {
    private let minute: Int64 = 1_000

    /// An upload of one blob. All blobs of the test have the same deletion key.
    private struct Upload: Sendable {
        var piece: BlobPiece
        let bytes: [UInt8]

        init(to mailbox: KeyID, key: [UInt8], count: Int) {
            bytes = randomBytes(count)
            piece = BlobPiece(
                id: randomBytes(32), to: mailbox, size: Int64(count), digest: sha256(bytes),
                deletion: sha256(key))
        }

        /// The piece at an offset.
        func piece(at offset: Int, count: Int) -> BlobPiece {
            var piece = piece
            piece.offset = Int64(offset)
            piece.bytes = Array(bytes[offset..<min(bytes.count, offset + count)])
            return piece
        }
    }

    /// An unauthenticated `DELETE` beside the `PUT` of the next part ended the relay.
    @Test(arguments: BlobStoreTests.kinds)
    func allRequestsAtOnceLeaveNoErrorAndRightSums(_ kind: StoreKind) throws {
        let fixture = StoreFixture()
        let blobs = try #require(try fixture.open(kind).openBlobs(BlobLimits()))
        let (mailbox, key) = (Sample.identity().id, randomBytes(32))
        let rounds = kind == .sqlite ? 1_200 : 60
        let failures = Mutex<[BlobStoreError]>([])
        for round in 0..<rounds / 4 {
            let uploads = (0..<4).map { _ in Upload(to: mailbox, key: key, count: 3_000) }
            // Each thread goes over the blobs in another order.
            DispatchQueue.concurrentPerform(iterations: 6) { thread in
                for step in 0..<12 {
                    let upload = uploads[(step + thread) % uploads.count]
                    do throws(BlobStoreError) {
                        switch (step + thread + round) % 6 {
                        case 0, 1, 2:
                            let have =
                                try blobs.state(of: upload.piece.id, at: minute)?.have ?? 0
                            _ = try blobs.put(
                                upload.piece(at: Int(have), count: 1_500), lifetime: 10,
                                at: minute)
                        case 3:
                            _ = try blobs.read(
                                upload.piece.id, offset: 0, count: 3_000, at: minute)
                        case 4: try blobs.delete(upload.piece.id, key: key)
                        default:
                            try blobs.sweep(at: minute + Int64(step % 2) * 20, latest: minute + 10)
                        }
                    } catch {
                        failures.withLock { $0.append(error) }
                    }
                }
            }
        }
        #expect(failures.withLock { $0 } == [])
        guard kind == .sqlite else { return }
        let folder = fixture.scratch("relay.db-blobs")
        let names = try FileBlobs.names(in: folder)
        let sizes = names.map { name in
            var status = stat()
            return stat(folder + "/" + name, &status) == 0 ? Int64(status.st_size) : -1
        }
        let sum = sizes.reduce(0, +) - Int64(names.count * BlobHeader.size)
        #expect(try blobs.usage() == BlobUsage(count: names.count, bytes: sum))
        try blobs.sweep(at: minute + 20, latest: minute + 20)
        #expect(try blobs.usage() == BlobUsage())
        #expect(try FileBlobs.names(in: folder) == [])
    }

    /// The error of one file answers one request, and the relay goes on.
    @Test func aFileThatCannotBeUsedConcernsItsBlobAlone() throws {
        let running = try RunningRelay()
        let client = running.client()
        let folder = running.scratch("relay.db-blobs")
        let upload = Upload(to: Sample.identity().id, key: randomBytes(32), count: 3_000)
        func path(_ suffix: String) -> String {
            folder + "/" + hex(sha256(upload.piece.id)) + suffix
        }
        func stored(_ have: Int64) -> Response { .blob(BlobState(size: 3_000, have: have)) }
        let busy = Response.deferred(Refusal(.busy))
        let (first, second) = (
            upload.piece(at: 0, count: 1_500), upload.piece(at: 1_500, count: 1_500)
        )
        // A link, a directory, and no file at the place of an upload.
        #expect(symlink("/dev/null", path(".part")) == 0)
        #expect(client.ask(.putBlob(first)) == busy)
        #expect(client.ask(.putBlob(first)) == stored(1_500))
        #expect(unlink(path(".part")) == 0)
        #expect(client.ask(.putBlob(second)) == busy)
        #expect(client.ask(.blob(id: upload.piece.id)) == .blob(BlobState(size: 0, have: 0)))
        #expect(mkdir(path(".part"), 0o700) == 0)
        #expect(client.ask(.putBlob(first)) == busy)
        #expect(rmdir(path(".part")) == 0)
        #expect(client.ask(.putBlob(first)) == stored(1_500))
        // A link to a file of another program, which stays as it is, and a file that was cut.
        running.scratch.write("other", [1, 2, 3])
        #expect(unlink(path(".part")) == 0 && symlink(running.scratch("other"), path(".part")) == 0)
        #expect(client.ask(.putBlob(second)) == busy)
        #expect(TemporaryDirectory.contents(running.scratch("other")) == [1, 2, 3])
        #expect(client.ask(.putBlob(first)) == stored(1_500))
        #expect(truncate(path(".part"), 1_000) == 0)
        #expect(client.ask(.putBlob(second)) == busy)
        #expect(client.ask(.putBlob(first)) == stored(1_500))
        #expect(client.ask(.putBlob(second)) == stored(3_000))
        // The same for a complete blob.
        #expect(unlink(path("")) == 0 && symlink("/dev/null", path("")) == 0)
        let get = Request.getBlob(id: upload.piece.id, offset: 0, count: 3_000)
        #expect(client.ask(get) == busy)
        #expect(unlink(path("")) == 0)
        #expect(client.ask(get) == .error(Refusal(.noBlob)))
        #expect(client.ask(.ping) == .pong)
    }

    /// Places after the end, up to the largest number, are only places after the end.
    @Test(arguments: BlobStoreTests.kinds)
    func anyPlaceMayBeAskedFor(_ kind: StoreKind) throws {
        let fixture = StoreFixture()
        let location = try fixture.location(kind)
        let running = try RunningRelay { $0.store = location }
        let client = running.client()
        let upload = Upload(to: Sample.identity().id, key: randomBytes(32), count: 100)
        #expect(
            client.ask(.putBlob(upload.piece(at: 0, count: 100)))
                == .blob(BlobState(size: 100, have: 100)))
        for offset in [100, Blob.maximumSize, Int64.max - 1_000, .max] {
            #expect(
                client.ask(.getBlob(id: upload.piece.id, offset: offset, count: 256 << 10))
                    == .error(Refusal(.noBlob)))
        }
        #expect(
            client.ask(.getBlob(id: upload.piece.id, offset: 0, count: 100))
                == .blobData(upload.bytes))
    }

    /// Each blob takes at least 16 KiB of the limits, however small it is, so they limit the number of files too.
    @Test(arguments: BlobStoreTests.kinds)
    func smallBlobsAreLimitedInNumber(_ kind: StoreKind) throws {
        let fixture = StoreFixture()
        var limits = BlobLimits()
        limits.total = 1_000_000
        limits.mailbox = 500_000
        let blobs = try #require(try fixture.open(kind).openBlobs(limits))
        struct Filled: Equatable {
            let stored: Int
            let last: BlobOutcome
        }
        func fill(_ mailbox: KeyID) throws -> Filled {
            for count in 0..<100 {
                let upload = Upload(to: mailbox, key: [], count: 1)
                let outcome = try blobs.put(
                    upload.piece(at: 0, count: 1), lifetime: 10, at: minute)
                guard case .state = outcome else { return Filled(stored: count, last: outcome) }
            }
            return Filled(stored: 100, last: .conflict)
        }
        #expect(try fill(Sample.identity().id) == Filled(stored: 30, last: .mailboxFull))
        #expect(try fill(Sample.identity().id) == Filled(stored: 30, last: .mailboxFull))
        #expect(try fill(Sample.identity().id) == Filled(stored: 1, last: .full))
        #expect(try blobs.usage() == BlobUsage(count: 61, bytes: 61))
        // A larger blob takes whole blocks.
        #expect(BlobLimits.space(of: 1) == 16_384 && BlobLimits.space(of: 16_256) == 16_384)
        #expect(BlobLimits.space(of: 16_257) == 20_480)
        let pieces = stride(from: Int64(0), to: 1 << 20, by: 1_000).map {
            BlobLimits.space(of: 1_000, at: $0)
        }
        #expect(pieces.reduce(0, +) == BlobLimits.space(of: Int64(pieces.count) * 1_000))
    }
}
