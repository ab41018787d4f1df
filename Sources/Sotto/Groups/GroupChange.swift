/// A reason to refuse a change of a group.
package enum GroupChangeError: Error, Sendable, Equatable {
    /// A member is missing, or has another type, form or length.
    case member(String)
    /// The change is of a later version.
    case version(Int64)
    /// The record as a whole is not in the form of a change.
    case form(RecordFormError)
    /// The signature of the device, or of the door, is wrong.
    case signature
}

extension GroupChangeError: RecordError {}

/// The id of a change: SHA-256 of its canonical JSON with its signature. The id of a group is the id of its first change.
public struct GroupID: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The 32 bytes.
    public let bytes: [UInt8]

    /// Creates an id of 32 bytes.
    public init(_ bytes: [UInt8]) {
        precondition(bytes.count == 32)
        self.bytes = bytes
    }

    /// Reads 64 hexadecimal digits, or returns `nil`.
    public init?(_ text: String) {
        guard let bytes = SottoBytes.bytes(hex: text), bytes.count == 32 else { return nil }
        self.bytes = bytes
    }

    /// The beginning that people are shown, 16 digits.
    package var short: String { String(description.prefix(16)) }

    /// Whether a text is the beginning of an id in lower case.
    package static func isBeginning(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }

    /// The 64 hexadecimal digits, in lower case.
    public var description: String { hex(bytes) }

    /// Whether the bytes of `a` are before those of `b`.
    public static func < (a: GroupID, b: GroupID) -> Bool {
        a.bytes.lexicographicallyPrecedes(b.bytes)
    }
}

