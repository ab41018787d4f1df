import Sotto

/// A message record in the form in which the history stores it. Members that most records share take a few bytes
/// instead of 250.
///
/// The first byte is the form. Form 0 is the record's JSON. Form 1 is for a record whose members are in the order of
/// ``Message/record``:
///
///     1 | flags (1) | suite (1) | id (16) | time (4, seconds since 1970, big-endian; absent without the flag) | JSON
///
/// The flags are, from the lowest bit: `from` (2 bits) and `to` (2 bits), each 0 absent, 1 the owner, 2 the peer of the
/// conversation, 3 in the JSON; `authenticated`; `trust` (2 bits, ``trusts``); and whether the time is present. A suite
/// of 0 is in the JSON, another is a place in ``suites`` from 1. The JSON has the remaining members.
enum PackedRecord {
    static let suites = [
        "sealed", "ratchet", "phrase", "group",
    ]
    static let trusts = ["unverified", "trusted", "verified"]
    /// The members of a record in order. Unknown members follow them.
    private static let order = [
        "v", "type", "id", "from", "name", "to", "time", "suite", "authenticated", "legacy",
        "trust",
        "details", "body",
    ]
    static let hasTime: UInt8 = 0x80

    /// Returns the stored form of a message in a conversation of `owner`. It is that of the message's record.
    static func pack(_ message: Message, _ conversation: Conversation, owner: KeyID) -> [UInt8] {
        // Form 1 has no member `ttl` before the suite.
        guard message.ttl == nil, let id = UUIDText.bytes(message.id),
            let trust = trusts.firstIndex(of: message.trust.rawValue)
        else { return pack(message.record, conversation, owner: owner) }
        func party(_ id: KeyID?) -> UInt8 {
            guard let id else { return 0 }
            return id == owner ? 1 : id == conversation.peer ? 2 : 3
        }
        let (from, to) = (party(message.from), party(message.to))
        let suite = suites.firstIndex(of: message.suite.rawValue).map { UInt8($0 + 1) } ?? 0
        let seconds = message.time.flatMap { UInt32(exactly: $0.seconds) }
        let rest = JSONObject(
            [
                ("from", from == 3 ? message.from.map { .string($0.description) } : nil),
                ("name", message.name.map { .string($0) }),
                ("to", to == 3 ? message.to.map { .string($0.description) } : nil),
                ("time", seconds == nil ? message.time.map { .string($0.description) } : nil),
                ("suite", suite == 0 ? .string(message.suite.rawValue) : nil),
                ("legacy", message.legacy.map { .string($0) }),
                ("details", message.details.map { .object($0) }), ("body", .object(message.body)),
                ("group", message.group.map { .string($0) }),
                ("role", message.role.map { .string($0) }),
                ("device", message.device.map { .string($0.description) }),
            ] + message.extra.map { ($0.name, $0.value) })
        var flags = from | to << 2 | UInt8(trust) << 5
        if message.authenticated { flags |= 0x10 }
        if seconds != nil { flags |= hasTime }
        var packed: [UInt8] = [1, flags, suite]
        packed += id
        if let seconds { packed += seconds.bigEndianBytes }
        JSON.object(rest).append(to: &packed)
        return packed
    }

    /// Returns the stored form of a record in a conversation of `owner`.
    static func pack(_ record: JSONObject, _ conversation: Conversation, owner: KeyID)
        -> [UInt8]
    {
        packed(record, conversation, owner: owner) ?? [0] + record.serialized()
    }

