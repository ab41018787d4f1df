/// A reason to refuse the record of a room.
package enum RoomError: UnversionedRecordError, Equatable {
    /// A member is missing, or has another type, form or length.
    case member(String)
    /// The signature is not that of the publishing key, or the door has not signed that key.
    case signature
    /// The content is damaged, or it was encrypted with another phrase.
    case authentication
    /// The changes that a newcomer needs are longer than a record can be.
    case tooLong
    /// The record, or its content, as a whole is not in its form.
    case form(RecordFormError)
}

/// The record of a room in the directory of a relay:
/// `{"v":1,"type":"room","id","publisher","proof","seq","issued","relay"?,"box","sig"}`.
///
/// `id` is the door, in the form of an id. The door signs `publisher`, a key that only moderators have, and `publisher`
/// signs the record. `box` is the encrypted ``RoomContent``. sotto-formats(5), ROOMS.
package struct RoomRecord: Sendable {
    /// The public key of the door, in the form of an id.
    package let door: KeyID
    /// The key that signs the record, an Ed25519 public key of 32 bytes.
    package let publisher: [UInt8]
    /// Of two records of a publisher the one with the higher number is valid.
    package let seq: Int64
    package let issued: Timestamp
    /// The address of the relay, or `nil`.
    package let relay: String?
    /// nonce (24 bytes) ‖ XChaCha20-Poly1305 of the padded content.
    package let box: [UInt8]
    /// The signed record.
    package let record: JSONObject

    /// The value of the member `type`.
    package static let type = "room"
    /// The longest record, in bytes of its one-line form.
    package static let limit = RecordForm.room.bytes

    /// Reads a record and verifies its form and its signatures.
    package init(record: JSONObject) throws(RoomError) {
        do throws(RecordFormError) {
            try RecordForm.room.canonical(record)
        } catch {
            throw .form(error)
        }
        let fields = Fields<RoomError>(record)
        try fields.header(Self.type)
        door = try fields["id"].keyID()
        publisher = try fields["publisher"].hexBytes(count: 32)
        let proof = try fields["proof"].hexBytes(count: 64)
        seq = try fields["seq"].integer(in: 1...JSON.largestSafeInteger)
        issued = try fields["issued"].time()
        relay = try fields["relay"].optional?.text()
        box = try fields["box"].bytes { $0 >= XChaChaPoly.overhead }
        self.record = record
        guard SignedRecord.verify(record, by: publisher),
            verifySignature(proof, of: RoomKeys.proofMessage(publisher), by: door.publicKey)
        else { throw .signature }
    }

    /// The data that ``box`` authenticates.
    var associatedData: [UInt8] { Self.associatedData(door, publisher) }

    /// The public keys of the door and of the publisher.
    static func associatedData(_ door: KeyID, _ publisher: [UInt8]) -> [UInt8] {
        door.publicKey + publisher
    }
}