/// A signed change of a group:
/// `{"v":1,"type":"group-change","group","by","device","seq","parents":[…],"act",…,"time","sig"}`. It does one thing.
/// sotto-formats(5), GROUPS.
package struct GroupChange: Sendable {
    /// The last message of a chain that a member keeps after they left: `{"device","chain","iteration"}`.
    package struct Limit: Sendable, Hashable {
        package var device: KeyID
        /// The id of the chain, 32 bytes.
        package var chain: [UInt8]
        package var iteration: UInt32

        package init(device: KeyID, chain: [UInt8], iteration: UInt32) {
            (self.device, self.chain, self.iteration) = (device, chain, iteration)
        }
    }

    /// A value that a change sets.
    package enum Value: Sendable, Hashable {
        case name(String)
        case about(String)
        /// A JPEG of at most ``GroupChange/avatarBytes``, or nothing.
        case avatar([UInt8])
        /// The seconds after which messages expire, or 0.
        case timer(Int64)
        /// The author's name in the group.
        case nickname(String)

        /// The name of the member.
        package var key: String {
            switch self {
            case .name: "name"
            case .about: "about"
            case .avatar: "avatar"
            case .timer: "timer"
            case .nickname: "nickname"
            }
        }

        /// The value of the member.
        package var json: JSON {
            switch self {
            case .name(let text), .about(let text), .nickname(let text): .string(text)
            case .avatar(let picture):
                .object(picture.isEmpty ? [:] : ["picture": .base64(picture)])
            case .timer(let seconds): .integer(seconds)
            }
        }
    }

    /// The statement of a newcomer about themselves.
    package struct Entry: Sendable, Hashable {
        /// SHA-256 of the canonical JSON of the member's card, 32 bytes.
        package var card: [UInt8]
        /// The member's name in the group.
        package var nickname: String?

        package init(card: [UInt8], nickname: String? = nil) {
            (self.card, self.nickname) = (card, nickname)
        }
    }

    /// An earlier group that a new one continues: its id, and 1 to ``mostHeads`` heads of its log.
    package struct Continuation: Sendable, Hashable {
        package let group: GroupID
        package let heads: [GroupID]

        /// The most heads.
        package static let mostHeads = 16

        package init(group: GroupID, heads: [GroupID]) { (self.group, self.heads) = (group, heads) }
    }

    package enum Act: Sendable, Hashable {
        case create(nonce: [UInt8], GroupPolicy, continues: Continuation? = nil)
        case invite([KeyID], GroupRank)
        case join(Entry)
        /// Joins with the signature of the door (64 bytes) over the author's id.
        case doorJoin(Entry, door: [UInt8], proof: [UInt8])
        case leave([Limit])
        case remove([KeyID], [Limit])
        case ban([KeyID], [Limit])
        case role(KeyID, GroupRank)
        case policy(GroupPolicy)
        case set(Value)
        /// The author's list of devices.
        case devices(DeviceList)
        /// Has no effect, but unites heads.
        case merge
    }

    /// The longest change, in bytes of canonical JSON.
    package static let limit = RecordForm.change.bytes
    /// The most parents.
    package static let mostParents = 256
    /// The most members that a change names.
    package static let mostMembers = 200
    /// The longest name or nickname, in bytes.
    package static let nameBytes = 200
    /// The longest description, in bytes.
    package static let aboutBytes = 2_000
    /// The most bytes of a picture in a change.
    package static let avatarBytes = 8 << 10

    /// The id, from the canonical bytes.
    package let id: GroupID
    /// The group, which is ``id`` for `create`.
    package let group: GroupID
    package let by: KeyID
    package let device: KeyID
    /// The number of the change among those of its device in the group, from 1.
    package let seq: Int64
    package let parents: [GroupID]
    package let act: Act
    /// The time that the author claims. No rule uses it.
    package let time: Timestamp
    /// The canonical JSON with the signature.
    package let bytes: [UInt8]

    /// The value of the member `type`.
    package static let type = "group-change"

    /// Creates and signs a change. `group` is `nil` for `create`. `author` is the member whose device has the key; `nil` if the key
    /// is the member's own.
    package init(
        _ act: Act, in group: GroupID?, by key: SigningKey, of author: KeyID? = nil, seq: Int64,
        parents: [GroupID], time: Timestamp = .now()
    ) throws(GroupChangeError) {
        let device = KeyID(publicKey: key.publicKey)
        var record = JSONObject([
            ("v", .integer(1)), ("type", .string(Self.type)),
            ("group", group.map { .string($0.description) }),
            ("by", .string((author ?? device).description)),
            ("device", .string(device.description)),
            ("seq", .integer(seq)),
            ("parents", .array(parents.map { .string($0.description) })),
            ("act", .string(act.name)), ("time", .string(time.description)),
        ])
        for (name, value) in act.members.members { record[name] = value }
        SignedRecord.sign(&record, with: key)
        try self.init(record)
    }

    /// Parses a change and verifies its signatures.
    package init(_ record: JSONObject) throws(GroupChangeError) {
        let bytes: [UInt8]
        do throws(RecordFormError) {
            bytes = try RecordForm.change.canonical(record)
        } catch {
            throw .form(error)
        }
        try self.init(record, bytes, isVerified: false)
    }

    /// Parses the canonical bytes of a change whose signatures were verified when it was stored.
    package init(stored bytes: [UInt8]) throws(GroupChangeError) {
        let object: JSONObject
        do throws(RecordFormError) {
            object = try RecordForm.change.record(parsing: bytes)
        } catch {
            throw .form(error)
        }
        try self.init(object, bytes, isVerified: true)
    }

    private init(
        _ record: JSONObject, _ bytes: [UInt8], isVerified: Bool
    ) throws(GroupChangeError) {
        let fields = Fields<GroupChangeError>(record)
        try fields.header(Self.type)
        self.bytes = bytes
        id = GroupID(sha256(bytes))
        by = try fields["by"].keyID()
        device = try fields["device"].keyID()
        seq = try fields["seq"].integer(in: 1...JSON.largestSafeInteger)
        time = try fields["time"].text { Timestamp($0) }
        parents = try fields["parents"].list(most: Self.mostParents) {
            $0.string.flatMap { GroupID($0) }
        }
        act = try Act(fields, isVerified: isVerified)
        // The identity itself enters groups, lists devices and gives ownership away.
        guard device == by || !act.needsIdentity else { throw .member("device") }
        if case .devices(let list) = act, list.owner != by { throw .member("list") }
        if case .create = act {
            guard record["group"] == nil else { throw .member("group") }
            guard parents.isEmpty else { throw .member("parents") }
            group = id
        } else {
            group = try fields["group"].text { GroupID($0) }
            guard !parents.isEmpty else { throw .member("parents") }
        }
        guard !isVerified else { return }
        guard SignedRecord.verify(record, by: device.publicKey) else { throw .signature }
        if case .doorJoin(_, let door, let proof) = act {
            guard verifySignature(proof, of: Self.doorMessage(group, by), by: door) else {
                throw .signature
            }
        }
    }

    /// The bytes that a door signs for a newcomer: `"sotto/door-join/v1\0" ‖ group ‖ public key of the newcomer`.
    package static func doorMessage(_ group: GroupID, _ newcomer: KeyID) -> [UInt8] {
        Array("sotto/door-join/v1\0".utf8) + group.bytes + newcomer.publicKey
    }
}

