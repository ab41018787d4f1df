import Sotto

/// The events by which people hear of changes of a group: objects with the member `event`. decrypt(1) lists them.
enum GroupEvent {
    /// A person is a member.
    static func joined(_ who: KeyID, _ rank: GroupRank, nickname: String?) -> JSONObject {
        event(
            "joined",
            [
                ("who", id(who)), ("role", .string(rank.name)),
                ("nickname", nickname.map { .string($0) }),
            ])
    }

    /// A person is no member any more. `by` is the member by whom, which is the person who left.
    static func left(_ who: KeyID, by: KeyID?) -> JSONObject {
        event("left", [("who", id(who)), ("by", id(by))])
    }

    /// The owner `who` deleted the group for all.
    static func deleted(by who: KeyID) -> JSONObject {
        event("conversation_deleted", [("who", id(who))])
    }

    /// A person has another rank.
    static func role(_ who: KeyID, _ rank: GroupRank, by: KeyID?) -> JSONObject {
        event("role", [("who", id(who)), ("role", .string(rank.name)), ("by", id(by))])
    }

    /// The group has another name.
    static func renamed(_ name: String, by: KeyID?) -> JSONObject {
        event("renamed", [("name", .string(name)), ("by", id(by))])
    }

    /// The policy is another one.
    static func changed(
        _ policy: GroupPolicy, from former: GroupPolicy?, by: KeyID?
    ) -> JSONObject {
        event(
            "changed",
            [
                ("what", .string("policy")), ("by", id(by)),
                ("policy", .object(policy.changes(from: former))),
            ])
    }

    /// The value `what` is another one: `about`, `avatar`, `timer` or `nickname`. `timer` is its seconds.
    static func changed(_ what: String, timer: Int64? = nil, by: KeyID?) -> JSONObject {
        event(
            "changed",
            [
                ("what", .string(what)), ("by", id(by)), ("timer", timer.map { .integer($0) }),
            ])
    }

    static func event(_ name: String, _ members: [(String, JSON?)] = []) -> JSONObject {
        JSONObject([("event", .string(name))] + members)
    }

    private static func id(_ person: KeyID?) -> JSON? { person.map { .string($0.description) } }
}

extension GroupChange {
    /// The events of a change that has its effect. `former` is the policy before it.
    func events(after former: GroupPolicy?) -> [JSONObject] {
        switch act {
        case .join(let entry), .doorJoin(let entry, _, _):
            [GroupEvent.joined(by, .member, nickname: entry.nickname)]
        case .leave: [GroupEvent.left(by, by: by)]
        case .remove(let people, _), .ban(let people, _):
            people.map { GroupEvent.left($0, by: by) }
        case .role(let person, let rank): [GroupEvent.role(person, rank, by: by)]
        case .policy(let policy): [GroupEvent.changed(policy, from: former, by: by)]
        case .set(.name(let name)): [GroupEvent.renamed(name, by: by)]
        case .set(let value): [GroupEvent.changed(value.key, timer: value.timer, by: by)]
        case .create, .invite, .devices, .merge: []
        }
    }

    /// The policy that the change sets, or `nil`.
    var newPolicy: GroupPolicy? {
        switch act {
        case .create(_, let policy, _), .policy(let policy): policy
        case .invite, .join, .doorJoin, .leave, .remove, .ban, .role, .set, .devices, .merge: nil
        }
    }
}

extension GroupChange.Value {
    /// The seconds of a timer.
    var timer: Int64? {
        if case .timer(let seconds) = self { seconds } else { nil }
    }
}

extension GroupPolicy {
    /// Returns the members that differ from those of another policy; one that is gone is `null`.
    fileprivate func changes(from former: GroupPolicy?) -> JSONObject {
        let (present, before) = (object, former?.object ?? [:])
        var changes: JSONObject = [:]
        for member in present.members where before[member.name] != member.value {
            changes[member.name] = member.value
        }
        for member in before.members where present[member.name] == nil {
            changes[member.name] = .null
        }
        return changes
    }
}
