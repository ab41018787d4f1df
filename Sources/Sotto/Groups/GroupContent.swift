/// The content of a message to a group, before padding and encryption:
/// `{"v":1,"type":"message","group","time","heads":[…],"state","body"}`. sotto-formats(5), GROUPS.
package struct GroupContent: Sendable {
    package let group: GroupID
    package let time: Timestamp
    /// The heads of the author's log, 1 to ``mostHeads``: the author's own last change first.
    package let heads: [GroupID]
    /// ``GroupState/digest`` of the author, 16 bytes.
    package let state: [UInt8]
    package let body: JSONObject
    /// The record, with members that this version does not know.
    package let members: JSONObject

    /// The most heads that a message names.
    package static let mostHeads = 16

    /// Creates a content.
    package init(
        group: GroupID, time: Timestamp, heads: [GroupID], state: [UInt8], body: JSONObject,
        extra: [(name: String, value: JSON)] = []
    ) {
        (self.group, self.time, self.heads) = (group, time, heads)
        (self.state, self.body) = (state, body)
        var record: JSONObject = [
            "v": .integer(1), "type": .string("message"), "group": .string(group.description),
            "time": .string(time.description),
            "heads": .array(heads.map { .string($0.description) }), "state": .string(hex(state)),
            "body": .object(body),
        ]
        for (name, value) in extra { record[name] = value }
        members = record
    }

    /// The bytes of the record.
    package var bytes: [UInt8] { members.serialized() }

    /// Reads the bytes. Throws ``GroupChainError/member(_:)``. The form of the body is checked with its members.
    package init(_ bytes: [UInt8]) throws(GroupChainError) {
        guard let record = try? JSON.object(parsing: bytes) else { throw .member("type") }
        let fields = Fields<GroupChainError>(record)
        try fields.header("message")
        group = try fields["group"].text { GroupID($0) }
        time = try fields["time"].text { Timestamp($0) }
        heads = try fields["heads"].array().map { json throws(GroupChainError) in
            guard let id = json.string.flatMap({ GroupID($0) }) else { throw .member("heads") }
            return id
        }
        guard (1...Self.mostHeads).contains(heads.count), Set(heads).count == heads.count else {
            throw .member("heads")
        }
        state = try fields["state"].hexBytes(count: 16)
        body = try fields["body"].object()
        members = record
    }

    /// The place of a message in a chain of its author. The id follows from it and from the author.
    package struct Place: Sendable, Equatable {
        /// The Ed25519 key of the chain, 32 bytes.
        package let signingKey: [UInt8]
        /// The number of the message, from 0.
        package let iteration: UInt32

        /// The place of the next message of a chain.
        package init(next chain: GroupChain) {
            (signingKey, iteration) = (chain.signingKey.publicKey, chain.iteration)
        }

        /// Reads ``object``, or returns `nil`.
        package init?(_ object: JSONObject) {
            let fields = Fields<FieldError>(object)
            guard let key = try? fields["signingKey"].bytes(count: 32),
                let iteration = try? fields["iteration"].integer(
                    in: 0...(GroupChain.mostMessages - 1))
            else { return nil }
            (signingKey, self.iteration) = (key, iteration)
        }

        /// `{"signingKey","iteration"}`.
        package var object: JSONObject {
            ["signingKey": .base64(signingKey), "iteration": .integer(Int64(iteration))]
        }

        /// Returns the id of an author's message with this place.
        package func id(_ group: GroupID, _ author: KeyID) -> String {
            GroupContent.messageID(chain: chain(group, author), iteration: iteration)
        }

        /// Returns the id of the chain of an author.
        package func chain(_ group: GroupID, _ author: KeyID) -> [UInt8] {
            GroupChainDistribution.id(group, author, signingKey)
        }
    }

    /// Returns the id of the message at a place of a chain: a UUID of SHA-256(chain id ‖ u32be iteration). So another member
    /// cannot write a message with this id.
    package static func messageID(chain: [UInt8], iteration: UInt32) -> String {
        Envelope.id(of: chain + iteration.bigEndianBytes)
    }
}

