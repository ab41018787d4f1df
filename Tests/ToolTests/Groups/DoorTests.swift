import Sotto
import TestSupport
import Testing

@testable import SottoState

/// The door of a room, in the state of a member.
struct DoorTests {
    /// C15: nobody is let in if the log has no space for the entry and for the change that names it.
    @Test func c15AnAlmostFullLogAdmitsNobody() throws {
        let circle = try Circle("alice")
        let door = try RoomDoor(phrase: SecretBytes(copying: "a long phrase".utf8), host: "a")
        let stranger = Sample.identity()
        let card = try #require(stranger.card().record)
        try circle["alice"].store().transaction { transaction in
            var policy = GroupPolicy()
            policy.door = door.id.publicKey
            let group = try transaction.createGroup(policy, [.name("climbing")])
            let entry = GroupChange.Entry(card: sha256(JSON.object(card).canonical()))
            let join = try GroupChange(
                door.join(group.id, by: stranger.id, entry), in: group.id,
                by: stranger.signingKey, seq: 1, parents: group.log.heads)
            func admitted(space: Int) throws -> Int {
                var limits = GroupLog.Limits()
                limits.changes = group.log.changes.count + space
                var full = group
                full.log = try #require(GroupLog(group.log.changes[0], limits: limits))
                for change in group.log.changes.dropFirst() {
                    #expect(full.log.add(change) == .stored)
                }
                return try transaction.admit([join], to: full, at: .now()).members.count
            }
            #expect(try admitted(space: 1) == 1)
            #expect(try admitted(space: 2) == 2)
        }
    }

    /// C19: a moderator gets the keys of a room only for a relay that the rules list.
    @Test func c19TheRelayOfARoomMustBeListed() throws {
        let circle = try Circle("alice", "bob")
        try circle.team("alice", "bob")
        let door = try RoomDoor(phrase: SecretBytes(copying: "a long phrase".utf8), host: "a")
        let id = try circle["alice"].store().transaction { transaction in
            var group = try #require(
                try transaction.groupHeaders().first.flatMap { try transaction.group($0.id) })
            var policy = group.state.policy
            (policy.door, policy.relays) = (door.id.publicKey, ["tcp://a:1"])
            group = try transaction.write(.policy(policy), in: group)
            return group.id
        }
        try circle.group("alice", "role", "team", "bob", "moderator")
        try circle.settle()
        func offer(_ relay: String) throws {
            var body = GroupBody(id)
            body.room = RoomKeys(door, relay: relay).object
            let line: JSONObject = [
                "v": .integer(1), "type": .string("message"),
                "to": .string(circle["bob"].identity.id.description),
                "body": .object(body.record),
            ]
            try circle.post("alice", line.serialized() + [10])
            try circle.settle()
        }
        func known() throws -> String? {
            try circle["bob"].store().preview { transaction in
                try transaction.group(id).flatMap { try transaction.room(of: $0)?.keys.relay }
            }
        }
        try offer("tcp://elsewhere:1")
        #expect(try known() == nil)
        try offer("tcp://a:1")
        #expect(try known() == "tcp://a:1")
    }
}
