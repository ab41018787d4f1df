import Sotto
import SottoState
import TestSupport
import Testing

/// A log of changes that identities sign in this process.
struct SignedLog {
    private(set) var log: GroupLog

    /// Begins a group.
    init(by creator: Identity, _ policy: GroupPolicy = GroupPolicy(add: .member)) throws {
        let create = try GroupChange(
            .create(nonce: randomBytes(32), policy), in: nil, by: creator.signingKey, seq: 1,
            parents: [])
        log = try #require(GroupLog(create))
    }

    var group: GroupID { log.group }

    /// Adds a change after all heads.
    mutating func sign(_ act: GroupChange.Act, by identity: Identity) throws {
        let change = try GroupChange(
            act, in: group, by: identity.signingKey, seq: log.nextSeq(of: identity.id),
            parents: log.heads)
        #expect(log.add(change) == .stored)
    }

    /// Invites people, who join.
    mutating func add(_ people: Identity..., by inviter: Identity) throws {
        try add(people, by: inviter)
    }

    /// Invites people, who join.
    mutating func add(_ people: [Identity], by inviter: Identity) throws {
        try sign(.invite(people.map(\.id), .member), by: inviter)
        for person in people { try sign(.join(Self.entry(of: person)), by: person) }
    }

    /// A person enters by a door.
    mutating func enter(_ person: Identity, by door: RoomDoor) throws {
        try sign(door.join(group, by: person.id, Self.entry(of: person)), by: person)
    }

    static func entry(of person: Identity) throws -> GroupChange.Entry {
        let card = try #require(person.card().record)
        return GroupChange.Entry(card: sha256(JSON.object(card).canonical()))
    }

    /// The records of the changes.
    var records: [JSONObject] {
        get throws { try log.changes.map { try JSON.object(parsing: $0.bytes) } }
    }
}
