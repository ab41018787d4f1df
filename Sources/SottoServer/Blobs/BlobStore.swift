import Sotto
import SottoWire

/// The storage of a relay's blobs. All threads may use it at the same time. Times are minutes since 1970.
///
/// It knows a blob by its key, SHA-256 of the id, so that the store alone gives no access to blobs. Only complete blobs
/// are read. For readers an incomplete blob does not exist.
protocol BlobStore: Sendable {
    /// Stores bytes if their offset is the number of bytes that the store has. The whole blob is on disk when the outcome
    /// of its last bytes is returned.
    func put(_ bytes: [UInt8], at offset: Int64, of key: [UInt8], _ header: BlobHeader)
        throws(BlobStoreError) -> BlobOutcome

    /// Returns the state of a blob, or `nil` if it is unknown or has expired.
    func state(ofKey key: [UInt8], at minute: Int64) throws(BlobStoreError) -> BlobState?

    /// Returns bytes of a complete blob, at least one, or `nil` if it is unknown, incomplete or shorter.
    func read(key: [UInt8], offset: Int64, count: Int, at minute: Int64) throws(BlobStoreError)
        -> [UInt8]?

    /// Deletes a blob with this deletion value.
    func delete(key: [UInt8], deletion: [UInt8]) throws(BlobStoreError)

    /// Deletes expired blobs. The time of a blob that would expire later than `latest` is corrected to that.
    func sweep(at minute: Int64, latest: Int64) throws(BlobStoreError)

    /// Returns the number of blobs and their bytes.
    func usage() throws(BlobStoreError) -> BlobUsage

    /// Returns the keys of all complete blobs, with their headers.
    func complete() throws(BlobStoreError) -> [(key: [UInt8], header: BlobHeader)]
}

/// An error of a request about a blob.
enum BlobStoreError: Error, Sendable, Equatable {
    /// The file or the rows of one blob could not be used. All else in the store works.
    case unavailable(StoreError)
    /// The store failed.
    case store(StoreError)

    /// The cause.
    var cause: StoreError {
        switch self {
        case .unavailable(let error), .store(let error): error
        }
    }
}

extension BlobStore {
    /// Stores a piece like ``put(_:at:of:_:)``. The blob expires `lifetime` minutes after its last piece.
    func put(_ piece: BlobPiece, lifetime: Int64, at minute: Int64) throws(BlobStoreError)
        -> BlobOutcome
    {
        try put(
            piece.bytes, at: piece.offset, of: sha256(piece.id),
            BlobHeader(piece, until: minute + lifetime))
    }

    /// Returns the state of the blob with an id, or `nil` if it is unknown or has expired.
    func state(of id: [UInt8], at minute: Int64) throws(BlobStoreError) -> BlobState? {
        try state(ofKey: sha256(id), at: minute)
    }

    /// Returns bytes of the complete blob with an id, like ``read(key:offset:count:at:)``.
    func read(_ id: [UInt8], offset: Int64, count: Int, at minute: Int64) throws(BlobStoreError)
        -> [UInt8]?
    {
        try read(key: sha256(id), offset: offset, count: count, at: minute)
    }

    /// Deletes the blob with an id if SHA-256 of `key` is its deletion value.
    func delete(_ id: [UInt8], key: [UInt8]) throws(BlobStoreError) {
        try delete(key: sha256(id), deletion: sha256(key))
    }

    /// Copies all complete blobs to another store. Returns their number.
    func copy(to other: any BlobStore) throws(BlobStoreError) -> Int {
        var count = 0
        for (key, header) in try complete() {
            var place = try other.state(ofKey: key, at: 0)?.have ?? 0
            while place < header.size {
                let wanted = Int(min(Int64(WireLimits.blobPieceBytes), header.size - place))
                // The blob may have been deleted meanwhile.
                guard let bytes = try read(key: key, offset: place, count: wanted, at: 0),
                    case .state(let state) = try other.put(bytes, at: place, of: key, header),
                    state.have > place
                else { break }
                place = state.have
            }
            if place == header.size { count += 1 }
        }
        return count
    }
}

/// The blobs of a store, complete ones and others.
struct BlobUsage: Sendable, Equatable {
    var count = 0
    /// The bytes that the store has.
    var bytes: Int64 = 0
}

/// The outcome of a piece.
enum BlobOutcome: Sendable, Equatable {
    /// The state of the blob, whether or not the piece was stored.
    case state(BlobState)
    /// Another blob has this id.
    case conflict
    /// The blob is being deleted.
    case busy
    /// The blob is not what its digest says, and was deleted.
    case badDigest
    /// The mailbox has too many bytes of blobs.
    case mailboxFull
    /// The store or its disk is full.
    case full
}

/// The limits of what a relay stores of blobs, and for how long.
public struct BlobLimits: Sendable, Equatable {
    /// The most space of all blobs, as ``space(of:)`` counts it; 0 refuses blobs.
    public var total: Int64 = 10_000_000_000
    /// The most space of the blobs of one mailbox.
    public var mailbox: Int64 = 1_000_000_000
    /// The most space that one network uses for uploads in a day.
    public var networkDay: Int64 = 1_000_000_000
    /// Minutes until a blob is deleted.
    public var minutes: Int64 = Blob.lifetime / 60

    /// Creates the default limits.
    public init() {}

    /// The space that a blob takes with its first `bytes` bytes: whole blocks of the disk, and at least 16 KiB, because
    /// file systems such as ext4 have one file for each 16 KiB. So the limits of space limit the number of blobs too.
    static func space(of bytes: Int64) -> Int64 {
        let block: Int64 = 4096
        let blocks = (bytes + Int64(BlobHeader.size) + block - 1) / block
        return max(16 << 10, blocks * block)
    }

    /// The space that `count` more bytes take after `offset` bytes.
    static func space(of count: Int, at offset: Int64) -> Int64 {
        guard count > 0 else { return 0 }
        return space(of: offset + Int64(count)) - (offset == 0 ? 0 : space(of: offset))
    }

    /// No limits, for the copy of a store.
    static var none: BlobLimits {
        var limits = BlobLimits()
        limits.total = .max
        limits.mailbox = .max
        return limits
    }
}
