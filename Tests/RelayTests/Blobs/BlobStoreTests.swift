import Dispatch
import Glibc
import Sotto
import SottoWire
import TestSupport
import Testing

@testable import SottoServer

/// The store of blobs, without a relay.
@Suite struct BlobStoreTests {
    /// The stores that keep blobs.
    static let kinds = StoreKind.available

    private let fixture = StoreFixture()
    private let bob = Sample.identity().id
    private let minute: Int64 = 1_000_000
    private let week: Int64 = 7 * 24 * 60

    private func open(
        _ kind: StoreKind, _ change: (inout BlobLimits) -> Void = { _ in }
    ) throws -> any BlobStore {
        var limits = BlobLimits()
        change(&limits)
        return try #require(try fixture.open(kind).openBlobs(limits))
    }

    private func template(_ bytes: [UInt8], digest: [UInt8]? = nil) -> BlobPiece {
        BlobPiece(
            id: randomBytes(32), to: bob, size: Int64(bytes.count), digest: digest ?? sha256(bytes),
            deletion: nil)
    }

    /// Uploads the bytes from an offset on, in pieces of `count`. Returns the last outcome.
    @discardableResult
    private func upload(
        _ bytes: [UInt8], _ piece: BlobPiece, to blobs: any BlobStore, from start: Int = 0,
        upTo end: Int? = nil, count: Int = 64 << 10
    ) throws -> BlobOutcome {
        var outcome = BlobOutcome.full
        for offset in stride(from: start, to: end ?? bytes.count, by: count) {
            var piece = piece
            piece.offset = Int64(offset)
            piece.bytes = Array(bytes[offset..<min(offset + count, end ?? bytes.count)])
            outcome = try blobs.put(piece, lifetime: week, at: minute)
        }
        return outcome
    }

    private func state(_ size: Int, _ have: Int) -> BlobOutcome {
        .state(BlobState(size: Int64(size), have: Int64(have)))
    }

