extension Field where Failure == GroupChangeError {
    /// Returns an array of distinct values, at most `most`.
    func list<T: Hashable>(
        most: Int, _ read: (JSON) -> T?
    ) throws(GroupChangeError) -> [T] {
        let values = try array()
        guard values.count <= most else { throw failure }
        var list: [T] = []
        var seen: Set<T> = []
        for value in values {
            guard let item = read(value), seen.insert(item).inserted else { throw failure }
            list.append(item)
        }
        return list
    }

    /// Returns a text of 1 to `most` bytes without control characters.
    func line(most: Int) throws(GroupChangeError) -> String {
        try text { text in
            let isClean = text.unicodeScalars.allSatisfy {
                $0.properties.generalCategory != .control
            }
            return isClean && (1...most).contains(text.utf8.count) ? text : nil
        }
    }
}

extension GroupChange.Act {
    /// The value of the member `act`.
    package var name: String {
        switch self {
        case .create: "create"
        case .invite: "invite"
        case .join: "join"
        case .doorJoin: "door-join"
        case .leave: "leave"
        case .remove: "remove"
        case .ban: "ban"
        case .role: "role"
        case .policy: "policy"
        case .set: "set"
        case .devices: DeviceList.type
        case .merge: "merge"
        }
    }

    /// The members of the act.
    var members: JSONObject {
        func who(_ ids: [KeyID]) -> JSON { .array(ids.map { .string($0.description) }) }
        switch self {
        case .create(let nonce, let policy, let continued):
            return JSONObject([
                ("nonce", .base64(nonce)), ("policy", .object(policy.object)),
                ("continues", continued?.json),
            ])
        case .invite(let ids, let rank): return ["who": who(ids), "rank": .string(rank.name)]
        case .join(let entry): return entry.members
        case .doorJoin(let entry, let door, let proof):
            var members = entry.members
            members["door"] = .string(hex(door))
            members["proof"] = .base64(proof)
            return members
        case .leave(let limits): return ["upto": .array(limits.map(\.json))]
        case .remove(let ids, let limits), .ban(let ids, let limits):
            return ["who": who(ids), "upto": .array(limits.map(\.json))]
        case .role(let id, let rank):
            return ["who": .string(id.description), "rank": .string(rank.name)]
        case .policy(let policy): return ["policy": .object(policy.object)]
        case .set(let value): return [value.key: value.json]
        case .devices(let list): return ["list": .object(list.record)]
        case .merge: return [:]
        }
    }

    init(_ fields: Fields<GroupChangeError>, isVerified: Bool) throws(GroupChangeError) {
        func who() throws(GroupChangeError) -> [KeyID] {
            let ids = try fields["who"].list(most: GroupChange.mostMembers) {
                $0.string.flatMap { KeyID($0) }
            }
            guard !ids.isEmpty else { throw .member("who") }
            return ids
        }
        func limits() throws(GroupChangeError) -> [GroupChange.Limit] {
            try fields["upto"].list(most: GroupChange.mostMembers) { GroupChange.Limit($0) }
        }
        let name = try fields["act"].text()
        switch name {
        case "create":
            self = .create(
                nonce: try fields["nonce"].bytes(count: 32),
                try GroupPolicy(try fields["policy"].object()),
                continues: try fields["continues"].optional.map {
                    field throws(GroupChangeError) in
                    try GroupChange.Continuation(try field.members())
                })
        case "invite":
            let rank = try fields["rank"].text { GroupRank(name: $0) }
            guard rank == .reader || rank == .member else { throw .member("rank") }
            self = .invite(try who(), rank)
        case "join": self = .join(try GroupChange.Entry(fields))
        case "door-join":
            self = .doorJoin(
                try GroupChange.Entry(fields), door: try fields["door"].hexBytes(count: 32),
                proof: try fields["proof"].bytes(count: 64))
        case "leave": self = .leave(try limits())
        case "remove": self = .remove(try who(), try limits())
        case "ban": self = .ban(try who(), try limits())
        case "role":
            self = .role(
                try fields["who"].keyID(), try fields["rank"].text { GroupRank(name: $0) })
        case "policy": self = .policy(try GroupPolicy(try fields["policy"].object()))
        case "set": self = .set(try GroupChange.Value(fields))
        case DeviceList.type:
            self = .devices(
                try fields["list"].value {
                    $0.object.flatMap {
                        try? isVerified ? DeviceList(stored: $0) : DeviceList(record: $0)
                    }
                })
        case "merge": self = .merge
        default: throw .member("act")
        }
    }
}

extension GroupChange.Entry {
    fileprivate init(_ fields: Fields<GroupChangeError>) throws(GroupChangeError) {
        card = try fields["card"].hexBytes(count: 32)
        nickname = try fields["nickname"].optional?.line(most: GroupChange.nameBytes)
    }

    fileprivate var members: JSONObject {
        JSONObject([("card", .string(hex(card))), ("nickname", nickname.map { .string($0) })])
    }
}

extension GroupChange.Continuation {
    fileprivate init(_ fields: Fields<GroupChangeError>) throws(GroupChangeError) {
        group = try fields["group"].text { GroupID($0) }
        heads = try fields["heads"].list(most: Self.mostHeads) {
            $0.string.flatMap { GroupID($0) }
        }
        guard !heads.isEmpty else { throw .member("heads") }
    }

    fileprivate var json: JSON {
        .object([
            "group": .string(group.description),
            "heads": .array(heads.map { .string($0.description) }),
        ])
    }
}

extension GroupChange.Limit {
    fileprivate init?(_ json: JSON) {
        guard let object = json.object else { return nil }
        let fields = Fields<FieldError>(object)
        guard let device = try? fields["device"].keyID(),
            let chain = try? fields["chain"].hexBytes(count: 32),
            let iteration = try? fields["iteration"].integer(in: 0...Session.maximumCounter)
        else { return nil }
        self.init(device: device, chain: chain, iteration: iteration)
    }

    fileprivate var json: JSON {
        .object([
            "device": .string(device.description), "chain": .string(hex(chain)),
            "iteration": .integer(Int64(iteration)),
        ])
    }
}

extension GroupChange.Value {
    /// Reads the only value of a `set`.
    fileprivate init(_ fields: Fields<GroupChangeError>) throws(GroupChangeError) {
        let names = ["name", "about", "avatar", "timer", "nickname"].filter {
            fields.record[$0] != nil
        }
        guard names.count == 1, let name = names.first else { throw .member("act") }
        switch name {
        case "name": self = .name(try fields[name].line(most: GroupChange.nameBytes))
        case "nickname": self = .nickname(try fields[name].line(most: GroupChange.nameBytes))
        case "about":
            self = .about(
                try fields[name].text { $0.utf8.count <= GroupChange.aboutBytes ? $0 : nil })
        case "timer":
            self = .timer(try fields[name].integer(in: 0...BodyLimits.timer))
        default:
            let avatar = try fields[name].members()
            let picture = try avatar["picture"].optional?.bytes() ?? []
            // The start-of-image marker and the first byte of the next one (ITU-T T.81 §B.1.1.3).
            guard picture.count <= GroupChange.avatarBytes,
                picture.isEmpty || picture.starts(with: [0xFF, 0xD8, 0xFF])
            else { throw .member("avatar") }
            self = .avatar(picture)
        }
    }
}
