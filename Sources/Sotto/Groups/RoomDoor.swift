/// The keys that the phrase of a room gives at a relay:
///
///     root = Argon2id(NFC(phrase), salt SHA-256("sotto/door/v1\0" ‖ host of the relay)[..16], as in PhraseHash)
///     door = the Ed25519 key of the seed root: it signs newcomers and the publishing key
///     key  = HKDF-SHA256(root, info "sotto/room/v1", 32): it opens the record of the room
///
/// The relay can try phrases. sotto-formats(5), ROOMS.
package final class RoomDoor: Sendable {
    /// The key of the door.
    fileprivate let key: SigningKey
    fileprivate let contentKey: SecretBytes

    /// The public key of the door, in the form of an id.
    package var id: KeyID { KeyID(publicKey: key.publicKey) }

    /// Derives the keys, which takes 256 MiB and about half a second. `host` is the name or the address of the relay, in
    /// lower case, without the port.
    ///
    /// Throws ``PhraseError/phrase`` or ``PhraseError/memory``.
    package convenience init(
        phrase: borrowing SecretBytes, host: String
    ) throws(PhraseError) {
        let salt = sha256(Array("sotto/door/v1\0".utf8) + Array(host.utf8))
        self.init(
            root: try PhraseHash.root(of: phrase, salt: Array(salt[..<PhraseHash.saltBytes])))
    }

    package init(root: borrowing SecretBytes) {
        key = SigningKey(seed: root)
        contentKey = hkdfSHA256(root, info: "sotto/room/v1")
    }

    /// Returns the act by which a person enters the group of this door.
    package func join(
        _ group: GroupID, by newcomer: KeyID, _ entry: GroupChange.Entry
    ) -> GroupChange.Act {
        .doorJoin(
            entry, door: key.publicKey,
            proof: key.sign(GroupChange.doorMessage(group, newcomer)))
    }

    /// Decrypts the content of a record. Throws ``RoomError``.
    package func open(_ record: RoomRecord) throws(RoomError) -> RoomContent {
        guard record.door == id,
            let bytes = contentKey.withPointer({
                XChaChaPoly.open(record.box, authenticating: record.associatedData, key: $0)
            })
        else { throw .authentication }
        return try RoomContent(bytes)
    }
}

/// The keys with which moderators publish the record of a room: `{"relay","door","publisher","key","proof"}`, which is
/// secret. They do not contain the phrase, and do not sign newcomers.
package final class RoomKeys: Sendable {
    /// The address of the relay.
    package let relay: String
    /// The public key of the door, in the form of an id.
    package let door: KeyID
    private let publisher: SigningKey
    private let contentKey: SecretBytes
    /// The door's signature over the public key of ``publisher``, 64 bytes.
    private let proof: [UInt8]

    /// Makes a new publishing key for a door at a relay.
    package init(_ door: RoomDoor, relay: String) {
        self.relay = relay
        self.door = door.id
        publisher = SigningKey(seed: SecretBytes(randomCount: 32))
        contentKey = door.contentKey.duplicate()
        proof = door.key.sign(Self.proofMessage(publisher.publicKey))
    }

    /// Reads the object. Throws ``RoomError/member(_:)``, or ``RoomError/signature`` if the door has not signed the
    /// publishing key.
    package init(_ object: JSONObject) throws(RoomError) {
        let fields = Fields<RoomError>(object)
        relay = try fields["relay"].text()
        door = try fields["door"].keyID()
        publisher = SigningKey(seed: try fields["publisher"].secret(count: 32))
        contentKey = try fields["key"].secret(count: 32)
        proof = try fields["proof"].hexBytes(count: 64)
        let message = Self.proofMessage(publisher.publicKey)
        guard verifySignature(proof, of: message, by: door.publicKey) else { throw .signature }
    }

    /// The object, which is secret.
    package var object: JSONObject {
        [
            "relay": .string(relay), "door": .string(door.description),
            "publisher": .base64(publisher.withSeed { Array($0) }),
            "key": .base64(contentKey.withBytes { Array($0) }), "proof": .string(hex(proof)),
        ]
    }

    /// Returns the signed record with a content.
    package func record(
        _ content: RoomContent, seq: Int64, issued: Timestamp = .now()
    ) -> JSONObject {
        let data = RoomRecord.associatedData(door, publisher.publicKey)
        let box = contentKey.withPointer {
            XChaChaPoly.seal(content.bytes, authenticating: data, key: $0)
        }
        var record: JSONObject = [
            "v": .integer(1), "type": .string(RoomRecord.type), "id": .string(door.description),
            "publisher": .string(hex(publisher.publicKey)), "proof": .string(hex(proof)),
            "seq": .integer(seq), "issued": .string(issued.description), "relay": .string(relay),
            "box": .base64(box),
        ]
        SignedRecord.sign(&record, with: publisher)
        return record
    }

    /// The bytes that a door signs for a publishing key: `"sotto/room-publisher/v1\0" ‖ public key`.
    static func proofMessage(_ publisher: [UInt8]) -> [UInt8] {
        Array("sotto/room-publisher/v1\0".utf8) + publisher
    }
}