    @Test(arguments: kinds, [1, 65_535, 65_536, 65_537, 1_000_003])
    func aBlobIsReadAsItWasWritten(_ kind: StoreKind, _ size: Int) throws {
        let blobs = try open(kind)
        let bytes = randomBytes(size)
        // A frame has at most 64 KiB; HTTP passes on more at once.
        for (number, length) in [64 << 10, 100_000, WireLimits.blobReadBytes].enumerated() {
            let piece = template(bytes)
            #expect(try blobs.state(of: piece.id, at: minute) == nil)
            #expect(try upload(bytes, piece, to: blobs, count: length) == state(size, size))
            #expect(try blobs.state(of: piece.id, at: minute)?.isComplete == true)
            for place in stride(from: 0, to: size, by: 99_991) {
                #expect(
                    try blobs.read(piece.id, offset: Int64(place), count: size, at: minute)
                        == Array(bytes[place...]))
                #expect(
                    try blobs.read(piece.id, offset: Int64(place), count: 10, at: minute)
                        == Array(bytes[place..<min(place + 10, size)]))
            }
            #expect(try blobs.read(piece.id, offset: Int64(size), count: 1, at: minute) == nil)
            #expect(
                try blobs.usage()
                    == BlobUsage(count: number + 1, bytes: Int64((number + 1) * size)))
            // The last piece again changes nothing.
            #expect(try upload(bytes, piece, to: blobs, count: length) == state(size, size))
        }
    }

    @Test(arguments: kinds) func onlyTheNextPieceIsStored(_ kind: StoreKind) throws {
        let blobs = try open(kind)
        let bytes = randomBytes(300_000)
        let piece = template(bytes)
        #expect(try upload(bytes, piece, to: blobs, from: 100_000) == state(300_000, 0))
        try upload(bytes, piece, to: blobs, upTo: 100_000)
        for start in [0, 50_000, 200_000] {
            #expect(
                try upload(bytes, piece, to: blobs, from: start, upTo: start + 1)
                    == state(300_000, 100_000))
        }
        // An incomplete blob is absent for readers.
        #expect(try blobs.read(piece.id, offset: 0, count: 1, at: minute) == nil)
        #expect(try upload(bytes, piece, to: blobs, from: 100_000) == state(300_000, 300_000))
        #expect(try blobs.read(piece.id, offset: 0, count: 300_000, at: minute) == bytes)
    }

    @Test(arguments: kinds) func anIDBelongsToOneBlob(_ kind: StoreKind) throws {
        let blobs = try open(kind)
        let bytes = randomBytes(1_000)
        let piece = template(bytes)
        try upload(bytes, piece, to: blobs, upTo: 500)
        var others = [piece, piece, piece, piece]
        others[0].to = Sample.identity().id
        others[1].size += 1
        others[2].digest = randomBytes(32)
        others[3].deletion = randomBytes(32)
        for other in others {
            #expect(try upload(bytes, other, to: blobs, from: 500) == .conflict)
        }
        #expect(try upload(bytes, piece, to: blobs, from: 500) == state(1_000, 1_000))
    }

    @Test(arguments: kinds) func aBlobWithAnotherDigestIsDeleted(_ kind: StoreKind) throws {
        let blobs = try open(kind)
        let bytes = randomBytes(100_000)
        let piece = template(bytes, digest: randomBytes(32))
        #expect(try upload(bytes, piece, to: blobs) == .badDigest)
        #expect(try blobs.state(of: piece.id, at: minute) == nil)
        #expect(try blobs.usage() == BlobUsage())
    }

    @Test(arguments: kinds) func theLimitsCountWhatIsStored(_ kind: StoreKind) throws {
        let blobs = try open(kind) { limits in
            limits.mailbox = 160_000
            limits.total = 215_000
        }
        let bytes = randomBytes(100_000)
        let first = template(bytes)
        #expect(try upload(bytes, first, to: blobs) == state(100_000, 100_000))
        // A declared length takes no space.
        let second = template(bytes)
        #expect(try upload(bytes, second, to: blobs, upTo: 50_000) == state(100_000, 50_000))
        #expect(try upload(bytes, second, to: blobs, from: 50_000) == .mailboxFull)
        var other = template(bytes)
        other.to = Sample.identity().id
        #expect(try upload(bytes, other, to: blobs, upTo: 50_000) == state(100_000, 50_000))
        #expect(try upload(bytes, other, to: blobs, from: 50_000) == .full)
        // Expired blobs make room.
        try blobs.sweep(at: minute + week, latest: minute + 2 * week)
        #expect(try blobs.usage() == BlobUsage())
        #expect(try upload(bytes, first, to: blobs) == state(100_000, 100_000))
    }

    @Test(arguments: kinds) func aBlobEnds(_ kind: StoreKind) throws {
        let blobs = try open(kind)
        let bytes = randomBytes(10)
        let piece = template(bytes)
        try upload(bytes, piece, to: blobs)
        try blobs.sweep(at: minute + week - 1, latest: minute + 2 * week)
        #expect(try blobs.state(of: piece.id, at: minute + week - 1)?.isComplete == true)
        #expect(try blobs.state(of: piece.id, at: minute + week) == nil)
        #expect(try blobs.read(piece.id, offset: 0, count: 1, at: minute + week) == nil)
        // A clock that was wrong does not keep it for ever.
        try blobs.sweep(at: 0, latest: minute)
        try blobs.sweep(at: minute, latest: minute)
        #expect(try blobs.usage() == BlobUsage())
    }

    @Test(arguments: kinds) func onlyTheDeletionKeyDeletes(_ kind: StoreKind) throws {
        let blobs = try open(kind)
        let (bytes, key) = (randomBytes(10), randomBytes(32))
        let forever = template(bytes)
        var piece = template(bytes)
        piece.deletion = sha256(key)
        for one in [forever, piece] { try upload(bytes, one, to: blobs) }
        try blobs.delete(piece.id, key: randomBytes(32))
        try blobs.delete(piece.id, key: piece.deletion ?? [])
        try blobs.delete(forever.id, key: key)
        #expect(try blobs.usage().count == 2)
        try blobs.delete(piece.id, key: key)
        #expect(try blobs.state(of: piece.id, at: minute) == nil)
        #expect(try blobs.usage() == BlobUsage(count: 1, bytes: 10))
    }

    @Test(arguments: kinds) func anUploadContinuesAfterARestart(_ kind: StoreKind) throws {
        let bytes = randomBytes(200_000)
        let (piece, done) = (template(bytes), template(bytes))
        do {
            let store = try fixture.open(kind)
            let blobs = try #require(try store.openBlobs(BlobLimits()))
            try upload(bytes, piece, to: blobs, upTo: 123_456)
            try upload(bytes, done, to: blobs)
            try store.close()
        }
        let blobs = try open(kind)
        #expect(try blobs.state(of: piece.id, at: minute)?.have == 123_456)
        #expect(try blobs.usage() == BlobUsage(count: 2, bytes: 323_456))
        #expect(try upload(bytes, piece, to: blobs, from: 123_456) == state(200_000, 200_000))
        for one in [piece, done] {
            #expect(try blobs.read(one.id, offset: 0, count: 200_000, at: minute) == bytes)
        }
    }

    /// A power cut can leave a file with a damaged beginning, or with zeros in place of pieces.
    @Test func whatAPowerCutLeftIsNotABlob() throws {
        let bytes = randomBytes(200_000)
        let (cut, damaged) = (template(bytes), template(bytes))
        let folder = fixture.scratch("relay.db-blobs")
        func path(_ piece: BlobPiece) -> String { "\(folder)/\(hex(sha256(piece.id))).part" }
        do {
            let store = try fixture.open(.sqlite)
            let blobs = try #require(try store.openBlobs(BlobLimits()))
            for one in [cut, damaged] { try upload(bytes, one, to: blobs, upTo: 150_000) }
            try store.close()
        }
        func zero(_ piece: BlobPiece, from start: Int, count: Int) {
            let descriptor = Glibc.open(path(piece), O_WRONLY)
            _ = pwrite(descriptor, [UInt8](repeating: 0, count: count), count, start)
            close(descriptor)
        }
        zero(cut, from: 100_000, count: 4_096)
        zero(damaged, from: 0, count: 128)
        let blobs = try open(.sqlite)
        #expect(try blobs.state(of: damaged.id, at: minute) == nil)
        #expect(access(path(damaged), F_OK) != 0)
        #expect(try upload(bytes, cut, to: blobs, from: 150_000) == .badDigest)
        #expect(try upload(bytes, cut, to: blobs) == state(200_000, 200_000))
    }

    /// The file of a complete blob that another program cut, or removed, is not announced: a download had 200 and a broken body.
    /// It can be uploaded again.
    @Test(arguments: [true, false])
    func aCutBlobIsNotAnnounced(_ isRemoved: Bool) throws {
        let blobs = try open(.sqlite)
        let bytes = randomBytes(200_000)
        let piece = template(bytes)
        let whole = state(200_000, 200_000)
        let path = fixture.scratch("relay.db-blobs") + "/" + hex(sha256(piece.id))
        func cut() { if isRemoved { unlink(path) } else { truncate(path, 100_000) } }
        #expect(try upload(bytes, piece, to: blobs) == whole)
        #expect(try blobs.state(of: piece.id, at: minute)?.isComplete == true)
        cut()
        #expect(try blobs.state(of: piece.id, at: minute) == nil)
        #expect(try blobs.read(piece.id, offset: 0, count: 9, at: minute) == nil)
        #expect(try blobs.usage() == BlobUsage())
        #expect(try upload(bytes, piece, to: blobs) == whole)
        cut()
        // A client that does not ask first is not told that the blob is there.
        #expect(try upload(bytes, piece, to: blobs) == whole)
        #expect(
            try blobs.read(piece.id, offset: 150_000, count: 9, at: minute)
                == Array(bytes[150_000..<150_009]))
    }

    @Test func manyUploadsAtOnceStayWithinTheLimit() throws {
        let blobs = try open(.sqlite) { $0.mailbox = 1_000_000 }
        let pieces = (0..<40).map { _ in
            let bytes = randomBytes(60_000)
            return (bytes, template(bytes))
        }
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            for place in stride(from: thread, to: pieces.count, by: 8) {
                _ = try? upload(pieces[place].0, pieces[place].1, to: blobs)
            }
        }
        let usage = try blobs.usage()
        #expect(usage == BlobUsage(count: 16, bytes: 960_000))
    }

    @Test func uploadsOfANetworkAreLimited() {
        let rates = NetworkRates(perDay: 864_000)
        let (one, other): ([UInt8], [UInt8]) = ([192, 0, 2], [198, 51, 100])
        for _ in 0..<10 { #expect(rates.admit(86_400, from: one, at: 0)) }
        #expect(!rates.admit(1, from: one, at: 0))
        #expect(rates.admit(1, from: other, at: 0) && rates.admit(1 << 30, from: nil, at: 0))
        // Ten bytes a second.
        #expect(rates.admit(10, from: one, at: 1) && !rates.admit(1, from: one, at: 1))
    }

    // MARK: HTTP

    @Test func aRangeOfABlob() {
        let cases: [(String?, Range<Int64>?)] = [
            (nil, 0..<100), ("bytes=0-", 0..<100), ("bytes=5-9", 5..<10),
            ("bytes=90-200", 90..<100),
            ("bytes=-7", 93..<100), ("bytes=-200", 0..<100), ("bytes=99-99", 99..<100),
            ("bytes=100-", nil), ("bytes=200-300", nil), ("bytes=-0", nil),
            ("bytes=9-5", 0..<100), ("bytes=a-b", 0..<100), ("bytes=", 0..<100),
            ("bytes=0-1,5-6", 0..<100), ("lines=1-2", 0..<100),
            ("bytes=99999999999999999999-", 0..<100),
        ]
        for (header, range) in cases { #expect(BlobHTTP.range(header, of: 100) == range) }
    }
}