    private static func packed(
        _ record: JSONObject, _ conversation: Conversation, owner: KeyID
    ) -> [UInt8]? {
        var flags: UInt8 = 0
        var suite: UInt8 = 0
        var (id, time): ([UInt8], [UInt8]) = ([], [])
        var rest: [(String, JSON?)] = []
        var (next, hasVersion, hasType, hasProof, hasTrust) = (0, false, false, false, false)
        let (own, peer) = (owner.description, conversation.peer?.description)
        func party(_ text: String?) -> UInt8 {
            guard let text else { return 3 }
            return text == own ? 1 : text == peer ? 2 : 3
        }
        for (name, value) in record.members {
            guard let place = order.firstIndex(where: { $0.isSameBytes(as: name) }) else {
                next = order.count
                rest.append((name, value))
                continue
            }
            guard place >= next else { return nil }
            next = place + 1
            switch name {
            case "v":
                guard value == .integer(1) else { return nil }
                hasVersion = true
            case "type":
                guard value == .string("message") else { return nil }
                hasType = true
            case "id":
                guard let bytes = value.string.flatMap(UUIDText.bytes) else { return nil }
                id = bytes
            case "from":
                flags |= party(value.string)
                if flags & 3 == 3 { rest.append((name, value)) }
            case "to":
                let code = party(value.string)
                flags |= code << 2
                if code == 3 { rest.append((name, value)) }
            case "time":
                guard let text = value.string, let moment = Timestamp(text),
                    moment.description == text, let seconds = UInt32(exactly: moment.seconds)
                else {
                    rest.append((name, value))
                    continue
                }
                time = seconds.bigEndianBytes
                flags |= hasTime
            case "suite":
                if let place = suites.firstIndex(where: { value == .string($0) }) {
                    suite = UInt8(place + 1)
                } else {
                    rest.append((name, value))
                }
            case "authenticated":
                guard let value = value.bool else { return nil }
                hasProof = true
                if value { flags |= 0x10 }
            case "trust":
                guard let place = trusts.firstIndex(where: { value == .string($0) }) else {
                    return nil
                }
                hasTrust = true
                flags |= UInt8(place) << 5
            default: rest.append((name, value))
            }
        }
        guard hasVersion, hasType, hasProof, hasTrust, !id.isEmpty else { return nil }
        return [1, flags, suite] + id + time + JSONObject(rest).serialized()
    }

    /// Returns the record of ``pack(_:_:owner:)``, or `nil` if the bytes are not its result.
    static func unpack(
        _ bytes: ArraySlice<UInt8>, _ conversation: Conversation, owner: KeyID
    ) -> JSONObject? {
        guard let form = bytes.first else { return nil }
        let start = bytes.startIndex
        guard form == 1 else {
            return form == 0 ? try? JSON.object(parsing: Array(bytes[(start + 1)...])) : nil
        }
        guard let json = json(in: bytes), let rest = try? JSON.object(parsing: Array(json)) else {
            return nil
        }
        let (flags, suite) = (bytes[start + 1], Int(bytes[start + 2]))
        guard suite <= suites.count, flags >> 5 & 3 < 3 else { return nil }
        func party(_ code: UInt8, _ name: String) -> JSON? {
            switch code & 3 {
            case 0: nil
            case 1: .string(owner.description)
            case 2: conversation.peer.map { .string($0.description) }
            default: rest[name]
            }
        }
        let time = UInt32(bigEndianBytes: bytes[(start + 19)..<(start + 23)]).map(Int64.init)
        var members: [(String, JSON?)] = [
            ("v", .integer(1)), ("type", .string("message")),
            ("id", .string(UUIDText.text(bytes[(start + 3)..<(start + 19)]))),
            ("from", party(flags, "from")), ("name", rest["name"]),
            ("to", party(flags >> 2, "to")),
            (
                "time",
                flags & hasTime == 0
                    ? rest["time"]
                    : time.map { .string(Timestamp(seconds: $0).description) }
            ),
            ("suite", suite == 0 ? rest["suite"] : .string(suites[suite - 1])),
            ("authenticated", .bool(flags & 0x10 != 0)), ("legacy", rest["legacy"]),
            ("trust", .string(trusts[Int(flags >> 5 & 3)])), ("details", rest["details"]),
            ("body", rest["body"]),
        ]
        members += rest.members.filter { member in
            !order.contains { $0.isSameBytes(as: member.name) }
        }.map { ($0.name, $0.value) }
        return JSONObject(members)
    }

    /// Returns the part of a packed record that is JSON, or `nil` if the bytes are too short.
    private static func json(in bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard bytes.count >= 25 else { return nil }
        let start = bytes.startIndex
        return bytes[(start + (bytes[start + 1] & hasTime == 0 ? 19 : 23))...]
    }
}
