/// The key of a blob and how to recognize it; with a place, also where to fetch it. It is part of a message's body.
public struct BlobPointer: Sendable, Hashable {
    /// The place of a blob on a relay.
    public struct Place: Sendable, Hashable {
        /// The relay's address, such as `tls://relay.example.org:7667`; `nil` for the relay that delivered the message.
        public let relay: String?
        /// The random id, 32 bytes. Whoever knows it can fetch the blob.
        public let id: [UInt8]

        /// Creates a place.
        public init(relay: String?, id: [UInt8]) {
            precondition(id.count == 32)
            self.relay = relay
            self.id = id
        }
    }

    /// The key, 32 bytes.
    public let key: [UInt8]
    /// SHA-256 of the blob, 32 bytes.
    public let digest: [UInt8]
    /// The length of the blob in bytes, 1 to ``Blob/maximumSize``.
    public let size: Int64
    /// Where the blob is, or `nil` if the sender carries it in another way.
    public var place: Place?

    /// Creates a pointer.
    public init(key: [UInt8], digest: [UInt8], size: Int64, place: Place? = nil) {
        precondition(key.count == Blob.keySize && digest.count == 32)
        self.key = key
        self.digest = digest
        self.size = size
        self.place = place
    }
}
