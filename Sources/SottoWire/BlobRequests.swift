public import Sotto

/// A piece of a blob that a client uploads. Every piece describes the whole blob, so an upload needs no session.
public struct BlobPiece: Sendable, Equatable {
    /// The blob's random id, 32 bytes, with which every client can fetch the blob.
    public var id: [UInt8]
    /// The mailbox whose limit counts the blob.
    public var to: KeyID
    /// The length of the blob in bytes, 1 to `Blob.maximumSize`.
    public var size: Int64
    /// SHA-256 of the blob, 32 bytes, or `nil` if the relay need not compare it.
    public var digest: [UInt8]?
    /// SHA-256 of the key that deletes the blob, 32 bytes, or `nil` if nobody may delete it.
    public var deletion: [UInt8]?
    /// The place of the bytes in the blob.
    public var offset: Int64
    /// The bytes, at most ``WireLimits/blobPieceBytes``.
    public var bytes: [UInt8]

    /// Creates a piece.
    public init(
        id: [UInt8], to: KeyID, size: Int64, digest: [UInt8]?, deletion: [UInt8]?,
        offset: Int64 = 0, bytes: [UInt8] = []
    ) {
        self.id = id
        self.to = to
        self.size = size
        self.digest = digest
        self.deletion = deletion
        self.offset = offset
        self.bytes = bytes
    }

    /// Whether the place and the length of the bytes fit the blob.
    public var isValid: Bool {
        (1...Blob.maximumSize).contains(size) && offset >= 0
            && bytes.count <= WireLimits.blobPieceBytes
            && offset <= size - Int64(bytes.count)
    }

    init(_ payload: Fields<Reason>) throws(Reason) {
        self.init(
            id: try payload["id"].bytes(count: WireLimits.blobIDBytes),
            to: try payload["to"].keyID(),
            size: try payload["size"].integer(in: 1...Int64.max),
            digest: try payload["digest"].optional?.bytes(count: 32),
            deletion: try payload["delete"].optional?.bytes(count: 32),
            offset: try payload["offset"].integer(in: 0...Int64.max),
            bytes: try payload["data"].bytes())
        guard size <= Blob.maximumSize else { throw .tooLarge }
        guard isValid else { throw .badFields }
    }

    var payload: JSONObject {
        JSONObject([
            ("id", .base64(id)), ("to", .string(to.description)), ("size", .integer(size)),
            ("digest", digest.map { .base64($0) }), ("delete", deletion.map { .base64($0) }),
            ("offset", .integer(offset)), ("data", .base64(bytes)),
        ])
    }
}

/// The state of a blob at a relay.
public struct BlobState: Sendable, Equatable {
    /// The length of the blob in bytes.
    public let size: Int64
    /// The number of bytes, from the first one on, that the relay has.
    public let have: Int64

    /// Creates a state.
    public init(size: Int64, have: Int64) {
        self.size = size
        self.have = have
    }

    /// Whether the blob can be fetched.
    public var isComplete: Bool { size > 0 && have == size }
}
