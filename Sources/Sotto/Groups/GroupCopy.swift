/// A message to a group, encrypted once for all readers: u32be iteration ‖ commitment (32) ‖ signature (64) ‖ nonce (12) ‖
/// ciphertext ‖ tag (16), AES-256-GCM. sotto-formats(5), GROUPS.
package struct GroupMessage: Sendable, Equatable {
    /// The number of the message in its chain, from 0.
    package let iteration: UInt32
    let commitment: [UInt8]
    let signature: [UInt8]
    let combined: [UInt8]

    /// The bytes.
    package var bytes: [UInt8] { iteration.bigEndianBytes + commitment + signature + combined }

    init(iteration: UInt32, commitment: [UInt8], signature: [UInt8], combined: [UInt8]) {
        (self.iteration, self.commitment) = (iteration, commitment)
        (self.signature, self.combined) = (signature, combined)
    }

    /// Parses the bytes, or returns `nil`.
    package init?(_ bytes: [UInt8]) {
        var reader = ByteReader(bytes[...])
        guard let iteration = reader.integer(UInt32.self), let commitment = reader.bytes(32),
            let signature = reader.bytes(64)
        else { return nil }
        (self.iteration, self.commitment) = (iteration, Array(commitment))
        (self.signature, combined) = (Array(signature), Array(reader.remaining))
        guard combined.count >= AESGCM.overhead else { return nil }
    }

    /// The associated data of the encryption: chain id ‖ u32be iteration.
    static func associatedData(_ chain: [UInt8], _ iteration: UInt32) -> [UInt8] {
        chain + iteration.bigEndianBytes
    }

    /// The bytes that the signature covers:
    /// `"sotto/group/v1\0"` ‖ chain id ‖ u32be iteration ‖ commitment ‖ combined.
    static func signed(
        _ chain: [UInt8], _ iteration: UInt32, _ commitment: [UInt8], _ combined: [UInt8]
    ) -> [UInt8] {
        Array("sotto/group/v1\0".utf8) + associatedData(chain, iteration) + commitment + combined
    }
}

/// A message to a group as one reader gets it: `{"tag","box"}`.
package struct GroupCopy: Sendable, Equatable {
    /// Names the chain for the reader, 16 bytes. It is the same in all copies of a chain for one reader.
    package let tag: [UInt8]
    /// nonce (24) ‖ XChaCha20-Poly1305 of the message.
    package let box: [UInt8]

    /// The outside of the envelope, which the box authenticates.
    package struct Address: Sendable {
        package var id: String
        package var to: KeyID
        package var time: Timestamp

        package init(id: String, to: KeyID, time: Timestamp) {
            (self.id, self.to, self.time) = (id, to, time)
        }

        /// `id ‖ 0 ‖ to ‖ 0 ‖ time`.
        var bytes: [UInt8] { Array("\(id)\0\(to)\0\(time)".utf8) }
    }

    static let tagBytes = 16

    init(tag: [UInt8], box: [UInt8]) { (self.tag, self.box) = (tag, box) }

    /// The object.
    package var payload: JSONObject { ["tag": .string(hex(tag)), "box": .base64(box)] }

    /// Reads the object. Throws ``GroupChainError/member(_:)``.
    package init(payload: JSONObject) throws(GroupChainError) {
        let fields = Fields<GroupChainError>(payload)
        tag = try fields["tag"].hexBytes(count: Self.tagBytes)
        box = try fields["box"].bytes { $0 > XChaChaPoly.overhead }
    }
}

/// The outer encryption of copies, under keys that the chain's wrap secret gives each reader.
enum Wrap {
    /// Returns the tag and the key of a reader: HKDF-SHA256(wrap secret, salt = public key of the reader, info
    /// `sotto/group/copy/v1` ‖ chain id, 48). So no other chain has them, even one with the same wrap secret.
    static func keys(
        _ secret: RatchetSecret, _ chain: [UInt8], _ reader: KeyID
    ) -> (tag: [UInt8], key: RatchetSecret) {
        let both = SecretBytes(count: GroupCopy.tagBytes + 32) { out in
            secret.withBytes { secret in
                reader.publicKey.withUnsafeBytes { salt in
                    hkdfSHA256(
                        salt: salt, info: Array("sotto/group/copy/v1".utf8) + chain, into: out
                    ) { add in add(secret) }
                }
            }
        }
        return both.withBytes { bytes in
            (
                Array(bytes.prefix(GroupCopy.tagBytes)),
                RatchetSecret(bytes.dropFirst(GroupCopy.tagBytes))
            )
        }
    }

    static func seal(
        _ message: [UInt8], _ address: GroupCopy.Address, nonce: [UInt8],
        _ key: RatchetSecret
    ) -> [UInt8] {
        key.withPointer {
            XChaChaPoly.seal(message, authenticating: address.bytes, nonce: nonce, key: $0)
        }
    }

    static func open(
        _ box: [UInt8], _ address: GroupCopy.Address, _ key: RatchetSecret
    ) -> [UInt8]? {
        key.withPointer { XChaChaPoly.open(box, authenticating: address.bytes, key: $0) }
    }
}
