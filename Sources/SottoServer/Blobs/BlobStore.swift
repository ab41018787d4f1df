import Sotto
import SottoWire

/// The storage of a relay's blobs. All threads may use it at the same time. Times are minutes since 1970.
///
/// Only complete blobs are read. An incomplete one is like an absent one for everybody but its uploader.
protocol BlobStore: Sendable {
    /// Returns the state of a blob, or `nil` if it is unknown or has expired.
    func state(of id: [UInt8], at minute: Int64) throws(StoreError) -> BlobState?

    /// Stores a piece if its offset is the number of bytes that the store has. The blob expires `lifetime` minutes after
    /// its last piece. The whole blob is on disk when the outcome of its last piece is returned.
    func put(_ piece: BlobPiece, lifetime: Int64, at minute: Int64) throws(StoreError)
        -> BlobOutcome

    /// Returns bytes of a complete blob, at least one, or `nil` if it is unknown, incomplete or shorter.
    func read(_ id: [UInt8], offset: Int64, count: Int, at minute: Int64) throws(StoreError)
        -> [UInt8]?

    /// Deletes a blob if SHA-256 of `key` is its deletion value.
    func delete(_ id: [UInt8], key: [UInt8]) throws(StoreError)

    /// Deletes expired blobs. The time of a blob that would expire later than `latest` is corrected to that.
    func sweep(at minute: Int64, latest: Int64) throws(StoreError)

    /// Returns the number of blobs and their bytes.
    func usage() throws(StoreError) -> BlobUsage
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
    /// The blob is not what its digest says, and was deleted.
    case badDigest
    /// The mailbox has too many bytes of blobs.
    case mailboxFull
    /// The store or its disk is full.
    case full
}

/// The limits of what a relay stores of blobs, and for how long.
public struct BlobLimits: Sendable, Equatable {
    /// The most bytes of all blobs; 0 refuses blobs.
    public var total: Int64 = 10_000_000_000
    /// The most bytes of the blobs of one mailbox.
    public var mailbox: Int64 = 1_000_000_000
    /// The most bytes that one network uploads in a day.
    public var networkDay: Int64 = 1_000_000_000
    /// Minutes until a blob is deleted.
    public var minutes: Int64 = 7 * 24 * 60
    /// Minutes until an incomplete blob that got no piece is deleted.
    static let incompleteMinutes: Int64 = 24 * 60

    /// Creates the default limits.
    public init() {}
}