/// The content that a newcomer reads with the phrase of a room:
/// `{"v":1,"type":"room-content","group","changes":[…],"cards":[…],"file"?}`, or with `"closed":true` and nothing else.
package struct RoomContent: Sendable {
    /// The group, or `nil` if the door is closed.
    package let group: GroupID?
    /// Records of changes, not verified: the door, all changes before it, and later ones if there is space. Those in ``file``
    /// are left out.
    package let changes: [JSONObject]
    /// Cards of members who let newcomers in, not verified.
    package let cards: [JSONObject]
    /// A file at the relay of the room with the door and all changes before it; `nil` if ``changes`` has them.
    package let file: GroupFile?

    /// The longest content in bytes, with its padding.
    static let limit = RecordForm.roomContent.bytes
    /// The content is padded with spaces to a multiple of this number of bytes.
    private static let step = 4 << 10
    /// The most cards.
    package static let mostCards = 8

    /// The content of a closed door.
    package static let closed = RoomContent(group: nil, changes: [], cards: [], file: nil)

    private init(
        group: GroupID?, changes: [JSONObject], cards: [JSONObject], file: GroupFile?
    ) {
        (self.group, self.changes, self.cards, self.file) = (group, changes, cards, file)
    }

    /// Returns the change of a log that set the door, after all changes before it.
    package static func needed(_ log: GroupLog, door: KeyID) -> [GroupChange] {
        // Later policies with the same door add nothing that a newcomer needs.
        let opening = log.changes.first { $0.act.opens(door.publicKey) }
        let needed = log.past(of: [opening?.id ?? log.group])
        return log.changes.filter { needed.contains($0.id) }
    }

    /// Creates the content for a group whose policy has a door. `cards` are signed cards of members, the most important
    /// first. `file` has the ``needed(_:door:)`` changes and a place.
    ///
    /// Throws ``RoomError/tooLong`` if there is no file, and the changes have no space.
    package init(
        _ log: GroupLog, door: KeyID, cards: [Card], file: GroupFile? = nil
    ) throws(RoomError) {
        let needed = Self.needed(log, door: door)
        var known = Set(file == nil ? [] : needed.map(\.id))
        var space = Self.limit - 256 - (file?.object.serialized().count ?? 0)
        var records: [GroupID: JSONObject] = [:]
        func add(_ change: GroupChange) -> Bool {
            guard change.bytes.count + 1 <= space,
                let record = try? JSON.object(parsing: change.bytes)
            else { return false }
            space -= change.bytes.count + 1
            records[change.id] = record
            known.insert(change.id)
            return true
        }
        for change in needed where !known.contains(change.id) {
            guard add(change) else { throw .tooLong }
        }
        var chosen: [JSONObject] = []
        for card in cards.prefix(Self.mostCards) {
            guard let record = card.record, record.serialized().count + 1 <= space else { continue }
            space -= record.serialized().count + 1
            chosen.append(record)
        }
        guard !chosen.isEmpty else { throw .tooLong }
        for change in log.changes where !known.contains(change.id) {
            if change.parents.allSatisfy({ known.contains($0) }) { _ = add(change) }
        }
        self.init(
            group: log.group, changes: log.changes.compactMap { records[$0.id] }, cards: chosen,
            file: file)
    }

    /// Returns the content with the changes that its file has.
    package func adding(_ changes: [GroupChange]) -> RoomContent {
        let records = changes.compactMap { try? JSON.object(parsing: $0.bytes) }
        return RoomContent(group: group, changes: records + self.changes, cards: cards, file: file)
    }

    /// Reads the bytes. Throws ``RoomError/member(_:)`` or ``RoomError/form(_:)``.
    package init(_ bytes: [UInt8]) throws(RoomError) {
        let record: JSONObject
        do throws(RecordFormError) {
            record = try RecordForm.roomContent.record(parsing: bytes)
        } catch {
            throw .form(error)
        }
        let fields = Fields<RoomError>(record)
        try fields.header("room-content")
        if record["closed"]?.bool == true {
            self = .closed
            return
        }
        func objects(_ name: String) throws(RoomError) -> [JSONObject] {
            let field = fields[name]
            let objects = try field.array().compactMap(\.object)
            guard try objects.count == field.array().count else { throw field.failure }
            return objects
        }
        group = try fields["group"].text { GroupID($0) }
        (changes, cards) = (try objects("changes"), try objects("cards"))
        let field = fields["file"]
        guard let object = try field.optional?.object() else {
            file = nil
            return
        }
        guard let read = try? GroupFile(object), read.pointer.place != nil else {
            throw field.failure
        }
        file = read
    }

    /// The padded bytes.
    package var bytes: [UInt8] {
        var record: JSONObject = ["v": .integer(1), "type": .string("room-content")]
        if let group {
            record["group"] = .string(group.description)
            record["changes"] = .array(changes.map { .object($0) })
            record["cards"] = .array(cards.map { .object($0) })
            if let file { record["file"] = .object(file.object) }
        } else {
            record["closed"] = .bool(true)
        }
        let bytes = record.serialized()
        let padding = (Self.step - bytes.count % Self.step) % Self.step
        return bytes + [UInt8](repeating: UInt8(ascii: " "), count: padding)
    }
}

extension GroupChange.Act {
    /// Whether it sets a policy with this door, 32 bytes.
    fileprivate func opens(_ door: [UInt8]) -> Bool {
        switch self {
        case .create(_, let policy, _), .policy(let policy): policy.door == door
        default: false
        }
    }
}