extension GroupChange.Act {
    /// Whether the author enters the group with it.
    package var isEntry: Bool {
        switch self {
        case .create, .join, .doorJoin: true
        default: false
        }
    }

    /// Whether the author joins the group of another with it.
    package var isJoin: Bool {
        switch self {
        case .join, .doorJoin: true
        default: false
        }
    }

    /// Whether the author enters by a door with it.
    package var isDoorJoin: Bool { if case .doorJoin = self { true } else { false } }

    /// Whether only the member's own key may sign it, and that of no other device.
    package var needsIdentity: Bool {
        switch self {
        case .devices, .role(_, .owner): true
        default: isEntry
        }
    }

    /// Whether it only unites heads.
    package var isMerge: Bool { if case .merge = self { true } else { false } }

    /// Whether a full log has space for it, if its author is a moderator.
    package var usesReserve: Bool {
        if case .policy = self { true } else { isCut }
    }

    /// The limits of a change by which people leave.
    var limits: [GroupChange.Limit] {
        switch self {
        case .leave(let limits), .remove(_, let limits), .ban(_, let limits): limits
        default: []
        }
    }

    /// Whether the change can lower or remove a rank.
    package var isCut: Bool {
        switch self {
        case .leave, .remove, .ban, .role: true
        default: false
        }
    }

    /// Returns whether the change invites `id`.
    package func invites(_ id: KeyID) -> Bool {
        if case .invite(let who, _) = self { who.contains(id) } else { false }
    }

    /// Returns the limits of a change that removes or bans a person; `nil` for another change.
    package func removal(of id: KeyID) -> [GroupChange.Limit]? {
        switch self {
        case .remove(let who, let limits), .ban(let who, let limits):
            who.contains(id) ? limits : nil
        default: nil
        }
    }

    /// The people whom a change removes or bans.
    package var removed: [KeyID] {
        switch self {
        case .remove(let who, _), .ban(let who, _): who
        default: []
        }
    }

    /// The people whose rank a change of another person can lower or remove.
    package var lowered: [KeyID] {
        if case .role(let who, _) = self { [who] } else { removed }
    }

    /// The rank above which a change takes its author's own rank away, or `nil`.
    package func leaves(_ author: KeyID) -> GroupRank? {
        switch self {
        case .leave: .nobody
        case .role(author, let rank): rank
        default: nil
        }
    }

    /// The door of a `door-join`, 32 bytes.
    package var door: [UInt8]? { if case .doorJoin(_, let door, _) = self { door } else { nil } }

    /// The same as the rules see it. `number` returns the number of a member, and `device` that of a device.
    func rule(_ number: (KeyID) -> Int, device: (KeyID) -> Int) -> GroupRules.Act {
        switch self {
        case .create(_, let policy, _): .create(policy.rules)
        case .invite(let ids, let rank): .invite(ids.map(number), rank)
        case .join: .join
        case .doorJoin(_, let door, _): .doorJoin(door: door)
        case .leave: .leave
        case .remove(let ids, _): .remove(ids.map(number))
        case .ban(let ids, _): .ban(ids.map(number))
        case .role(let id, let rank): .role(number(id), rank)
        case .policy(let policy): .policy(policy.rules)
        case .devices(let list):
            .devices(
                seq: list.seq,
                Dictionary(
                    uniqueKeysWithValues: list.devices.map { (device($0.id), $0.state) }))
        case .set(.nickname): .other
        case .set: .set
        case .merge: .other
        }
    }
}