/// The body `group` of a message to one person: what a member tells another about a group.
/// sotto-formats(5), GROUPS.
package struct GroupBody: Sendable {
    package let group: GroupID
    /// Records of changes, not verified.
    package var changes: [JSONObject] = []
    /// Cards of members, not verified.
    package var cards: [JSONObject] = []
    /// More changes and cards, in a blob.
    package var file: GroupFile?
    /// The distribution of the sender's chain, which contains keys.
    package var chain: JSONObject?
    /// ``RoomKeys/object`` for a moderator, which contains keys.
    package var room: JSONObject?
    /// Changes that the sender asks for.
    package var request: [GroupID] = []
    /// The heads of the sender's log, if the sender asks for changes or heads, or answers a question for heads. A question also has
    /// ``GroupLog/landmarks``, and its answer all changes that the requested ones depend on, without those that the sender of the
    /// question has by these.
    package var heads: [GroupID] = []
    /// The random number of a question for the heads of the receiver's log, ``questionBytes`` long.
    package var headsRequest: [UInt8]?
    /// The number of the question that ``heads`` answer.
    package var headsAnswer: [UInt8]?
    /// Whether the sender asks for the present chain, because messages without a known chain arrived.
    package var asksForChain = false
    /// The ids of messages of the receiver that the sender asks for, because they did not arrive.
    package var messageRequest: [String] = []
    /// Earlier messages of the sender, for a member who may read them now: `{"place","time","body"}`.
    package var history: [JSONObject] = []
    /// Whether ``history`` ends with this body.
    package var isComplete = false

    /// The value of the member `type`.
    package static let type = "group"
    /// The most changes, cards, requested changes, requested messages and earlier messages of a body.
    package static let most = 256
    /// The length of the number of a question for heads.
    package static let questionBytes = 16
    /// The most bytes of a body. With the other members of its message it fits an envelope.
    package static let mostBytes = 30 << 10

    /// Creates a body without content.
    package init(_ group: GroupID) { self.group = group }

    /// Whether the body is short enough for a message.
    package var fits: Bool { record.serialized().count <= Self.mostBytes }

    /// Whether the sender asks for something.
    package var isRequest: Bool {
        !request.isEmpty || headsRequest != nil || asksForChain || !messageRequest.isEmpty
    }

    /// The object.
    package var record: JSONObject {
        func list(_ objects: [JSONObject]) -> JSON? {
            objects.isEmpty ? nil : .array(objects.map { .object($0) })
        }
        func list(_ ids: [GroupID]) -> JSON? {
            ids.isEmpty ? nil : .array(ids.map { .string($0.description) })
        }
        return JSONObject([
            ("type", .string(Self.type)), ("group", .string(group.description)),
            ("changes", list(changes)), ("cards", list(cards)),
            ("file", file.map { .object($0.object) }),
            ("chain", chain.map { .object($0) }), ("room", room.map { .object($0) }),
            ("request", list(request)), ("heads", list(heads)),
            ("headsRequest", headsRequest.map { .string(hex($0)) }),
            ("headsAnswer", headsAnswer.map { .string(hex($0)) }),
            ("chainRequest", asksForChain ? .bool(true) : nil),
            (
                "messageRequest",
                messageRequest.isEmpty ? nil : .array(messageRequest.map { .string($0) })
            ),
            ("history", list(history)), ("complete", isComplete ? .bool(true) : nil),
        ])
    }

    /// Reads the object. Throws ``GroupChangeError/member(_:)``.
    package init(_ body: JSONObject) throws(GroupChangeError) {
        let fields = Fields<GroupChangeError>(body)
        guard body["type"]?.string == Self.type else { throw .member("type") }
        group = try fields["group"].text { GroupID($0) }
        func objects(_ name: String) throws(GroupChangeError) -> [JSONObject] {
            guard let field = fields[name].optional else { return [] }
            let objects = try field.array().compactMap(\.object)
            guard try objects.count == field.array().count, objects.count <= Self.most else {
                throw field.failure
            }
            return objects
        }
        (changes, cards) = (try objects("changes"), try objects("cards"))
        history = try objects("history")
        if let object = try fields["file"].optional?.object() { file = try GroupFile(object) }
        isComplete = try fields["complete"].optional?.bool() ?? false
        chain = try fields["chain"].optional?.object()
        room = try fields["room"].optional?.object()
        func ids(_ name: String) throws(GroupChangeError) -> [GroupID] {
            let wanted = try fields[name].optional?.array() ?? []
            let ids = wanted.compactMap { $0.string.flatMap { GroupID($0) } }
            guard ids.count == wanted.count, ids.count <= Self.most else { throw .member(name) }
            return ids
        }
        (request, heads) = (try ids("request"), try ids("heads"))
        headsRequest = try fields["headsRequest"].optional?.hexBytes(count: Self.questionBytes)
        headsAnswer = try fields["headsAnswer"].optional?.hexBytes(count: Self.questionBytes)
        asksForChain = try fields["chainRequest"].optional?.bool() ?? false
        let messages = try fields["messageRequest"].optional?.array() ?? []
        messageRequest = messages.compactMap { $0.string.flatMap { Envelope.isID($0) ? $0 : nil } }
        guard messageRequest.count == messages.count, messageRequest.count <= Self.most else {
            throw .member("messageRequest")
        }
    }
}
